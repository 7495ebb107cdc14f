"""Pods and their containers, as far as placement asks for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from numaproof.harness.pods.taints import Toleration

MemoryPolicy = Literal["strict", "preferred"]


@dataclass(frozen=True, slots=True)
class Container:
    """One container and what it asks for, by resource name."""

    name: str
    requests: Mapping[str, Fraction] = field(default_factory=dict)
    limits: Mapping[str, Fraction] = field(default_factory=dict)
    restartable: bool = False  # a sidecar: an init container that keeps running


@dataclass(frozen=True, slots=True)
class PodResources:
    """What a pod asks for as a whole (`spec.resources`), beside what its containers ask for."""

    requests: Mapping[str, Fraction] = field(default_factory=dict)
    limits: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod; `uid` is what its assignments are kept under."""

    name: str
    uid: str
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()
    namespace: str = "default"
    resources: PodResources | None = None  # None: the containers' alone count
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""  # empty: any node
    numa_node_id: int | None = None  # the NUMA node that it is bound to; None: not told
    cpu_affinity: frozenset[int] | None = None  # the CPUs that all its containers share; None: not told
    numa_memory: MemoryPolicy | None = None  # whether its memory has to fit its NUMA node: its node says; None: nobody
    has_claims: bool = False  # devices by Dynamic Resource Allocation, of which no hint provider knows

    def all_containers(self) -> tuple[Container, ...]:
        """All containers in the order in which they are admitted: init containers first."""
        return self.init_containers + self.containers

    def is_init(self, container: Container) -> bool:
        """Whether a container is one of the init containers, sidecars included."""
        return any(container.name == init.name for init in self.init_containers)

    def ends(self, container: Container) -> bool:
        """Whether a container ends before the next one starts: an init container that is not a sidecar.

        What it was given is free for the containers after it, and nobody lists it.
        """
        return not container.restartable and self.is_init(container)
