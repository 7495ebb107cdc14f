"""The catalogue of checks: what the kubelet requires of a device plugin, as data. Ids are stable for ever."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from numaproof.harness.conformance.happenings import Method, Session, Topic

_TOPICS = frozenset(Topic)


class Level(StrEnum):
    """How much a requirement weighs."""

    MUST = "must"  # a violation fails the run
    SHOULD = "should"  # a violation warns; it fails the run when the user is strict
    MAY = "may"  # a violation is told


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement."""

    id: str
    level: Level
    title: str
    requirement: str
    why: str
    remedy: str
    sessions: tuple[Session, ...]  # where it is observed
    about: tuple[Method | Topic, ...]  # the calls and happenings that it is judged by
    feature: str = ""  # what a plugin must offer to be judged; empty: every plugin
    since: str = "v1.10"  # the kubelet from which on it holds

    @property
    def area(self) -> str:
        """The middle part of the id."""
        return self.id.split("/")[1]


def _read(place: Path) -> tuple[Check, ...]:
    areas: dict[str, list[dict[str, Any]]] = yaml.safe_load(place.read_text())
    return tuple(
        Check(
            **{
                **row,
                "id": f"dp/{area}/{number}",
                "level": Level(row["level"]),
                "sessions": tuple(Session(word) for word in row["sessions"]),
                "about": tuple(Topic(word) if word in _TOPICS else Method(word) for word in row["about"]),
            }
        )
        for area, rows in areas.items()
        for number, row in enumerate(rows, 1)
    )


CATALOGUE: tuple[Check, ...] = _read(Path(__file__).with_name("catalogue.yaml"))
BY_ID = {check.id: check for check in CATALOGUE}
FEATURES = ("preferred", "prestart", "watcher", "health")
