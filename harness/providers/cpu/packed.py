"""Picking CPUs closely together: whole NUMA nodes and sockets, then caches, cores, single threads, best fit first."""

from collections.abc import Iterable

from numaproof.harness.providers.cpu.sets import CpuSet, cpus_of
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.provider import AllocationError


def pick_packed(
    topology: CpuTopology, free: CpuSet, count: int, *, spread_cores: bool = False, align_by_cache: bool = False
) -> CpuSet:
    """As many of the free CPUs as asked for, from the smallest places that fit; raises AllocationError if too few."""
    pick = Pick(topology, free, count)
    pick.check()
    for level in topology.path(Level.CORE)[:2]:
        pick.take_whole(level)
    if align_by_cache:
        _take_caches(pick)
    if spread_cores:
        # Siblings are numbered far apart on most machines, so ascending numbers within a socket spread over cores.
        pick.take_threads(Level.SOCKET)
    else:
        pick.take_whole(Level.CORE)
        pick.take_threads(Level.CORE)
    return pick.taken


class Pick:
    """One picking under way: what is still free, what is taken, how many CPUs are still needed."""

    def __init__(self, topology: CpuTopology, free: CpuSet, needed: int) -> None:
        self.topology = topology
        self.free = free
        self.taken: CpuSet = 0
        self.needed = needed

    def check(self) -> None:
        """Raise the kubelet's error if more is needed than is free."""
        available = self.free.bit_count()
        if self.needed > available:
            raise AllocationError(
                f"not enough cpus available to satisfy request: requested={self.needed}, available={available}"
            )

    def take(self, cpus: CpuSet) -> None:
        """Add these CPUs to the result."""
        self.taken |= cpus
        self.free &= ~cpus
        self.needed -= cpus.bit_count()

    def free_in(self, level: Level, group: int) -> CpuSet:
        """The free CPUs of a group."""
        return self.free & self.topology.groups[level][group]

    def ordered(self, level: Level) -> list[int]:
        """Groups with free CPUs, those with the fewest first, then the lowest id, outer groups being ordered before.

        A group that straddles two outer groups comes twice.
        """
        outer, *path = self.topology.path(level)
        groups = self._fewest_first(outer, self.topology.groups[outer], self.free)
        for inner in path:
            parts = self.topology.inner[outer, inner]
            groups = [
                group
                for parent in groups
                for group in self._fewest_first(inner, parts[parent], self.free_in(outer, parent))
            ]
            outer = inner
        return groups

    def _fewest_first(self, level: Level, groups: Iterable[int], within: CpuSet) -> list[int]:
        members = self.topology.groups[level]
        present = [group for group in groups if members[group] & within]
        return sorted(present, key=lambda group: ((members[group] & self.free).bit_count(), group))

    def take_whole(self, level: Level) -> None:
        """Take groups that are entirely free, as long as no fewer CPUs are needed than a group has.

        Whether a core or a socket is entirely free is judged by the average size, yet all its CPUs are taken: where
        cores have unequal numbers of threads the kubelet hands out CPUs that are not free, and so does this.
        """
        if self.needed < 1:
            return
        whole = [
            group
            for group in self.ordered(level)
            if self.free_in(level, group).bit_count() == self.topology.whole_size(level, group)
        ]
        for group in whole:
            cpus = self.topology.groups[level][group]
            if self.needed >= cpus.bit_count():
                self.take(cpus)

    def take_threads(self, level: Level) -> None:
        """Take single CPUs, group by group in order, in ascending order within a group."""
        if self.needed < 1:
            return
        for cpu in [cpu for group in self.ordered(level) for cpu in cpus_of(self.free_in(level, group))]:
            self.take(1 << cpu)
            if self.needed < 1:
                return


def _take_caches(pick: Pick) -> None:
    """Take whole caches, then what is left from one cache, if one can give exactly that."""
    if pick.needed < 1:
        return
    # The order is that of before: whole caches that go now stay in it, with nothing to give.
    order = pick.ordered(Level.CACHE)
    if pick.needed >= pick.topology.average_size(Level.CACHE):
        pick.take_whole(Level.CACHE)
    for cache in order:
        if pick.needed < 1:
            return
        cpus = _part_of_cache(pick, cache)
        if cpus.bit_count() == pick.needed:
            pick.take(cpus)


def _part_of_cache(pick: Pick, cache: int) -> CpuSet:
    """The CPUs that the lowest cores of a cache can give towards what is needed, perhaps too few or too many."""
    per_core = pick.topology.cpus_per_core
    cores = pick.topology.groups[Level.CORE]
    in_cache = pick.free_in(Level.CACHE, cache)
    candidates = sorted(core for core in pick.topology.inner[Level.CACHE, Level.CORE][cache] if cores[core] & in_cache)
    wanted = -(-pick.needed // per_core)
    cpus = 0
    for core in candidates[:wanted]:
        cpus |= pick.free & cores[core]
    if pick.needed % 2 and per_core > 1 and cpus.bit_count() > pick.needed:
        # An odd request leaves one thread of its last core alone: exactly one CPU is given back, whatever remains.
        cpus ^= 1 << (cpus.bit_length() - 1)
    return cpus
