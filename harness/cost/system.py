"""The system devices of a machine: its CPUs in cores, caches, dies, packages and NUMA nodes, and its memory nodes."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CpuGroup:
    """CPUs that have something in common; two of them in different parts cost `between` in either direction."""

    between: int
    parts: tuple["CpuGroup", ...] = ()
    cpus: tuple[int, ...] = ()  # without parts: the CPUs themselves, any two of which cost `between`


@dataclass(frozen=True, slots=True)
class System:
    """What the kernel tells of CPUs and memory: groups within each NUMA node, distances between the nodes."""

    cpus: Mapping[int, CpuGroup]  # by NUMA node; a node without CPUs is not in it
    memory: tuple[int, ...]  # NUMA nodes that have memory
    distances: Mapping[int, Mapping[int, int]]  # SLIT: from every NUMA node to every one

    @property
    def largest(self) -> int:
        """The largest cost between any two system devices."""
        return max((one for row in self.distances.values() for one in row.values()), default=0)
