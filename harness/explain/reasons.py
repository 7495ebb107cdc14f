"""Why a pod was decided about as it was, in sentences that name amounts."""

from collections.abc import Iterator, Mapping

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.explain import blame as causes
from numaproof.harness.explain import pinning
from numaproof.harness.explain.amounts import amount_text, is_memory, short_amount
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.places import ResourceHints, mask_text, nodes_text, places, said_in, some_hints
from numaproof.harness.explain.replica import Resident
from numaproof.harness.explain.stock import CPU, Stock
from numaproof.harness.pods.quantity import bytes_text
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.placement import Step
from numaproof.harness.vocabulary import SELECTING_POLICY

_SHOWN_HINTS = 4
_SHOWN_NODES = 8
_SHOWN_HOLDERS = 6

_MANAGERS = {"cpu": "CPU manager", "memory": "memory manager", "devices": "device manager"}
_RULES = {
    "any": "admits in any case",
    "preferred": "admits only what every resource prefers, all on the same NUMA nodes",
    "single": "admits only what every resource can have on one and the same NUMA node",
    "unanimous": "admits only what every resource prefers, on the same NUMA nodes",
    "binding": "keeps the pod where it is bound",
    "cost": "selects by cost",
}


def why(explanation: Explanation) -> tuple[str, ...]:
    """What decided, then how: what every resource wanted, what came of it; who else holds what, and if they did not."""
    lines = list(_blame_lines(explanation))
    trace = explanation.trace
    step = trace.steps[-1] if trace.steps and not trace.verdict.admitted else None
    for one in [step] if step else trace.steps:
        lines += _step_lines(explanation, one)
    if trace.policy == "none" and not trace.failure and trace.shortage is None:
        lines.append("topologyManagerPolicy none: nobody is asked where resources are; each is taken where it is found")
    lines += _holder_lines(explanation)
    lines += _outlook(explanation)
    return tuple(lines)


def stock_text(stock: Stock) -> str:
    """What each NUMA node has of a resource: "NUMA node 1 has 6 free of 8"."""
    if not stock.total:
        where = f"{stock.nowhere} free, of no NUMA node" if stock.nowhere else "no NUMA node has any"
        return f"there is no topology: {where}"
    alike: dict[tuple[int, int, int], list[int]] = {}
    for node in sorted(stock.total):
        amounts = stock.free.get(node, 0), stock.most.get(node, 0), stock.total[node]
        alike.setdefault(amounts, []).append(node)
    shown = sorted(alike.items(), key=lambda item: -item[0][0])[:_SHOWN_NODES]
    parts = []
    for (free, most, total), nodes in sorted(shown, key=lambda item: item[1]):
        kept = (
            f" ({short_amount(stock.resource, total)} in all)"
            if most != total and not is_memory(stock.resource)
            else ""
        )
        have, each = ("has", "") if len(nodes) == 1 else ("have", " each")
        amounts_text = f"{short_amount(stock.resource, free)} free of {short_amount(stock.resource, most)}{kept}{each}"
        parts.append(
            f"{'NUMA node' if len(nodes) == 1 else 'NUMA nodes'} {format_cpulist(nodes)} {have} {amounts_text}"
        )
    rest = sum(map(len, alike.values())) - sum(len(nodes) for _, nodes in shown)
    parts += [f"{rest} more NUMA nodes have no more than these"] if rest else []
    parts += [f"{stock.nowhere} free belong to no NUMA node"] if stock.nowhere else []
    return ", ".join(parts)


# What decided


