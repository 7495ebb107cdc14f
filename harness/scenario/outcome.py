"""What a node under test answered: a verdict, and what each container was given; the same for every kind of node."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# resource -> call -> how often
Calls = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Memory:
    """A block of memory that NUMA nodes hold together."""

    resource: str  # "memory", "hugepages-1Gi"
    size: int  # bytes
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What a container was given."""

    cpus: frozenset[int] = frozenset()  # exclusive ones; empty: the shared pool
    memory: tuple[Memory, ...] = ()
    # resource -> id -> its NUMA nodes; None: its plugin sent no topology, empty: one without nodes
    devices: Mapping[str, Mapping[str, tuple[int, ...] | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one pod."""

    admitted: bool
    reason: str = ""
    message: str = ""
    containers: Mapping[str, Given] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen of a step; what no expectation asks for is left out."""

    outcome: Outcome
    calls: Calls = field(default_factory=dict)  # in this step
    metrics: Mapping[str, float] = field(default_factory=dict)  # sample -> its value now
    listed: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)  # pod -> containers; None: unknown
    allocatable: Given = Given()
