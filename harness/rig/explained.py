"""Why a node decided as it did, in lines for people: its hints and what came of them, or what a pod was given."""

from collections.abc import Iterable, Iterator

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.cost.names import format_ids

_SHOWN = 4  # hints of a resource, and pairs of a selection; there can be more than anybody reads
_UNLISTED = {"nothing": "nothing", "farthest": "as much as the farthest"}


def explanation_lines(answer: api.ExplainResponse) -> Iterator[str]:
    """Why a pod would be decided about so, and what would help."""
    # What a policy that selects chose says more than its reasons do.
    selects = any(decision.rule == "cost" for decision in answer.decisions)
    yield from decision_lines(answer) if selects or not answer.why else answer.why
    for remedy in answer.remedies[:_SHOWN]:
        yield f"would help: {remedy.change}"


def decision_lines(answer: api.ExplainResponse) -> Iterator[str]:
    """What every resource wanted, and what the policy made of it; a line for each container, or one for the pod.

    Then whose allocation failed, or what the node had too little of.
    """
    for decision in answer.decisions:
        if decision.rule == "cost":
            yield from selection_lines(decision)
            continue
        wishes = [f"{one.resource} {_wish(one)}" for provider in decision.providers for one in provider.resources]
        merged = f"together {_hint(decision.merged)}{'' if decision.merged.preferred else ', not preferred'}"
        verdict = f"{answer.policy} {'accepts' if decision.admitted else 'refuses'} it"
        yield f"{decision.container or 'the pod'}: {'; '.join([*wishes, merged])}: {verdict}"
    if answer.HasField("failure"):
        failed = answer.failure
        yield f"{failed.container}: the hint provider {failed.provider} could not allocate ({failed.reason})"
    if answer.HasField("shortage"):
        short = answer.shortage
        figures = f"asked for {short.requested}, others have {short.used} of {short.capacity}"
        yield f"the pod: the node has too little {short.resource}: {figures}"


def given_lines(pod: api.Pod) -> Iterator[str]:
    """What each container was given, and on which NUMA nodes it was to be."""
    for container in pod.containers:
        parts = [f"placed on {_hint(container.affinity)}"]
        parts += [f"CPUs {format_cpulist(sorted(container.cpus))}"] if container.cpus else []
        parts += [f"{block.resource} on {_nodes(block.nodes)}" for block in container.memory]
        for held in container.devices:
            devices = [
                f"{one.id} on {_nodes(one.topology.nodes) if one.HasField('topology') else 'any NUMA node'}"
                for one in sorted(held.devices, key=lambda one: one.id)
            ]
            parts.append(f"{held.resource} {', '.join(devices)}")
        yield f"{container.name}: {'; '.join(parts)}"


def selection_lines(decision: api.Decision) -> Iterator[str]:
    """What was chosen, from how many, what it costs, and what is proven about that."""
    who = decision.container or "the pod"
    if not decision.HasField("selection"):
        yield f"{who}: there is nothing to choose: cost accepts it"
        return
    selection = decision.selection
    layers = [
        f"{layer.resource} {format_ids(layer.chosen)} ({layer.wanted} of {layer.offered})" for layer in selection.layers
    ]
    proven = "the least there is" if selection.optimal else f"at least {selection.bound:g} is needed"
    figures = f"cost {selection.cost:g}, {proven}, greedy {selection.greedy:g}"
    limit = f" (at most {selection.maximum:g} is allowed)" if selection.HasField("maximum") else ""
    verdict = f"cost {'accepts' if decision.admitted else 'refuses'} it{limit}"
    yield f"{who}: {'; '.join([*layers, figures])}: {verdict}"
    dearest = [f"{pair.one} - {pair.other} {pair.cost:g}" for pair in selection.pairs[:_SHOWN]]
    if dearest:
        yield f"{who}: the dearest pairs: {', '.join(dearest)}"
    if selection.unlisted_decided:
        yield f"{who}: pairs that nobody lists cost {_UNLISTED[selection.unlisted]}, and that decided"


def _wish(one: api.ResourceHints) -> str:
    if one.no_preference:
        return "takes any NUMA node"
    if not one.hints:
        return "fits nowhere"
    preferred = [_hint(hint) for hint in one.hints if hint.preferred]
    others = [_hint(hint) for hint in one.hints if not hint.preferred]
    return f"prefers {_some(preferred)}" if preferred else f"fits {_some(others)}, none of it preferred"


def _some(hints: list[str]) -> str:
    more = f" or {len(hints) - _SHOWN} more" if len(hints) > _SHOWN else ""
    return " or ".join(hints[:_SHOWN]) + more


def _hint(hint: api.Hint) -> str:
    return _nodes(hint.affinity.nodes) if hint.HasField("affinity") else "any NUMA node"


def _nodes(nodes: Iterable[int]) -> str:
    return f"NUMA {format_cpulist(sorted(nodes)) or 'none'}"
