"""What a check is, and how a function becomes one."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from numaproof.harness.conformance.exchange import Exchange
from numaproof.harness.conformance.finding import Facts, Finding
from numaproof.harness.conformance.happenings import Method, Session, Topic

Judge = Callable[[Exchange, Facts], Finding]


class RequirementLevel(StrEnum):
    """How much a requirement weighs."""

    MUST = "must"  # a violation fails the run
    SHOULD = "should"  # a violation warns; it fails the run when the user is strict
    MAY = "may"  # a violation is reported, and no more


class Feature(StrEnum):
    """What a plugin may offer, and is judged by only if it does."""

    PREFERRED = "preferred"  # GetPreferredAllocation
    PRESTART = "prestart"  # PreStartContainer
    WATCHER = "watcher"  # registration by plugins_registry
    HEALTH = "health"  # the user gave a way to change a device's health
    DRAFT = "draft"  # the draft GetPreferredAllocations


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement, and the function that judges it."""

    id: str  # dp/AREA/NUMBER, stable for ever
    level: RequirementLevel
    title: str
    requirement: str
    why: str
    remedy: str
    sessions: tuple[Session, ...]  # where it is observed
    about: tuple[Method | Topic, ...]  # the calls and happenings that it is judged by
    feature: Feature | None  # None: every plugin is judged
    since: str | None  # the kubelet from which on it holds; None: no kubelet asks for it yet
    judge: Judge

    @property
    def area(self) -> str:
        """The middle part of the id."""
        return self.id.split("/")[1]


def check(
    check_id: str,
    level: RequirementLevel,
    *,
    title: str,
    requirement: str,
    why: str,
    remedy: str,
    sessions: tuple[Session, ...],
    about: tuple[Method | Topic, ...],
    feature: Feature | None = None,
    since: str | None = "v1.10",
) -> Callable[[Judge], Check]:
    """Make a function that judges an exchange a check; it belongs to the catalogue by standing in an area's file."""

    def make(judge: Judge) -> Check:
        return Check(check_id, level, title, requirement, why, remedy, sessions, about, feature, since, judge)

    return make
