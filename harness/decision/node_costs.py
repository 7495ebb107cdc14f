"""The costs of a node: of its system, of what plugins report, and of the NUMA nodes that other plugins tell."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from numaproof.harness.cost.costs import SYSTEM, Costs, Entry, Report, Unlisted
from numaproof.harness.cost.names import CPU, MEMORY, cpu_id, natural, node_id
from numaproof.harness.cost.system import System
from numaproof.harness.topology.bitmask import NodeMask, ids_of

Listed = Mapping[str, Mapping[str, NodeMask]]  # the NUMA nodes of each device, by resource and id
Reported = Mapping[str, tuple[Entry, ...]]  # what plugins say of costs, by resource


class NodeCosts:
    """Costs of one machine, kept as long as neither lists nor reports change."""

    def __init__(self, node_of: Mapping[int, int], system: System | None, unlisted: Unlisted) -> None:
        self._node_of = node_of
        self._system = system
        self._unlisted = unlisted
        self._made_of: tuple[Listed, Reported] = ({}, {})
        self._costs = self._made({}, {})

    def of(self, listed: Listed, reported: Reported) -> Costs:
        """All costs that are known with these lists and reports."""
        if (listed, reported) != self._made_of:
            self._made_of = (listed, reported)
            self._costs = self._made(listed, reported)
        return self._costs

    def _made(self, listed: Listed, reported: Reported) -> Costs:
        nodes = self._system.memory if self._system else ()
        instances = {
            CPU: tuple(cpu_id(cpu) for cpu in sorted(self._node_of)),
            MEMORY: tuple(node_id(node) for node in sorted(nodes)),
            **{resource: tuple(sorted(masks, key=natural)) for resource, masks in listed.items()},
        }
        reports = [Report(resource, entries) for resource, entries in sorted(reported.items())]
        silent = {resource: masks for resource, masks in listed.items() if resource not in reported}
        told = tuple(self._of_numa_nodes(silent))
        return Costs(instances, (*reports, Report(SYSTEM, told)), self._system, self._unlisted)

    def _of_numa_nodes(self, listed: Listed) -> Iterator[Entry]:
        """A NUMA node as costs: to every CPU and memory node what the kernel tells of the way there.

        A device of several nodes is as near as the nearest; one without any is near to nothing and far from nothing.
        """
        if self._system is None:
            return
        distances = self._system.distances
        cpus = defaultdict(list)
        for cpu, node in sorted(self._node_of.items()):
            cpus[node].append(cpu_id(cpu))
        for resource, masks in sorted(listed.items()):
            together = defaultdict(list)
            for one, mask in masks.items():
                together[tuple(node for node in ids_of(mask) if node in distances)].append(one)
            for homes, ids in sorted(together.items()):
                for node in sorted(distances) if homes else ():
                    cost = Fraction(min(distances[home][node] for home in homes))
                    if node in cpus:
                        yield Entry(resource, tuple(ids), CPU, tuple(cpus[node]), cost)
                    if node in self._system.memory:
                        yield Entry(resource, tuple(ids), MEMORY, (node_id(node),), cost)
