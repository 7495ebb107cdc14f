"""What is known of the costs between instances: who said what, raw and remapped to [0..100]."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from numaproof.harness.cost.system import System

SYSTEM = "system"  # the reporter of what the kernel tells, also on behalf of plugins that tell NUMA nodes only
FULL = 100  # what the largest cost of a reporter becomes

# What a pair costs that nobody lists. nothing: 0, as the proposal says. farthest: as much as anything the reporter
# reports, where it lists other instances of that resource.
Unlisted = Literal["nothing", "farthest"]
UNLISTED: tuple[Unlisted, ...] = get_args(Unlisted)


@dataclass(frozen=True, slots=True)
class Entry:
    """So much from each of some instances of a resource to each of some instances of another, or of the same."""

    resource: str
    ids: tuple[str, ...]
    to_resource: str
    to_ids: tuple[str, ...]
    cost: Fraction  # raw: of any scale, 0 or more; an instance has no cost to itself


@dataclass(frozen=True, slots=True)
class Report:
    """All that one reporter says: a device plugin, the system, or the keys of one resource in a cost file."""

    reporter: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs between the instances of all resources."""

    instances: Mapping[str, tuple[str, ...]]  # the ids of every resource
    reports: tuple[Report, ...]  # where a pair stands twice in one direction, the last cost counts
    system: System | None = None  # None: CPUs and memory have only the costs that the reports give them
    unlisted: Unlisted = "nothing"
    # Of every reporter: what its costs are multiplied with, so that the largest becomes 100.
    factors: Mapping[str, Fraction] = field(init=False)
    # Remapped costs times this are whole numbers: what is computed with, since nothing may be lost.
    scale: int = field(init=False)

    def __post_init__(self) -> None:
        largest = {report.reporter: Fraction(0) for report in self.reports}
        for report in self.reports:
            for entry in report.entries:
                largest[report.reporter] = max(largest[report.reporter], entry.cost)
        if self.system is not None:
            largest[SYSTEM] = max(largest.get(SYSTEM, Fraction(0)), Fraction(self.system.largest))
        factors = {reporter: FULL / most if most else Fraction(0) for reporter, most in largest.items()}
        object.__setattr__(self, "factors", factors)
        raw = {(report.reporter, entry.cost) for report in self.reports for entry in report.entries}
        remapped = [factors[reporter] * cost for reporter, cost in raw]
        scale = math.lcm(*(one.denominator for one in (*remapped, *factors.values())))
        object.__setattr__(self, "scale", scale)

    def scaled(self, reporter: str, cost: Fraction | int) -> int:
        """A raw cost of a reporter, remapped, in units of 1 / scale."""
        return int(cost * self.factors[reporter] * self.scale)
