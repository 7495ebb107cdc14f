"""The machine as the Topology Manager knows it: its NUMA nodes and how far they are from each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.topology.bitmask import NodeMask, ids_of, mask_of

Distances = Mapping[int, Sequence[int] | Mapping[int, int]]  # from node id to node id; empty: not known


@dataclass(frozen=True, slots=True)
class NumaInfo:
    """The ids of the NUMA nodes, and their distances."""

    nodes: tuple[int, ...]
    distances: Distances = field(default_factory=dict)
    all_nodes: NodeMask = field(init=False)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "all_nodes", mask_of(self.nodes))
        except ValueError as error:
            raise UserError(f"{error}: this machine has node ids that the Topology Manager cannot handle") from None

    def check_distances(self) -> None:
        """A UserError unless the distances of all nodes are known."""
        for node in self.nodes:
            row = self.distances.get(node, ())
            known = range(len(row)) if isinstance(row, Sequence) else row
            missing = [other for other in self.nodes if other not in known]
            if missing:
                raise UserError(
                    f"prefer-closest-numa-nodes: the distance of NUMA node {node} to node {missing[0]} is not known "
                    "(give the machine's distances, or drop the option)"
                )

    def total_distance(self, mask: NodeMask) -> int:
        """The distances of all ordered pairs of a mask added up; between masks of one size it orders as the average."""
        ids = ids_of(mask)
        if len(ids) == 1:
            return self.distances[ids[0]][ids[0]]
        columns: Callable[[Any], tuple[int, ...]] = itemgetter(*ids)
        return sum(sum(columns(self.distances[node])) for node in ids)
