"""What each of many nodes has left: most nodes that a pod does not fit are told by that alone."""

import math
from collections.abc import Iterable, Iterator, Sequence

from numaproof.harness.affinity.needs import Needs
from numaproof.harness.affinity.node_topology import NodeTopology
from numaproof.harness.affinity.predicate import PODS, at_most, left_of
from numaproof.harness.affinity.zones import CPU

_Column = list[float]  # by the number of the node


class Rooms:
    """The nodes by number; what a node tells of, it tells of as long as it is there."""

    def __init__(self, nodes: Sequence[NodeTopology]) -> None:
        self._lefts = [left_of(one) for one in nodes]
        told = {PODS}.union(*self._lefts)
        self._left = {name: self._column(name) for name in told}
        self._largest = [_largest(one) for one in nodes]
        self._largest_aligned = [_largest_aligned(one) for one in nodes]

    def update(self, number: int, node: NodeTopology) -> None:
        """Take over what a node has left now."""
        left = left_of(node)
        self._lefts[number] = left
        for name, column in self._left.items():
            column[number] = at_most(name, left)
        self._largest[number] = _largest(node)
        self._largest_aligned[number] = _largest_aligned(node)

    def having(self, needs: Needs, numbers: Iterable[int]) -> Iterator[int]:
        """Of these nodes, in their order, the ones that have enough as a whole, and room for one more pod."""
        return _holding(self._wanted(needs), numbers)

    def promising(self, needs: Needs, numbers: Iterable[int]) -> Iterator[int]:
        """Of those, the ones where no CPUs of the pod are too many for each single NUMA node."""
        if needs.wants_home:
            of_zones = self._largest, needs.requests.get(CPU, 0)
        else:
            # Containers one by one, or all as a whole, which is not less than any of them.
            most = max((one.cpus for one in needs.containers), default=0)
            of_zones = self._largest_aligned, 1000 * most
        return _holding([*self._wanted(needs), of_zones], numbers)

    def _wanted(self, needs: Needs) -> list[tuple[_Column, int]]:
        found = [(self._left[PODS], 1)]
        for name, amount in needs.requests.items():
            found.append((self._left[name] if name in self._left else self._column(name), amount))
        return found

    def _column(self, resource: str) -> _Column:
        return [at_most(resource, left) for left in self._lefts]


def _holding(wanted: list[tuple[_Column, int]], numbers: Iterable[int]) -> Iterator[int]:
    for number in numbers:
        for column, amount in wanted:
            if column[number] < amount:
                break
        else:
            yield number


def _largest(node: NodeTopology) -> float:
    """The most CPU that a NUMA node has left; not less than none."""
    return max([0, *(zone.available.get(CPU, 0) for zone in node.zones)])


def _largest_aligned(node: NodeTopology) -> float:
    """The same, if exclusive CPUs have to come from one NUMA node."""
    told = any(CPU in zone.capacity for zone in node.zones)
    return _largest(node) if node.policy == "single-numa-node" and told and CPU not in node.unaligned else math.inf
