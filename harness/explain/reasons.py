"""Why a pod was decided about as it was, in sentences that name amounts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.explain import blame as causes
from numaproof.harness.explain import pinning
from numaproof.harness.explain.amounts import amount_text, is_memory, short_amount, short_amounts
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.leavings import Piece, left_for, pieces, unused
from numaproof.harness.explain.places import ResourceHints, mask_text, nodes_text, places, said_in, some_hints
from numaproof.harness.explain.replica import Resident
from numaproof.harness.explain.stock import CPU, Stock, fewest_with
from numaproof.harness.pods.quantity import bytes_text, value
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.placement import Step
from numaproof.harness.topology.provider import SMTAlignmentError
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
    if not stock.total and stock.ill:
        return f"none is healthy of {stock.ill}"
    if not stock.total:
        where = f"{stock.nowhere} free, of no NUMA node" if stock.nowhere else "no NUMA node has any"
        return f"there is no topology: {where}"
    alike: dict[tuple[int, int, int], list[int]] = {}
    for node in sorted(stock.total):
        amounts = stock.free.get(node, 0), stock.most.get(node, 0), stock.total[node]
        alike.setdefault(amounts, []).append(node)
    shown = sorted(alike.items(), key=lambda item: -item[0][0])[:_SHOWN_NODES]
    text_of = _texts(stock)
    parts = []
    for (free, most, total), nodes in sorted(shown, key=lambda item: item[1]):
        kept = (
            f" ({short_amount(stock.resource, total)} in all)"
            if most != total and not is_memory(stock.resource)
            else ""
        )
        have, each = ("has", "") if len(nodes) == 1 else ("have", " each")
        amounts_text = f"{text_of[free]} free of {text_of[most]}{kept}{each}"
        parts.append(
            f"{'NUMA node' if len(nodes) == 1 else 'NUMA nodes'} {format_cpulist(nodes)} {have} {amounts_text}"
        )
    rest = sum(map(len, alike.values())) - sum(len(nodes) for _, nodes in shown)
    parts += [f"{rest} more NUMA nodes have no more than these"] if rest else []
    parts += [f"{stock.nowhere} free belong to no NUMA node"] if stock.nowhere else []
    parts += [f"{stock.ill} {'is' if stock.ill == 1 else 'are'} not healthy"] if stock.ill else []
    return ", ".join(parts)


def _wanted_text(stock: Stock) -> str:
    """What is wanted, in the words of the manifest and, where that is another one, in the unit of what there is."""
    own, told = short_amount(stock.resource, stock.wanted), _texts(stock)[stock.wanted]
    return amount_text(stock.resource, stock.wanted) + ("" if own == told else f" ({told})")


def _texts(stock: Stock) -> dict[int, str]:
    """What is wanted and what NUMA nodes have of it, as they are compared: amount -> text."""
    amounts = sorted({0, stock.wanted, *stock.free.values(), *stock.most.values()})
    return dict(zip(amounts, short_amounts(stock.resource, *amounts), strict=True))


# What decided


def _blame_lines(explanation: Explanation) -> Iterator[str]:
    blame = explanation.blame
    if blame is None:
        whose = "the pod" if explanation.trace.scope == "pod" or len(explanation.trace.given) == 1 else "each container"
        missing, anywhere = _not_placed(explanation)
        rest = [f"nobody offers {one}" for one in missing]
        rest += [f"nobody knows the NUMA node of {one}" for one in anywhere]
        yield "; ".join([f"everything {'else ' if rest else ''}that {whose} asks for comes from one NUMA node", *rest])
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


def _not_placed(explanation: Explanation) -> tuple[list[str], list[str]]:
    """The devices that the pod asks for and does not get, and those that it gets and that are of no NUMA node."""
    given = [one for assignment in explanation.trace.given.values() for one in assignment.devices.items()]
    asked = {name for one in explanation.pod.all_containers() for name, amount in one.limits.items() if amount}
    missing = {name for name in asked if "/" in name} - explanation.replica.setup.devices.keys()
    return sorted(missing), sorted({name for name, devices in given if any(not one.numa for one in devices)})


def _fit_amount(resource: str, amount: int) -> str:
    if resource == CPU:
        return f"{amount / 1000:g} CPUs"
    return bytes_text(amount) if is_memory(resource) or resource == "ephemeral-storage" else str(amount)


def _qos_line(explanation: Explanation, blame: Blame) -> str:
    end = f"it runs on shared CPUs of any NUMA node, and {_memory_text(explanation)}: nothing is wrong"
    who = f"container {blame.container}"
    container = next((one for one in explanation.pod.all_containers() if one.name == blame.container), None)
    if blame.cause == pinning.POD_LEVEL:
        return f"the pod has resources as a whole (spec.resources), which the managers do not pin: {end}"
    if container is None or blame.cause == pinning.BEST_EFFORT:
        return f"the pod is BestEffort: it asks for no CPU and no memory, and gets none of its own: {end}"
    if blame.cause == pinning.PART_OF_A_CPU:
        asked = _quantity_text(CPU, container.requests.get(CPU, Fraction(0)))
        return f"{who} asks for {asked}, not for a whole number, so that it gets none of its own: {end}"
    limit, request = container.limits.get(blame.resource), container.requests.get(blame.resource)
    lack = f"{who} has no limit of {blame.resource}"
    if limit:
        asked = _quantity_text(blame.resource, request) if request else "nothing"
        lack = f"{who} asks for {asked}, and its limit is {_quantity_text(blame.resource, limit)}"
    return f"the pod is Burstable, not Guaranteed ({lack}): {end}"


def _memory_text(explanation: Explanation) -> str:
    """Where the memory of a pod comes from whose CPUs are shared: the memory manager looks at the class alone."""
    nodes = {node for given in explanation.trace.given.values() for block in given.memory for node in block.nodes}
    return f"its memory comes from {nodes_text(sorted(nodes))}" if nodes else "its memory comes from anywhere"


def _quantity_text(resource: str, amount: Fraction) -> str:
    if resource == CPU:
        return f"{float(amount):g} CPU{'' if amount == 1 else 's'}"
    return f"{bytes_text(value(amount))} of {resource}"


def _policy_line(explanation: Explanation, blame: Blame) -> str:
    trace = explanation.trace
    if blame.cause == "cpuManagerPolicy none":
        return "cpuManagerPolicy is none: no container gets CPUs of its own, all of them run on all CPUs of the machine"
    if not trace.verdict.admitted:
        return f"a rule of the node refuses the pod: {trace.verdict.message or trace.verdict.reason}"
    if trace.policy == "none":
        return "topologyManagerPolicy is none: it does not bring resources together"
    if trace.policy == SELECTING_POLICY:
        return "the policy cost chose what is cheapest together, which is not on one NUMA node"
    return f"the policy {trace.policy} admits what is not aligned"


def _resource_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    who = f"container {blame.container}" if blame.container else "the pod as a whole"
    name = _named(blame.resource)
    others = " and ".join(map(_named, blame.others))
    stock = blame.stock
    wants = f"{who} wants {_wanted_text(stock)}" if stock else who
    have = f"{stock_text(stock)}" if stock else ""
    if blame.cause == causes.NOT_GIVEN:
        message = explanation.trace.verdict.message
        yield f"{name} could not be given: {wants}" + (f"; {have}" if have else "")
        yield f"the kubelet's words: {message}"
        yield from _group_lines(explanation, blame)
        yield from _core_lines(explanation, blame)
        return
    beside = f" beside {others}" if others and not blame.alone else ""
    need = "need" if blame.resource == CPU else "needs"
    sentence = {
        causes.IN_USE: f"{name}: {wants}{beside}; {have}; other pods hold the rest",
        causes.TOO_MUCH: f"{name}: {wants}; {have}; {_too_much(explanation, blame)}",
        causes.APART: f"{name} and {others} are not to be had on the same NUMA nodes: {wants}; {have}",
        causes.WIDER: f"{name} {need} more NUMA nodes than {others}, and all have to be on the same: {wants}; {have}",
        causes.LEFT_BY_INIT: f"{name}: {wants}{beside}, {_left_by_init(explanation, blame)}; {have}",
    }[blame.cause]
    yield sentence
    if blame.cause in (causes.IN_USE, causes.TOO_MUCH):
        yield from _counted_lines(explanation, blame)
    if blame.alone and others:
        yield f"{others}: would not do by {'itself' if len(blame.others) == 1 else 'themselves'}, either"
    yield from _group_lines(explanation, blame)


def _named(resource: str) -> str:
    return "CPUs" if resource == CPU else resource


def _too_much(explanation: Explanation, blame: Blame) -> str:
    """How it is with a resource that an empty node does not have where the policy wants it."""
    stock = blame.stock
    if stock is None or sum(stock.most.values()) < stock.wanted or _is_single(explanation):
        return "that is too little even without any other pod"
    return "it does not suit the policy even without any other pod"


def _is_single(explanation: Explanation) -> bool:
    """Whether one NUMA node has to have all: the policy wants that, or it is what a pod that is admitted lacks."""
    steps = explanation.trace.steps
    return explanation.trace.verdict.admitted or (bool(steps) and steps[-1].decision.rule == "single")


def _counted_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    """What a kubelet counts as enough, where the node has enough of a resource and the policy still refuses it."""
    stock = blame.stock
    if stock is None or _is_single(explanation) or sum(stock.free.values()) < stock.wanted:
        return
    counted = stock.most if is_memory(stock.resource) else stock.total  # of memory, what is reserved does not count
    enough = fewest_with(counted, stock.wanted)
    best = sum(sorted(stock.free.values(), reverse=True)[:enough])
    if enough and best < stock.wanted:
        nodes, have = ("1 NUMA node", "has") if enough == 1 else (f"{enough} NUMA nodes", "have")
        idle = "in use or reserved" if blame.what == CPU else "in use"
        yield (
            f"{nodes} would have enough if nothing there was {idle}, so that {explanation.trace.policy} takes no more; "
            f"the richest {have} {short_amount(stock.resource, best)} free"
        )


def _left_by_init(explanation: Explanation, blame: Blame) -> str:
    """What init containers leave to the container that is refused."""
    node_of = explanation.replica.managers.cpu.topology.node_of
    left = left_for(explanation.pod, explanation.trace.given, blame.container, blame.resource, node_of)
    amounts = _by_node(left)
    if not amounts:
        return "and has to take what init containers left"
    listed = ", ".join(f"{amount} of {where}" for where, amount in sorted(amounts.items()))
    return f"and has to take what init containers left ({listed}) and the rest beside it"


def _core_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    """Why full-pcpus-only does not give CPUs."""
    failure, stock = explanation.trace.failure, blame.stock
    if failure is None or failure.reason != SMTAlignmentError.reason or stock is None:
        return
    per_core = explanation.replica.managers.cpu.topology.cpus_per_core
    rule = f"full-pcpus-only gives whole cores, of {per_core} CPUs each"
    if stock.wanted % per_core:
        yield f"{rule}: {stock.wanted} is no multiple of {per_core}"
    else:
        yield f"{rule}: a free CPU whose core is shared with somebody, or reserved in part, does not count"


def _group_lines(explanation: Explanation, blame: Blame) -> Iterator[str]:
    """Which NUMA nodes the memory manager cannot group, because pods use them already."""
    state = explanation.replica.managers.memory.state
    if blame.what != MEMORY or explanation.trace.verdict.admitted:
        return
    for node, one in state.items():
        if one.assignments and (blame.cause == causes.NOT_GIVEN or len(one.cells) > 1):
            group = (
                "alone" if len(one.cells) == 1 else f"together with {', '.join(str(n) for n in one.cells if n != node)}"
            )
            blocks = "a block" if one.assignments == 1 else f"{one.assignments} blocks"
            yield f"NUMA node {node} serves {blocks} of memory {group}, and cannot serve another group"
    for name, given in explanation.trace.given.items() if blame.cause == causes.NOT_GIVEN else ():
        for nodes in dict.fromkeys(block.nodes for block in given.memory):
            yield (
                f"container {name} of this pod has memory of {nodes_text(nodes)} by then, and another group is not "
                "possible there"
            )


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
    others = [hint for hint in listed if not hint.preferred]
    size = listed[0].affinity.bit_count() if listed[0].affinity else 0
    # Of more sets of NUMA nodes than can be listed there is one here.
    more = f" or other {size} NUMA nodes" if isinstance(hints, HintFamily) and size > 1 else ""
    if not preferred:
        return f"accepts {_masks_text(others)}{more}, and prefers none of it"
    wider = _masks_text(others) if len(others) <= _SHOWN_HINTS else f"{len(others)} other sets of them"
    return f"prefers {_masks_text(preferred)}{more}" + (f", accepts {wider}" if others else "")


def _masks_text(hints: Sequence[TopologyHint]) -> str:
    shown = " or ".join(mask_text(hint.affinity) for hint in hints[:_SHOWN_HINTS])
    return f"{shown} or {len(hints) - _SHOWN_HINTS} more" if len(hints) > _SHOWN_HINTS else shown


# Who else


def _holder_lines(explanation: Explanation) -> Iterator[str]:
    blame = explanation.blame
    if blame is None or blame.stock is None or blame.cause == causes.TOO_MUCH:
        return
    node_of = explanation.replica.managers.cpu.topology.node_of
    holders = [
        (resident, held)
        for resident in explanation.replica.residents
        if (held := _held(resident, blame.resource, node_of))
    ]
    for resident, held in holders[:_SHOWN_HOLDERS]:
        parts = [f"{short_amount(blame.resource, amount)} of {where}" for where, amount in sorted(held.items())]
        idle = unused(resident.pod, resident.given, blame.resource, node_of)
        rest = f"; {len(idle)} of that for init containers that have ended" if idle else ""
        yield f"pod {resident.name} holds {_named(blame.resource)}: {', '.join(parts)}{rest}"
    if len(holders) > _SHOWN_HOLDERS:
        yield f"{len(holders) - _SHOWN_HOLDERS} more pods hold {_named(blame.resource)}"


def _held(resident: Resident, resource: str, node_of: Mapping[int, int]) -> dict[str, int]:
    """What a pod holds, by NUMA node; what one container took over from another counts once."""
    held = frozenset[Piece]().union(*(pieces(one, resource, node_of) for one in resident.given.values()))
    found = _by_node(held)
    for given in resident.given.values():
        for block in given.memory:
            if block.resource == resource:
                key = nodes_text(block.nodes)
                found[key] = found.get(key, 0) + block.size
    return found


def _by_node(held: Iterable[Piece]) -> dict[str, int]:
    found: dict[str, int] = {}
    for _, nodes in held:
        key = nodes_text(nodes) if nodes else "no NUMA node"
        found[key] = found.get(key, 0) + 1
    return found


def _outlook(explanation: Explanation) -> Iterator[str]:
    if explanation.trace.verdict.admitted or not explanation.replica.residents:
        return
    if explanation.empty.verdict.admitted:
        yield (
            "without the other pods this node would admit it: create it again once some of them are gone (a kubelet "
            "does not try a refused pod again)"
        )
    else:
        yield "even without any other pod this node would refuse it: waiting for them does not help"
