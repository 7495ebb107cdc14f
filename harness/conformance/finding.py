"""What a check finds, and what it may know besides the exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MOST_SHOWN = 5
# Reasons to skip that several checks have.
NO_DEVICE = "it lists no healthy device"
NOT_REACHED = "the session did not come so far"


class CheckVerdict(StrEnum):
    """How a check ends."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"  # the requirement does not hold, but its level does not make that a failure
    SKIP = "skip"  # it could not be judged
    ERROR = "error"  # the suite's own fault


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a requirement holds, and what was seen."""

    verdict: CheckVerdict  # PASS, FAIL or SKIP
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the subject's machine."""

    node_ids: frozenset[int] = frozenset()  # empty: unknown
    pci_nodes: Mapping[str, int] = field(default_factory=dict)  # PCI address -> NUMA node, -1 unknown


def passed(seen: str = "") -> Finding:
    """The requirement holds."""
    return Finding(CheckVerdict.PASS, seen)


def failed(*seen: str) -> Finding:
    """The requirement does not hold; the first few violations are shown."""
    different = list(dict.fromkeys(seen))
    more = f"; and {len(different) - MOST_SHOWN} more" if len(different) > MOST_SHOWN else ""
    return Finding(CheckVerdict.FAIL, "; ".join(different[:MOST_SHOWN]) + more)


def skipped(reason: str) -> Finding:
    """It could not be judged."""
    return Finding(CheckVerdict.SKIP, reason)


def finding_of(violations: list[str], seen: str) -> Finding:
    """Failed with its violations, passed with what was seen when there are none."""
    return failed(*violations) if violations else passed(seen)
