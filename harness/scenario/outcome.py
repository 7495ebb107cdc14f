"""What a node under test answered: a verdict, and what each container was given; the same for every kind of node."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Given:
    """What a container was given."""

    cpus: frozenset[int] = frozenset()  # exclusive ones; empty: the shared pool
    memory: tuple[tuple[int, ...], ...] = ()  # the NUMA nodes of each block
    devices: Mapping[str, Mapping[str, tuple[int, ...]]] = field(
        default_factory=dict
    )  # resource -> id -> its NUMA nodes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one pod."""

    admitted: bool
    reason: str = ""
    message: str = ""
    containers: Mapping[str, Given] = field(default_factory=dict)
