"""Pods of all kinds and sizes, at random, for a machine of two NUMA nodes; and what a test knows of them by itself."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from numaproof.fake_sysfs.lists import parse_cpulist
from tests.harness.node.binding import ALL_THREE

NODES = {0: frozenset(range(8)), 1: frozenset(range(8, 16))}  # of which CPU 0 and 1 GiB of node 0 are the host's
TOLERATIONS: dict[str, tuple[dict[str, str], ...]] = {
    "plain": (),
    "dedicated": ({"key": "CPUAffinity", "operator": "Exists"},),
    "numa": ({"key": "NUMACPUAffinity", "value": "strict", "effect": ALL_THREE},),
    "alias": ({"key": "NUMAAffinity", "operator": "Exists"},),
    "both": ({"key": "CPUAffinity", "value": "dedicated"}, {"key": "NUMACPUAffinity", "operator": "Exists"}),
    "strict": ({"key": "NUMACPUAffinity", "operator": "Exists"}, {"key": "NUMAMemoryPolicy", "value": "strict"}),
    "preferred": ({"key": "NUMACPUAffinity", "operator": "Exists"}, {"key": "NUMAMemoryPolicy", "value": "preferred"}),
    "all": ({"operator": "Exists"},),
}
DEDICATED = frozenset({"dedicated", "both"})
BY_NODE = frozenset({"numa", "alias", "both", "strict", "preferred"})
# Which taints each kind tolerates, worked out by hand.
TOLERATED = {
    "plain": frozenset(),
    "dedicated": frozenset({"CPUAffinity"}),
    "numa": frozenset({"NUMACPUAffinity"}),
    "alias": frozenset({"NUMACPUAffinity"}),
    "both": frozenset({"CPUAffinity", "NUMACPUAffinity"}),
    "strict": frozenset({"NUMACPUAffinity"}),
    "preferred": frozenset({"NUMACPUAffinity"}),
    "all": frozenset({"CPUAffinity", "NUMACPUAffinity"}),
}
NUMA_IDS = (None, "", "0", "1", "2", "x")
CPU_LISTS = (None, "", "1", "2-3", "5-7", "9-10", "7-8", "0-1", "16", "y")
KINDS = ("plain", "dedicated", "dedicated", "numa", "alias", "both", "both", "strict", "preferred", "all")
AMOUNTS = ("1", "2", "2", "3", "500m", "1500m")


def shape(dice: Random) -> "Shape":
    """What a pod asks for, and where it wants to be."""
    burstable = dice.random() < 0.2
    amounts = AMOUNTS if burstable else (*AMOUNTS, "0")  # what is less than its limit is not nothing
    return Shape(
        dice.choice(KINDS),
        tuple(dice.choice(amounts) for _ in range(dice.randint(1, 2))),
        dice.choice(("1Gi", "1Gi", "20Gi", "40Gi", "65Gi")),
        burstable,
        dice.choice("ab"),
        place(dice),
    )


def place(dice: Random) -> "Place":
    """Anywhere, some place that a pod of its size could have if it were free, or any text."""
    how = dice.choice(("nowhere", "somewhere", "somewhere", "somewhere", "text"))
    if how == "text":
        return Place(node=dice.choice(NUMA_IDS), cpus=dice.choice(CPU_LISTS))
    return Place() if how == "nowhere" else Place(dice.randrange(2), dice.randrange(7))


@dataclass(frozen=True)
class Place:
    """Where a pod is to be: a NUMA node and the first of its CPUs there, or two texts."""

    home: int | None = None
    first: int = 0
    node: str | None = None
    cpus: str | None = None

    def fields(self, kind: str, cpu: int) -> dict[str, str]:
        """The fields of a spec for a pod of some kind that asks for so many thousandths."""
        node, cpus = self.node, self.cpus
        if self.home is not None:
            own = sorted(NODES[self.home] - {0})
            count = -(-cpu // 1000)
            listed = [own[(self.first + index) % len(own)] for index in range(count)]
            # CPUs of their own for those who have to have them, and sometimes for those who may.
            if kind in DEDICATED or (kind in BY_NODE and self.first % 2):
                cpus = ",".join(map(str, listed))
            if kind in BY_NODE or (kind in DEDICATED and self.first % 2):
                node = str(self.home)
        told = {"numaNodeID": node, "cpuAffinity": cpus}
        return {key: text for key, text in told.items() if text is not None}


@dataclass(frozen=True)
class Shape:
    """What a pod asks for."""

    kind: str
    amounts: tuple[str, ...]
    memory: str
    burstable: bool
    namespace: str
    place: Place


@dataclass(frozen=True)
class Entry:
    """A pod as the test knows it."""

    name: str
    namespace: str
    kind: str
    cpu: int  # thousandths that it asks for
    memory: int
    node: int | None = None
    cpus: frozenset[int] | None = None
    given: Any = None  # None: it waits

    @property
    def dedicated(self) -> bool:
        return self.kind in DEDICATED

    @property
    def home(self) -> int | None:
        if self.node is not None or self.cpus is None:
            return self.node
        return next((node for node, cpus in NODES.items() if self.cpus <= cpus), None)

    @property
    def waits_for(self) -> bool:
        return (self.kind in BY_NODE and self.node is None) or (self.dedicated and self.cpus is None)

    def placed(self, fields: dict[str, str]) -> "Entry":
        """The pod with the fields that are told; an empty one is taken back."""
        found = self
        if "numaNodeID" in fields:
            found = replace(found, node=int(fields["numaNodeID"]) if fields["numaNodeID"] else None)
        if "cpuAffinity" in fields:
            found = replace(found, cpus=frozenset(parse_cpulist(fields["cpuAffinity"])) or None)
        return found