def _blame_lines(explanation: Explanation) -> Iterator[str]:
    blame = explanation.blame
    if blame is None:
        whose = "the pod" if explanation.trace.scope == "pod" or len(explanation.trace.given) == 1 else "each container"
        yield f"everything that {whose} asks for comes from one NUMA node"
    elif blame.what == causes.QOS:
        yield _qos_line(explanation, blame)
    elif blame.what == causes.FIT:
        short = explanation.trace.shortage
        assert short is not None
        amounts = [_fit_amount(short.resource, one) for one in (short.requested, short.used, short.capacity)]
        yield (
            f"the node as a whole has too little {short.resource}: the pod asks for {amounts[0]}, other pods have "
            f"{amounts[1]} of {amounts[2]}; NUMA nodes have no part in this"
        )
    elif blame.what == causes.POLICY:
        yield _policy_line(explanation, blame)
    else:
        yield from _resource_lines(explanation, blame)


def _fit_amount(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{amount / 1000:g} CPUs"
    return bytes_text(amount) if is_memory(resource) or resource == "ephemeral-storage" else str(amount)


def _qos_line(explanation: Explanation, blame: Blame) -> str:
    end = "it runs on shared CPUs of any NUMA node, and its memory comes from anywhere: nothing is wrong"
    who = f"container {blame.container}"
    if blame.cause == pinning.POD_LEVEL:
        return f"the pod has resources as a whole (spec.resources), which the managers do not pin: {end}"
    if blame.cause == pinning.PART_OF_A_CPU:
        return f"{who} does not ask for a whole number of CPUs, so that it gets none of its own: {end}"
    if blame.cause == pinning.BEST_EFFORT:
        return f"the pod is BestEffort: it asks for no CPU and no memory, and gets none of its own: {end}"
    lack = f"{blame.resource} of {who} has no limit, or another limit than request"
    return f"the pod is Burstable, not Guaranteed ({lack}): {end}"


def _policy_line(explanation: Explanation, blame: Blame) -> str:
    trace = explanation.trace
    if blame.cause == "cpuManagerPolicy none":
        return "cpuManagerPolicy is none: no container gets CPUs of its own, so that nothing can be near them"
    if not trace.verdict.admitted:
        return f"a rule of the node refuses the pod: {trace.verdict.message or trace.verdict.reason}"
    if trace.policy == "none":
        return "topologyManagerPolicy is none: it does not bring resources together"
    if trace.policy == SELECTING_POLICY:
        return "the policy cost chose what is cheapest together, which is not on one NUMA node"
    return f"the policy {trace.policy} admits what is not aligned"


def _resource_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    who = f"container {blame.container}" if blame.container else "the pod as a whole"
    name = "CPUs" if blame.resource == CPU else blame.resource
    others = " and ".join("CPUs" if one == CPU else one for one in blame.others)
    stock = blame.stock
    wants = f"{who} wants {amount_text(blame.resource, stock.wanted)}" if stock else who
    have = f"{stock_text(stock)}" if stock else ""
    if blame.cause == causes.NOT_GIVEN:
        message = explanation.trace.verdict.message
        yield f"{name} could not be given: {wants}" + (f"; {have}" if have else "")
        yield f"the kubelet's words: {message}"
        yield from _group_lines(explanation, blame)
        return
    sentence = {
        causes.IN_USE: f"{name}: {wants}; {have}; other pods hold the rest",
        causes.TOO_MUCH: f"{name}: {wants}; {have}; that is too little even without any other pod",
        causes.APART: f"{name} and {others} are not to be had on the same NUMA nodes: {wants}; {have}",
        causes.WIDER: f"{name} needs more NUMA nodes than {others}, and all have to be on the same: {wants}; {have}",
        causes.LEFT_BY_INIT: f"{name}: what init containers leave has to be covered, and is elsewhere than {others}: "
        f"{wants}; {have}",
    }[blame.cause]
    yield sentence
    if blame.cause in (causes.IN_USE, causes.TOO_MUCH) and others:
        yield f"{others}: would not do by itself, either"


def _group_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    """Which NUMA nodes the memory manager cannot group, because pods use them already."""
    state = explanation.replica.managers.memory.state
    if blame.what != MEMORY:
        return
    for node, one in state.items():
        if one.assignments:
            group = (
                "alone" if len(one.cells) == 1 else f"together with {', '.join(str(n) for n in one.cells if n != node)}"
            )
            yield f"NUMA node {node} serves {one.assignments} blocks of memory {group}, and cannot serve another group"


# How


def _step_lines(explanation: Explanation, step: Step) -> Iterator[str]:
    who = f"container {step.container}" if step.container else "the pod"
    trace = explanation.trace
    if step.selection is not None:
        chosen = mask_text(step.decision.hint.affinity)
        yield f"{who}: the policy cost {'chose' if step.decision.admit else 'refused'} {chosen}"
        return
    said = said_in(step)
    stocks = explanation.attempt.stocks if not trace.verdict.admitted else {}
    for resource, hints in said.items():
        stock = stocks.get(resource)
        told = explanation.blame is not None and explanation.blame.resource == resource
        amounts = f" ({stock_text(stock)})" if stock and not told else ""
        yield f"{who}: {resource} {_hint_text(hints)}{amounts}"
    for provider, opinions in step.hints.items():
        if not opinions:
            yield f"{who}: the {_MANAGERS.get(provider, provider)} has no opinion"
    decision = step.decision
    liked = "preferred" if decision.hint.preferred else "not preferred"
    answer = "admitted" if decision.admit else "refused"
    rule = _RULES.get(decision.rule, "decides")
    yield f"{who}: together {mask_text(decision.hint.affinity)}, {liked}; {trace.policy} {rule}: {answer}"
    if not decision.admit:
        for place in places(step):
            if place.nodes and place.refused_by:
                verb = "does" if place.nodes.bit_count() == 1 else "do"
                yield f"{who}: {mask_text(place.nodes)} {verb} not suit {', '.join(place.refused_by)}"


def _hint_text(hints: ResourceHints) -> str:
    if hints is None:
        return "has no topology and goes with any NUMA node"
    listed = some_hints(hints)
    if not listed:
        return "fits nowhere"
    preferred = [hint for hint in listed if hint.preferred]
    masks = preferred or listed
    shown = " or ".join(mask_text(hint.affinity) for hint in masks[:_SHOWN_HINTS])
    more = f" or {len(masks) - _SHOWN_HINTS} more" if len(masks) > _SHOWN_HINTS else ""
    return f"prefers {shown}{more}" if preferred else f"accepts {shown}{more}, and prefers none of it"


# Who else


def _holder_lines(explanation: Explanation) -> Iterator[str]:
    blame = explanation.blame
    if blame is None or blame.stock is None or blame.cause == causes.TOO_MUCH:
        return
    node_of = explanation.replica.managers.cpu.topology.node_of
    holders = [
        (resident.name, held)
        for resident in explanation.replica.residents
        if (held := _held(resident, blame.resource, node_of))
    ]
    for name, held in holders[:_SHOWN_HOLDERS]:
        parts = [f"{short_amount(blame.resource, amount)} of {where}" for where, amount in sorted(held.items())]
        yield f"pod {name} holds {blame.resource}: {', '.join(parts)}"
    if len(holders) > _SHOWN_HOLDERS:
        yield f"{len(holders) - _SHOWN_HOLDERS} more pods hold {blame.resource}"


def _held(resident: Resident, resource: str, node_of: Mapping[int, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for given in resident.given.values():
        if resource == CPU:
            for cpu in given.cpus:
                key = f"NUMA node {node_of[cpu]}"
                found[key] = found.get(key, 0) + 1
        for block in given.memory:
            if block.resource == resource:
                key = nodes_text(block.nodes)
                found[key] = found.get(key, 0) + block.size
        for device in given.devices.get(resource, ()):
            key = nodes_text(device.numa) if device.numa else "no NUMA node"
            found[key] = found.get(key, 0) + 1
    return found


def _outlook(explanation: Explanation) -> Iterator[str]:
    if explanation.trace.verdict.admitted or not explanation.replica.residents:
        return
    if explanation.empty.verdict.admitted:
        yield "without the other pods this node would admit it: it can wait until some of them go"
    else:
        yield "even without any other pod this node would refuse it: waiting does not help"
