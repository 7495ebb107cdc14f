"""Selecting instead of merging: a policy that names the exact CPUs, memory nodes and devices of a container."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, count
from numaproof.harness.topology.hints import ANY_NODE, TopologyHint

Instance = TypeVar("Instance", int, str)


@dataclass(frozen=True, slots=True)
class Choice:
    """What exactly shall be allocated; of what is not in it the provider takes what it always would."""

    cpus: frozenset[int] | None = None
    memory: NodeMask | None = None  # the group of NUMA nodes that all kinds of memory come from
    devices: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by resource


NO_CHOICE = Choice()
Chosen = Callable[[], Choice]  # what the container shall get that something is being allocated for


def no_choice() -> Choice:
    """For providers that nobody chooses for."""
    return NO_CHOICE


@dataclass(frozen=True, slots=True)
class Offer(Generic[Instance]):
    """What a provider has for a request that it can satisfy."""

    wanted: int
    available: frozenset[Instance]  # as many as wanted, at least
    first: frozenset[Instance] = frozenset()  # of these as many as are wanted: what the pod has, or leaves, already


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice, and whether the policy admits a pod with it."""

    choice: Choice = NO_CHOICE
    admit: bool = True
    nodes: NodeMask = EMPTY  # the NUMA nodes that the choice touches
    account: object | None = None  # how it came about, for who knows the selector; None: nothing had to be chosen

    @property
    def hint(self) -> TopologyHint:
        """Where the choice is; preferred if that is one NUMA node. Any node will do where it is on none."""
        return TopologyHint(self.nodes, count(self.nodes) == 1) if self.nodes else ANY_NODE


class Selector(Protocol):
    """Who chooses for the Topology Manager."""

    def select(self, pod: Pod, container: Container | None, within: Choice | None) -> Selection:
        """What a container shall get, or a whole pod (None); from within a pod's choice as far as that reaches."""
