"""Where a request for memory fits: the rule, and the best of the places that it allows."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import combinations, islice

from numaproof.harness.providers.memory.state import WORD, MachineState, NodeState, is_overdrawn
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, count, ids_of, is_subset, mask_of, masks_over
from numaproof.harness.topology.hints import Demand, HintFamily, TopologyHint
from numaproof.harness.topology.mask_search import lowest_mask, smallest_size

Reusable = Mapping[tuple[NodeMask, str], int]  # bytes by exact mask and resource
Amount = Callable[[NodeState, str], int]

_MOST_MASKS = 4096  # all of one or two nodes on any machine, and all of any size on 14 nodes


def memory_family(state: MachineState, request: Mapping[str, int], reusable: Reusable) -> HintFamily | None:
    """Every group of nodes that can still serve the request; None if there is none.

    A node serves either blocks of its own or blocks of one group, so nodes in use cannot form new groups: those go
    into `also`, beside the masks that only fit because init containers of the pod leave memory exactly there.
    """
    if is_overdrawn(state):
        return _listed_family(state, request, reusable)
    everything = mask_of(state)
    preferred_size = smallest_size(everything, _demands(state, everything, request, NodeState.allocatable))
    if preferred_size is None or not request:
        return None
    unused = mask_of(node_id for node_id, node in state.items() if not node.assignments)
    demands = _demands(state, unused, request, NodeState.free)
    rule = HintFamily(unused, demands, preferred_size)
    also = tuple(
        TopologyHint(mask, count(mask) == preferred_size)
        for mask in sorted(_groups_in_use(state) | {mask for mask, _ in reusable}, key=_order)
        if not rule.accepts(mask) and _is_hint(state, mask, request, reusable)
    )
    if not also and not rule.accepts(unused):
        return None
    return HintFamily(unused, demands, preferred_size, also=also)


def _listed_family(state: MachineState, request: Mapping[str, int], reusable: Reusable) -> HintFamily | None:
    """The same mask by mask, for a machine on which a wider mask may hold less."""
    feasible = [mask for mask in masks_over(state) if _fits(state, mask, request, NodeState.allocatable, {})]
    preferred_size = min(map(count, feasible), default=0)
    also = tuple(
        TopologyHint(mask, count(mask) == preferred_size)
        for mask in feasible
        if _is_hint(state, mask, request, reusable)
    )
    return HintFamily(EMPTY, (), preferred_size, also=also) if also and request else None


def _is_hint(state: MachineState, mask: NodeMask, request: Mapping[str, int], reusable: Reusable) -> bool:
    return (
        _may_be_used(state, mask)
        and _fits(state, mask, request, NodeState.allocatable, {})
        and _fits(state, mask, request, NodeState.free, reusable)
    )


def listed(family: HintFamily) -> list[TopologyHint]:
    """The hints one by one, in the kubelet's order: smaller masks first, then by their lowest nodes."""
    return sorted(family.hints(), key=lambda hint: _order(hint.affinity or EMPTY))


def best_hint(family: HintFamily, within: NodeMask = EMPTY) -> TopologyHint | None:
    """The preferred, then narrowest, then lowest hint whose mask contains `within`.

    No mask is narrower than a preferred one, so the narrowest is preferred if any is.
    """
    demands = (*family.demands, *(_must_hold(node) for node in ids_of(within)))
    size = smallest_size(family.nodes, demands)
    mask = lowest_mask(family.nodes, size, demands) if size else None
    hints = [hint for hint in family.also if is_subset(within, hint.affinity or EMPTY)]
    if mask is not None:
        hints.append(TopologyHint(mask, family.prefers(mask)))
    return min(hints, key=_width, default=None)


def has_mask(family: HintFamily, mask: NodeMask) -> bool:
    """Whether there is a hint with this mask."""
    return family.accepts(mask) or any(hint.affinity == mask for hint in family.also)


def smallest_masks(family: HintFamily) -> tuple[NodeMask, ...]:
    """The masks of the fewest nodes, as far as they are among the first 4096 of their size; the best one always is."""
    best = best_hint(family)
    if best is None or best.affinity is None:
        return ()
    size = count(best.affinity)
    masks = {hint.affinity for hint in family.also if hint.affinity is not None and count(hint.affinity) == size}
    sets = combinations(ids_of(family.nodes), size)
    masks.update(mask for mask in map(mask_of, islice(sets, _MOST_MASKS)) if family.accepts(mask))
    return tuple(sorted(masks | {best.affinity}, key=_order))


def satisfies(state: MachineState, mask: NodeMask, request: Mapping[str, int]) -> bool:
    """Whether the nodes have so much free memory of every kind, reusable memory not counted."""
    return _fits(state, mask, request, NodeState.free, {})


def breaks_a_group(state: MachineState, mask: NodeMask) -> bool:
    """Whether a group of nodes would take in a node that serves other blocks; a single node never does."""
    return count(mask) > 1 and not _may_be_used(state, mask)


def _may_be_used(state: MachineState, mask: NodeMask) -> bool:
    nodes = ids_of(mask)
    if len(nodes) == 1:
        return len(state[nodes[0]].cells) == 1
    return all(not state[node].assignments or mask_of(state[node].cells) == mask for node in nodes)


def _groups_in_use(state: MachineState) -> set[NodeMask]:
    return {mask_of(node.cells) for node in state.values() if node.assignments}


def _fits(state: MachineState, mask: NodeMask, request: Mapping[str, int], amount: Amount, reusable: Reusable) -> bool:
    return all(
        (sum(amount(state[node], resource) for node in ids_of(mask)) + reusable.get((mask, resource), 0)) % WORD >= size
        for resource, size in request.items()
    )


def _demands(state: MachineState, nodes: NodeMask, request: Mapping[str, int], amount: Amount) -> tuple[Demand, ...]:
    return tuple(
        Demand(size, tuple((NodeMask(1 << node), amount(state[node], resource)) for node in ids_of(nodes)))
        for resource, size in request.items()
    )


def _must_hold(node: int) -> Demand:
    return Demand(1, ((NodeMask(1 << node), 1),))


def _width(hint: TopologyHint) -> tuple[int, int]:
    mask = hint.affinity or EMPTY
    return count(mask), mask


@lru_cache(maxsize=1 << 12)
def _order(mask: NodeMask) -> tuple[int, tuple[int, ...]]:
    return count(mask), ids_of(mask)
