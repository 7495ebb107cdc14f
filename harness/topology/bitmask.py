"""Sets of NUMA nodes as ints: bit n stands for node n, so AND, OR and equality are the machine's own."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NewType

NodeMask = NewType("NodeMask", int)

EMPTY = NodeMask(0)
MAX_NODE = 63  # the kubelet keeps a mask in 64 bits


def mask_of(ids: Iterable[int]) -> NodeMask:
    """The mask with exactly these nodes; ids outside 0 to 63 are a ValueError."""
    mask = 0
    for node in ids:
        if not 0 <= node <= MAX_NODE:
            raise ValueError(f"NUMA node {node} does not fit into a mask (0 to {MAX_NODE})")
        mask |= 1 << node
    return NodeMask(mask)


def ids_of(mask: NodeMask) -> tuple[int, ...]:
    """The nodes of a mask, ascending."""
    ids = []
    rest = int(mask)
    while rest:
        low = rest & -rest
        ids.append(low.bit_length() - 1)
        rest ^= low
    return tuple(ids)


def count(mask: NodeMask) -> int:
    """How many nodes a mask holds."""
    return mask.bit_count()


def is_set(mask: NodeMask, node: int) -> bool:
    """Whether a mask holds a node."""
    return bool(mask >> node & 1)


def is_subset(inner: NodeMask, outer: NodeMask) -> bool:
    """Whether every node of `inner` is in `outer`."""
    return not inner & ~outer


def is_narrower(mask: NodeMask, other: NodeMask) -> bool:
    """Whether a mask has fewer nodes than another or, with as many, the lower value."""
    return (mask.bit_count(), mask) < (other.bit_count(), other)


def masks_over(ids: Iterable[int]) -> Iterator[NodeMask]:
    """Every non-empty mask over the nodes, in the kubelet's order: smaller ones first, then by their lowest nodes."""
    bits = [1 << node for node in sorted(ids)]
    for size in range(1, len(bits) + 1):
        for chosen in combinations(bits, size):
            yield NodeMask(sum(chosen))


@lru_cache(maxsize=8)
def listed_masks(ids: tuple[int, ...]) -> tuple[NodeMask, ...]:
    """The same, listed: for few nodes, over which many decisions are made."""
    return tuple(masks_over(ids))


def format_mask(mask: NodeMask | None) -> str:
    """A mask as people read it: `{0,2}`; the absent one is `any`."""
    return "any" if mask is None else "{" + ",".join(map(str, ids_of(mask))) + "}"
