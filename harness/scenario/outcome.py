"""What a node under test answered: a verdict, and what each container was given; the same for every kind of node.

What a node shows of an assignment are CPUs, memory and devices; affinity and health stay at their defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.harness.affinity.rules import PENDING
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.scenario.record import Calls, DecisionRecord


@dataclass(frozen=True, slots=True)
class ChosenCost:
    """What it costs to use together what a pod was given, as a node that chooses by costs tells it."""

    cost: float
    optimal: bool  # whether it is proven that no other choice would have been cheaper


@dataclass(frozen=True, slots=True)
class Confined:
    """What a bound pod's cgroup keeps all its containers to."""

    cpus: frozenset[int]
    memory_nodes: frozenset[int]  # empty: any


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one pod, or to what was asked of the node."""

    admitted: bool
    reason: str = ""
    message: str = ""
    containers: Mapping[str, Assignment] = field(default_factory=dict)
    cost: ChosenCost | None = None  # None: the node told none
    confined: Confined | None = None  # None: the pod is not bound
    evicted: tuple[str, ...] = ()  # the pods that went by it
    decided: tuple[DecisionRecord, ...] = ()  # how the node came to it, as far as it tells

    @property
    def waits(self) -> bool:
        """Whether the pod is at the node, and waits to be bound."""
        return not self.admitted and self.reason == PENDING


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was seen of a step; what no expectation asks for is left out."""

    outcome: Outcome
    calls: Calls = field(default_factory=dict)  # in this step
    metrics: Mapping[str, float] = field(default_factory=dict)  # sample -> its value now
    listed: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)  # pod -> containers; None: unknown
    allocatable: Assignment = field(default_factory=Assignment)
    pending: tuple[str, ...] = ()  # the pods that wait to be bound, by name
