"""What a check finds, and what it may know besides the exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finding: whether the requirement holds, and what was seen."""

    verdict: str  # "pass", "fail" or "skip"
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the subject's machine."""

    node_ids: frozenset[int] = frozenset()  # empty: unknown
    pci_nodes: Mapping[str, int] = field(default_factory=dict)  # PCI address -> NUMA node, -1 unknown


def passed(seen: str = "") -> Outcome:
    """The requirement holds."""
    return Outcome("pass", seen)


def failed(*seen: str) -> Outcome:
    """The requirement does not hold; the first few violations are told."""
    different = list(dict.fromkeys(seen))
    more = f"; and {len(different) - MOST_SHOWN} more" if len(different) > MOST_SHOWN else ""
    return Outcome("fail", "; ".join(different[:MOST_SHOWN]) + more)


def skipped(reason: str) -> Outcome:
    """It could not be judged."""
    return Outcome("skip", reason)


def verdict_of(violations: list[str], seen: str) -> Outcome:
    """Failed with its violations, passed with what was seen when there are none."""
    return failed(*violations) if violations else passed(seen)
