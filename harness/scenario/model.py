"""What a scenario says, as frozen values, not yet sized to any machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numaproof.harness.scenario.steps.action import Action

# A size may be a plain quantity ("2", "500m", "1Gi") or relative to the machine ("half numa.memory"): see sizes.py.
Size = str


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A fake device plugin of a scenario: its devices by NUMA node, or one by one."""

    resource: str
    per_numa: Size | None = None  # so many devices on every NUMA node that has CPUs
    devices: tuple[Mapping[str, Any], ...] = ()  # or exactly these: id, numa (a list, or None), healthy
    # Or those of the machine's PCI tree: "gpu", "nic" (virtual functions), "rdma" (whole network cards); what stands in
    # is told by the others.
    sysfs: str | None = None
    like: str | None = None  # with sysfs: the machine whose devices the story is about
    preferred: str = "none"  # none | lowest | links
    plural: bool = False
    costs: Mapping[str, Any] | str | None = None  # it tells these, as a cost file has them; "pci": those of sysfs
    pre_start: bool = False
    list: str = "kept"  # kept | fails (at once) | ends (after the first list); until the node restarts
    faults: tuple[str, ...] = ()  # CALL=KIND[:VALUE][*TIMES]


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """What the node shall tell of the cost of what it chose; what is None is not looked at."""

    at_most: float | None = None
    optimal: bool | None = None


@dataclass(frozen=True, slots=True)
class ExpectedConfined:
    """What a bound pod's cgroup shall keep its containers to; what is None is not looked at."""

    cpus: Any = None  # as of a container
    memory_nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What shall be seen after a step; what is None is not looked at."""

    admitted: bool | None = None
    reason: str | None = None
    message: str | None = None  # a part of it
    refuses: str | None = None  # the node refuses to start again, and says this; nothing comes after that
    aligned: str | None = None  # "container": each on one NUMA node; "pod": all of them on the same one; "no": spread
    numa: Size | None = None  # how many NUMA nodes each container's resources come from
    nodes: tuple[int, ...] | None = None  # which NUMA nodes the pod's resources come from
    containers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by name: cpus, nodes, devices, memory
    cost: ExpectedCost = field(default_factory=ExpectedCost)  # of an admitted pod, under policy cost
    calls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # resource -> call -> how often in this step
    metrics: Mapping[str, Size] = field(default_factory=dict)  # sample -> its value after this step
    listed: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)  # pod -> containers; None: not there
    allocatable: Mapping[str, Any] = field(default_factory=dict)  # as a container: cpus, cpu_count, devices, memory
    confined: ExpectedConfined = field(default_factory=ExpectedConfined)  # of a bound pod
    pending: frozenset[str] | None = None  # exactly these pods wait to be bound
    evicted: frozenset[str] | None = None  # exactly these pods went
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # only for these values of the matrix


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens, and what shall be seen then."""

    action: Action
    expected: tuple[Expected, ...]
    where: str  # "story.yaml:12: steps[2]", for messages
    line: int | None = None  # of the file


@dataclass(frozen=True, slots=True)
class Needs:
    """What a machine must have for a scenario to mean anything there."""

    numa: int = 1  # NUMA nodes with CPUs, at least
    use_numa: int | None = None  # so many are used, and of a machine with more the rest is reserved; None: all
    numa_cpus: Size = "1"  # free CPUs of the smallest such node
    threads: int = 1  # CPUs of a core, at least
    most_threads: int | None = None  # and at most; None: any number
    hugepages: tuple[str, ...] = ()  # "2Mi", "1Gi": on every NUMA node with CPUs
    gpus: int = 0  # in the PCI tree
    rdma: int = 0  # network cards in the PCI tree
    own_machines: str | None = None  # why it means something on the machines of its matrix alone; None: it fits any


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story of pods on a node: why it matters, where it comes from, what happens, and what shall be seen."""

    path: Path
    theme: str
    name: str
    why: str
    source: str
    needs: Needs
    matrix: Mapping[
        str, tuple[str, ...]
    ]  # policy, scope, semantics, machine, and others by their KubeletConfiguration key
    kubelet: Mapping[str, Any]
    plugins: tuple[PluginSpec, ...]
    steps: tuple[Step, ...]
    refuses: str | None = None  # instead of steps: the node refuses to start, and says this; None: it starts

    @property
    def id(self) -> str:
        """`theme/file`, by which `numaproof run` finds it."""
        return f"{self.theme}/{self.path.stem}"
