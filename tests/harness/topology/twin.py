"""The naive twin of the merge: walks the cross product of all hints and compares one result after another."""

from collections.abc import Sequence
from itertools import product

from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.numa import NumaInfo


def naive_merge(resources: Sequence[Sequence[TopologyHint]], numa: NumaInfo, *, closest: bool = False) -> TopologyHint:
    smallest = [[hint.affinity.bit_count() for hint in hints if hint.affinity is not None] for hints in resources]
    target = max((min(sizes, default=0) for sizes in smallest), default=0)
    best: tuple[tuple[object, ...], TopologyHint] | None = None
    for combination in product(*resources):
        masks = {hint.affinity for hint in combination if hint.affinity is not None}
        merged = numa.all_nodes
        for mask in masks:
            merged = NodeMask(merged & mask)
        if not merged:
            continue
        preferred = len(masks) <= 1 and all(hint.preferred for hint in combination)
        size = merged.bit_count()
        off_target = 0 if size == target else 100 - size if size < target else 100 + size
        near = size if preferred else off_target
        rank = (not preferred, near, numa.total_distance(merged) if closest else 0, merged)
        if best is None or rank < best[0]:
            best = (rank, TopologyHint(merged, preferred))
    return best[1] if best else TopologyHint(numa.all_nodes, False)


def naive_merge_as_proposed(resources: Sequence[Sequence[TopologyHint]], numa: NumaInfo) -> TopologyHint:
    ranks = []
    for combination in product(*resources):
        merged = numa.all_nodes
        for hint in combination:
            merged = merged if hint.affinity is None else NodeMask(merged & hint.affinity)
        if merged:
            ranks.append((not all(hint.preferred for hint in combination), merged.bit_count(), merged))
    return TopologyHint(min(ranks)[2], not min(ranks)[0]) if ranks else TopologyHint(numa.all_nodes, False)
