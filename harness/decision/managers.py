"""The managers of a node wired together as the kubelet wires them: devices, CPUs, memory, and topology above them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.cpu import CpuManager, CpuTopology
from numaproof.harness.providers.devices import DeviceManager
from numaproof.harness.providers.devices.manager import Allocated
from numaproof.harness.providers.devices.port import PreferredPort
from numaproof.harness.providers.memory import Block, MemoryManager, MemoryNode
from numaproof.harness.providers.memory.manager import PolicyName as MemoryPolicy
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.manager import Manager
from numaproof.harness.topology.numa import Distances, NumaInfo
from numaproof.harness.topology.policies import policy_options
from numaproof.harness.topology.verdict import Verdict
from numaproof.harness.vocabulary import Semantics

CpuRow = tuple[int, int, int, int, int]  # cpu, core, uncore cache, NUMA node, socket


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """What the managers have to know about the machine."""

    cpu_rows: Sequence[CpuRow]
    memory_nodes: tuple[MemoryNode, ...]
    node_ids: tuple[int, ...]
    distances: Distances = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ManagerConfig:
    """The managers' part of a kubelet configuration."""

    topology_policy: str = "none"
    topology_scope: str = "container"
    topology_options: Mapping[str, object] = field(default_factory=dict)
    cpu_policy: str = "none"
    cpu_options: Mapping[str, bool | str] = field(default_factory=dict)
    reserved_cpus: frozenset[int] = frozenset()
    memory_policy: MemoryPolicy = "None"
    reserved_memory: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    topology_manager_enabled: bool = True  # the feature gate: without it everything is allocated, unaligned
    semantics: Semantics = "current"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one container was given."""

    affinity: TopologyHint
    cpus: frozenset[int] | None  # None: the shared pool
    memory: tuple[Block, ...]
    devices: Mapping[str, frozenset[str]]


class Managers:
    """Topology admission on one machine: decides who gets what, and remembers it. No I/O."""

    def __init__(
        self,
        machine: NodeDescription,
        config: ManagerConfig,
        preferred: PreferredPort | None = None,
        *,
        active: Callable[[], Collection[str]]
        | None = None,  # uids of the pods that may hold something; None: see admit
        allocated: Allocated | None = None,
    ) -> None:
        self._admitted: set[str] = set()
        active = active or (lambda: self._admitted)
        policy = config.topology_policy if config.topology_manager_enabled else "none"
        self.topology = Manager(
            NumaInfo(machine.node_ids, machine.distances),
            policy,
            config.topology_scope,
            policy_options(config.topology_options),
            config.semantics,
        )
        self.devices = DeviceManager(machine.node_ids, preferred, active, allocated)
        self.cpu = CpuManager(
            CpuTopology.of(machine.cpu_rows),
            config.cpu_policy,
            config.cpu_options,
            config.reserved_cpus,
            active=active,
            topology_policy=policy,
        )
        self.memory = MemoryManager(machine.memory_nodes, config.memory_policy, config.reserved_memory, active)
        for provider in (self.devices, self.cpu, self.memory):
            self.topology.add_hint_provider(provider)

    def admit(self, pod: Pod) -> Verdict:
        """Place and allocate all containers of a pod.

        What a refused pod got before it was refused stays until `remove`, or until the next decision: the pods that
        may hold something are, unless the owner says otherwise, the admitted ones and the one being admitted.
        """
        self._admitted.add(pod.uid)
        verdict = self.topology.admit(pod)
        if not verdict.admitted:
            self._admitted.discard(pod.uid)
        return verdict

    def remove(self, uid: str) -> None:
        """Give back all that a pod holds; one that is not known holds nothing."""
        self._admitted.discard(uid)
        self.devices.remove(uid)
        self.cpu.remove(uid)
        self.memory.remove(uid)
        self.topology.remove_pod(uid)

    def assignment(self, uid: str, container: str) -> Assignment:
        """What a container holds now."""
        return Assignment(
            self.topology.get_affinity(uid, container),
            self.cpu.assignments.get((uid, container)),
            self.memory.blocks.get((uid, container), ()),
            self.devices.assignments.get((uid, container), {}),
        )
