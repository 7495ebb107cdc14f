"""How the CPUs of a machine are grouped into cores, caches, NUMA nodes and sockets."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import pairwise

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.sets import CpuSet


class Level(Enum):
    """A kind of group; the value is its column in a row of `CpuTopology.of`."""

    CORE = 1
    CACHE = 2
    NODE = 3
    SOCKET = 4


# Levels whose groups count as whole when they have the average size, not their own: on machines with unequal cores
# or sockets the kubelet divides the number of CPUs by the number of groups, and decisions depend on it.
_AVERAGED = frozenset({Level.CORE, Level.SOCKET})


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """The online CPUs of a machine and their groups at every level."""

    cpus: CpuSet
    groups: Mapping[Level, Mapping[int, CpuSet]]
    node_of: Mapping[int, int]
    # (outer level, inner level) -> outer group -> the inner groups that share a CPU with it
    inner: Mapping[tuple[Level, Level], Mapping[int, tuple[int, ...]]] = field(repr=False)

    @classmethod
    def of(cls, rows: Iterable[Collection[int]]) -> "CpuTopology":
        """The topology of rows (cpu, core, uncore cache, NUMA node, socket); core ids are unique in the machine."""
        return _grouped(tuple(tuple(row) for row in rows))

    @property
    def nodes(self) -> tuple[int, ...]:
        """The NUMA nodes that have CPUs, lowest first."""
        return tuple(sorted(self.groups[Level.NODE]))

    @property
    def cpus_per_core(self) -> int:
        """Threads of an average core."""
        return self.average_size(Level.CORE)

    def average_size(self, level: Level) -> int:
        """CPUs of an average group, rounded down."""
        return self.cpus.bit_count() // len(self.groups[level])

    def whole_size(self, level: Level, group: int) -> int:
        """How many free CPUs make the kubelet take the group for entirely free."""
        return self.average_size(level) if level in _AVERAGED else self.groups[level][group].bit_count()

    def path(self, level: Level) -> tuple[Level, ...]:
        """The levels to walk, outermost first, when groups of this level are looked for in order."""
        sockets, nodes = len(self.groups[Level.SOCKET]), len(self.groups[Level.NODE])
        return (_NODES_FIRST if sockets >= nodes else _SOCKETS_FIRST)[level]

    def covering(self, cpus: CpuSet, level: Level) -> CpuSet:
        """All CPUs of the groups that hold any of these."""
        found = 0
        for group in self.groups[level].values():
            if group & cpus:
                found |= group
        return found


_NODES_FIRST = {
    Level.NODE: (Level.NODE,),
    Level.SOCKET: (Level.NODE, Level.SOCKET),
    Level.CORE: (Level.NODE, Level.SOCKET, Level.CORE),
    Level.CACHE: (Level.NODE, Level.CACHE),
}
_SOCKETS_FIRST = {
    Level.SOCKET: (Level.SOCKET,),
    Level.NODE: (Level.SOCKET, Level.NODE),
    Level.CORE: (Level.SOCKET, Level.NODE, Level.CORE),
    Level.CACHE: (Level.SOCKET, Level.NODE, Level.CACHE),
}
_PAIRS = {pair for path in (*_NODES_FIRST.values(), *_SOCKETS_FIRST.values()) for pair in pairwise(path)} | {
    (Level.CACHE, Level.CORE)
}


@lru_cache(maxsize=64)  # a thousand nodes on machines of a few kinds share these, and nobody changes one
def _grouped(table: tuple[tuple[int, ...], ...]) -> CpuTopology:
    groups: dict[Level, dict[int, CpuSet]] = {level: defaultdict(int) for level in Level}
    node_of: dict[int, int] = {}
    for row in table:
        if row[0] in node_of:
            raise UserError(f"CPU topology: CPU {row[0]} is given twice; give each CPU one row")
        node_of[row[0]] = row[Level.NODE.value]
        for level in Level:
            groups[level][row[level.value]] |= 1 << row[0]
    if not table:
        raise UserError("CPU topology: no CPU is online; a node needs at least one")
    inner: dict[tuple[Level, Level], dict[int, tuple[int, ...]]] = {}
    for pair in _PAIRS:
        found: dict[int, set[int]] = defaultdict(set)
        for row in table:
            found[row[pair[0].value]].add(row[pair[1].value])
        inner[pair] = {outer: tuple(sorted(ids)) for outer, ids in found.items()}
    cpus = 0
    for group in groups[Level.NODE].values():
        cpus |= group
    return CpuTopology(cpus, {level: dict(found) for level, found in groups.items()}, node_of, inner)
