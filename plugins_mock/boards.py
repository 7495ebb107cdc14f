"""Boards of GPUs as data: the NUMA node of each GPU, and the NVLinks between them."""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.plugins_mock.links import Links, links_of


@dataclass(frozen=True, slots=True)
class Board:
    """GPUs that are wired to one another."""

    numa: Mapping[str, tuple[int, ...]]
    links: Links


def _uniform(nodes: tuple[int, ...], count: int) -> Board:
    ids = [str(number) for number in range(len(nodes))]
    pairs = {(a, b): count for a in ids for b in ids if int(a) < int(b)}
    return Board({gpu: (node,) for gpu, node in zip(ids, nodes, strict=True)}, pairs)


_TWO_HALVES = {str(gpu): (gpu // 4,) for gpu in range(8)}

# NVIDIA's matrix of the DGX-1 with V100 GPUs: six links at each of them.
_DGX1 = {
    "0": {"1": 1, "2": 1, "3": 2, "4": 2},
    "1": {"2": 2, "3": 1, "5": 2},
    "2": {"3": 2, "6": 1},
    "3": {"7": 1},
    "4": {"5": 1, "6": 1, "7": 2},
    "5": {"6": 2, "7": 1},
    "6": {"7": 2},
}

# The feedback document on the Topology Manager draws the links 2-6 and 3-7 of its DGX-1 double.
_DGX1_AS_DRAWN = {**_DGX1, "2": {"3": 2, "6": 2}, "3": {"7": 2}}

BOARDS: dict[str, Board] = {
    "dgx1-v100": Board(_TWO_HALVES, links_of(_DGX1)),
    "dgx1-as-drawn": Board(_TWO_HALVES, links_of(_DGX1_AS_DRAWN)),
    "dgx-a100": _uniform((3, 3, 1, 1, 7, 7, 5, 5), 12),
    "dgx-h100": _uniform((0, 0, 0, 0, 1, 1, 1, 1), 18),
}
