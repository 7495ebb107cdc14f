"""Merging hints: the best placement that every provider accepts; if there is none, all nodes, not preferred."""

from collections.abc import Callable, Iterable, Sequence

from numaproof.harness.topology.bitmask import EMPTY, NodeMask
from numaproof.harness.topology.hints import ANY_NODE, IMPOSSIBLE, HintFamily, Hints, TopologyHint
from numaproof.harness.topology.mask_search import smallest_size
from numaproof.harness.topology.merge_families import best_preferred, best_reachable
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.reach import reachable

ResourceHints = Sequence[TopologyHint] | HintFamily
Order = Callable[[NodeMask], tuple[int, ...]]  # the mask with the least is the best


def filter_hints(providers: Iterable[Hints | None]) -> list[ResourceHints]:
    """The hints of every resource: no opinion becomes any node, an impossible request any node, not preferred."""
    resources: list[ResourceHints] = []
    for provider in providers:
        if not provider:
            resources.append((ANY_NODE,))
            continue
        for hints in provider.values():
            if hints is None:
                resources.append((ANY_NODE,))
            elif isinstance(hints, HintFamily):
                resources.append(hints)
            else:
                resources.append(hints or (IMPOSSIBLE,))
    return resources


def only_single_nodes(resources: Iterable[ResourceHints]) -> list[ResourceHints]:
    """The preferred hints of one node or of any node: all that single-numa-node looks at."""
    listed = [hints.single_nodes() if isinstance(hints, HintFamily) else hints for hints in resources]
    return [[hint for hint in hints if hint.preferred and _is_single_or_any(hint)] for hints in listed]


def merge(resources: Sequence[ResourceHints], numa: NumaInfo, *, closest: bool = False) -> TopologyHint:
    """The kubelet's answer since v1.26, without its walk through the cross product.

    A combination is preferred if all its hints are, and all their masks are equal. So the preferred results are the
    masks common to all resources; only if there is none do the other combinations matter, and then no more than their
    ANDs do.
    """
    order = narrowest(numa, closest=closest)
    preferred = _common_preferred(resources, numa, order, closest=closest)
    if preferred is not None:
        return TopologyHint(preferred, True)
    families = [hints for hints in resources if isinstance(hints, HintFamily)]
    found = reachable([_masks(hints, numa) for hints in resources if not isinstance(hints, HintFamily)], numa.all_nodes)
    sizes = sizes_by_preference(largest_of_smallest(resources), numa.all_nodes.bit_count())
    if families:
        best = best_reachable(found, families, sizes, order, closest=closest)
    else:
        rank = {size: index for index, size in enumerate(sizes)}
        best = min(
            (mask for mask in found if mask), key=lambda mask: (rank[mask.bit_count()], *order(mask)), default=None
        )
    return TopologyHint(numa.all_nodes if best is None else best, False)


def merge_as_proposed(resources: Sequence[ResourceHints], numa: NumaInfo) -> TopologyHint:
    """The proposal's answer (v1.18): a combination is preferred if all its hints are, and the narrowest wins."""
    listed = [list(hints.hints()) if isinstance(hints, HintFamily) else hints for hints in resources]
    for preferred in (True, False):
        masks = [_masks([hint for hint in hints if hint.preferred or not preferred], numa) for hints in listed]
        best = min(reachable(masks, numa.all_nodes) - {EMPTY}, key=narrowest(numa), default=None)
        if best is not None:
            return TopologyHint(best, preferred)
    return TopologyHint(numa.all_nodes, False)


def merge_strictly(resources: Sequence[ResourceHints], numa: NumaInfo) -> TopologyHint | None:
    """The narrowest mask that all resources prefer; None if they share none."""
    mask = _common_preferred(resources, numa, narrowest(numa), closest=False)
    return None if mask is None else TopologyHint(mask, True)


def narrowest(numa: NumaInfo, *, closest: bool = False) -> Order:
    """Fewest nodes first, then (with prefer-closest-numa-nodes) the least average distance, then the lowest value."""
    if closest:
        return lambda mask: (mask.bit_count(), numa.total_distance(mask), mask)
    return lambda mask: (mask.bit_count(), mask)


def sizes_by_preference(wanted: int, most: int) -> list[int]:
    """The sizes of masks that are not preferred, best first: the one wanted, the largest below, the smallest above."""
    return [*range(min(wanted, most), 0, -1), *range(wanted + 1, most + 1)]


def largest_of_smallest(resources: Iterable[ResourceHints]) -> int:
    """The size of the smallest hint of the resource for which that is largest."""
    return max(map(_smallest, resources), default=0)


def _common_preferred(
    resources: Sequence[ResourceHints], numa: NumaInfo, order: Order, *, closest: bool
) -> NodeMask | None:
    """The best mask that every resource has a preferred hint for; a preferred hint for any node goes with all."""
    bound: list[set[NodeMask]] = []  # the masks of each resource that insists on them
    families = []
    free = {numa.all_nodes}
    for hints in resources:
        if isinstance(hints, HintFamily):
            families.append(hints)
            continue
        preferred = {hint.affinity for hint in hints if hint.preferred}
        masks = {mask for mask in preferred if mask is not None}
        if None in preferred:
            free |= masks
        else:
            bound.append(masks)
    if families:
        return best_preferred(families, bound, order, closest=closest)
    common = set.intersection(*bound) if bound else free
    return min((NodeMask(mask & numa.all_nodes) for mask in common if mask & numa.all_nodes), key=order, default=None)


def _masks(hints: Iterable[TopologyHint], numa: NumaInfo) -> set[NodeMask]:
    return {numa.all_nodes if hint.affinity is None else hint.affinity for hint in hints}


def _smallest(hints: ResourceHints) -> int:
    if isinstance(hints, HintFamily):
        sizes = [hint.affinity.bit_count() for hint in hints.also if hint.affinity is not None]
        by_rule = smallest_size(hints.nodes, hints.demands)
        return min([*sizes, by_rule] if by_rule else sizes, default=0)
    return min((hint.affinity.bit_count() for hint in hints if hint.affinity is not None), default=0)


def _is_single_or_any(hint: TopologyHint) -> bool:
    return hint.affinity is None or hint.affinity.bit_count() == 1
