"""The managers of a node wired together as the kubelet wires them: devices, CPUs, memory, and topology above them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.cost.costs import Entry
from numaproof.harness.cost.system import System
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.fit import Room, Shortage, find_shortage, requests_of
from numaproof.harness.decision.trace import Trace
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.cpu import CpuManager, CpuTopology
from numaproof.harness.providers.devices import DeviceManager
from numaproof.harness.providers.devices.manager import Allocated
from numaproof.harness.providers.devices.port import PreferredPort
from numaproof.harness.providers.memory import MachineState, MemoryManager, MemoryNode
from numaproof.harness.providers.memory.manager import PolicyName as MemoryPolicy
from numaproof.harness.topology.bitmask import NodeMask, mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.manager import Manager
from numaproof.harness.topology.numa import Distances, NumaInfo
from numaproof.harness.topology.policies import policy_options
from numaproof.harness.topology.provider import AllocationError, HintProvider
from numaproof.harness.topology.selection import Choice
from numaproof.harness.vocabulary import SELECTING_POLICY, Semantics

CpuRow = tuple[int, int, int, int, int]  # cpu, core, uncore cache, NUMA node, socket


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """What the managers have to know about the machine."""

    cpu_rows: Sequence[CpuRow]
    memory_nodes: tuple[MemoryNode, ...]
    node_ids: tuple[int, ...]
    distances: Distances = field(default_factory=dict)
    system: System | None = None  # what the policy cost knows of CPUs and memory; None: nothing, all are alike
    isolated_cpus: frozenset[int] = frozenset()  # that the kernel's scheduler leaves alone


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


class Managers:
    """Topology admission on one machine: decides who gets what, and remembers it. No I/O."""

    def __init__(
        self,
        machine: NodeDescription,
        config: ManagerConfig,
        preferred: PreferredPort | None = None,
        *,
        allocated: Allocated | None = None,
        providers: Iterable[HintProvider] = (),  # asked after the kubelet's own
    ) -> None:
        self.description = machine
        self.config = config
        # Who may hold something: the pods that are here, and the one that is being decided about.
        self._holders: set[str] = set()
        # What plugins say that their devices cost, by resource; one that says nothing is not in it.
        self.reported_costs: Mapping[str, tuple[Entry, ...]] = {}
        policy = config.topology_policy if config.topology_manager_enabled else "none"
        options = policy_options(config.topology_options, config.topology_policy)
        self.devices = DeviceManager(machine.node_ids, preferred, self._active, allocated, self._chosen)
        self.cpu = CpuManager(
            CpuTopology.of(machine.cpu_rows),
            config.cpu_policy,
            config.cpu_options,
            config.reserved_cpus,
            active=self._active,
            topology_policy=policy,
            chosen=self._chosen,
        )
        self.memory = MemoryManager(
            machine.memory_nodes, config.memory_policy, config.reserved_memory, self._active, self._chosen
        )
        numa = NumaInfo(machine.node_ids, machine.distances)
        selector = None
        if policy == SELECTING_POLICY:
            from numaproof.harness.decision.selection import CostSelector  # noqa: PLC0415 (the solver is large, few select)

            selector = CostSelector(
                self.cpu,
                self.memory,
                self.devices,
                machine.system,
                numa.all_nodes,
                options,
                lambda: self.reported_costs,
            )
        self.topology = Manager(
            numa, policy, config.topology_scope, options, config.semantics, selector, self.bound_nodes
        )
        own: tuple[HintProvider, ...] = (self.devices, self.cpu, self.memory)
        for provider in (*own, *providers):
            self.topology.add_hint_provider(provider)

    def admit(self, pod: Pod, room: Room | None = None) -> Trace:
        """Place and allocate all containers of a pod; with `room`, see whether the node has enough for it, too.

        What a refused pod got before it was refused stays until `remove`, or until the next decision.
        """
        self._holders.add(pod.uid)
        placement = self.topology.admit(pod)
        given = {name: self._held(pod.uid, name, affinity) for name, affinity in placement.affinities.items()}
        shortage = self.shortage(pod, room) if placement.verdict.admitted and room is not None else None
        verdict = shortage.verdict() if shortage else placement.verdict
        if not verdict.admitted:
            self._holders.discard(pod.uid)
        return Trace(placement.policy, placement.scope, placement.steps, given, placement.failure, shortage, verdict)

    def shortage(self, pod: Pod, room: Room) -> Shortage | None:
        """What the node has too little of for a pod, wherever it may come from; None: nothing."""
        requests = requests_of(pod)
        counted = {resource: self.devices.amount(resource) for resource in requests}
        devices = {resource: amount for resource, amount in counted.items() if amount is not None}
        return find_shortage(requests, room.others, {**room.allocatable, **devices})

    def bound_nodes(self, pod: Pod) -> NodeMask | None:
        """The NUMA nodes that a pod is bound to, by its node or else by its CPUs; None: it is not bound."""
        if pod.numa_node_id is not None:
            return mask_of((pod.numa_node_id,))
        if pod.cpu_affinity is not None:
            return mask_of({self.cpu.topology.node_of[cpu] for cpu in pod.cpu_affinity})
        return None

    def update_costs(self, resource: str, entries: tuple[Entry, ...]) -> None:
        """What the plugin of a resource says of costs replaces what it said before; nothing: it tells none."""
        others = {name: told for name, told in self.reported_costs.items() if name != resource}
        self.reported_costs = {**others, resource: entries} if entries else others

    def remove(self, uid: str) -> None:
        """Give back all that a pod holds; one that is not known holds nothing."""
        self._holders.discard(uid)
        for provider in self.topology.providers:
            provider.remove(uid)
        self.topology.remove_pod(uid)

    def checkpoint(self) -> Any:
        """Who holds what, with every provider, to come back to by `rollback`."""
        return self._holders.copy(), self.topology.checkpoint()

    def rollback(self, checkpoint: Any) -> None:
        """Have everything as it was at the checkpoint, to the last detail; each is used once at most.

        Removing a pod does not do that: the kubelet's way to give back remembers what init containers left, and shifts
        memory within a group of nodes.
        """
        self._holders, topology = checkpoint
        self.topology.rollback(topology)

    def restore(
        self,
        pods: Iterable[tuple[Pod, Mapping[str, Assignment]]],
        memory: MachineState | None = None,
        registered: Collection[str] = (),
    ) -> None:
        """Give every pod, container by container, what it had before a restart; a UserError if that cannot be.

        The memory manager's state of the nodes counts if it is of the same moment; else it is made of the assignments.
        A provider that was added gets the same affinities again, and allocates.
        """
        saved = list(pods)
        self._holders = {pod.uid for pod, _ in saved}
        held = {(pod.uid, name): one for pod, containers in saved for name, one in containers.items()}
        for (uid, name), one in held.items():
            self.topology.restore(uid, name, one.affinity)
        self.cpu.restore({key: one.cpus for key, one in held.items() if one.cpus})
        self.cpu.restore_claims(pod for pod, _ in saved)
        blocks = {key: one.memory for key, one in held.items() if one.memory}
        try:
            self.memory.restore(blocks, memory)
        except UserError:
            self.memory.restore(blocks)
        self.devices.restore({key: one.device_ids() for key, one in held.items() if one.devices}, registered)
        for provider in self.topology.providers:
            if provider not in (self.devices, self.cpu, self.memory):
                for pod, containers in saved:
                    _allocate_again(provider, pod, containers)

    def assignment(self, uid: str, container: str) -> Assignment:
        """What a container holds now."""
        return self._held(uid, container, self.topology.get_affinity(uid, container))

    def _held(self, uid: str, container: str, affinity: TopologyHint) -> Assignment:
        return Assignment(
            affinity,
            self.cpu.held(uid, container),
            self.memory.blocks.get((uid, container), ()),
            self.devices.held(uid, container),
        )

    def _active(self) -> Collection[str]:
        return self._holders

    def _chosen(self) -> Choice:
        return self.topology.choice


def _allocate_again(provider: HintProvider, pod: Pod, containers: Mapping[str, Assignment]) -> None:
    for container in pod.all_containers():
        try:
            provider.allocate(pod, container, containers[container.name].affinity)
        except AllocationError as error:
            raise UserError(
                f'pod {pod.name}: container {container.name}: the hint provider "{provider.name}" cannot give it again '
                f"what it had ({error}); drain the node"
            ) from None
