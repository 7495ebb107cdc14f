"""Which masks come out when one mask is taken from each of several sets and all are ANDed."""

from collections.abc import Collection, Iterable
from operator import add, mul, sub

from numaproof.harness.topology.bitmask import NodeMask, ids_of

# Above so many nodes the table of all masks costs more than walking pairs of the masks that are there.
_TABLE_NODES = 12


def reachable(sets: Iterable[Collection[NodeMask]], nodes: NodeMask) -> set[NodeMask]:
    """Every AND of one mask of each set and of `nodes`; none if a set is empty.

    Folds set by set over the distinct results so far. Where two large sets meet, the pairs are not walked: for every
    mask the choices that cover it are counted (a superset sum), the counts multiplied, and the sums taken back.
    """
    found = {nodes}
    large = []
    width = nodes.bit_count()
    for masks in sorted(({NodeMask(mask & nodes) for mask in masks} for masks in sets), key=len):
        if width > _TABLE_NODES or len(found) * len(masks) <= 2 << width:
            found = {NodeMask(left & right) for left in found for right in masks}
        else:
            large.append(masks)
    return _by_superset_sums([found, *large], nodes) if large else found


def _by_superset_sums(sets: Collection[Collection[NodeMask]], nodes: NodeMask) -> set[NodeMask]:
    masks = _subsets(nodes)
    index = {mask: position for position, mask in enumerate(masks)}
    ways = [1] * len(masks)
    for members in sets:
        table = [0] * len(masks)
        for mask in members:
            table[index[mask]] = 1
        # Each round treats the position's lowest bit and rotates it to the top; after all rounds the order is back.
        for _ in range(nodes.bit_count()):
            table = [*map(add, table[::2], table[1::2]), *table[1::2]]
        ways = list(map(mul, ways, table))
    for _ in range(nodes.bit_count()):
        ways = [*map(sub, ways[::2], ways[1::2]), *ways[1::2]]
    return {mask for mask, count in zip(masks, ways, strict=True) if count}


def _subsets(nodes: NodeMask) -> list[NodeMask]:
    """All masks over the nodes, so that bit i of the position stands for the i-th lowest node."""
    masks = [NodeMask(0)]
    for node in ids_of(nodes):
        masks += [NodeMask(mask | 1 << node) for mask in masks]
    return masks
