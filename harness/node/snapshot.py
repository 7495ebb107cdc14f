"""What the managers hold: taken for the state files, put back from them, and put back after a broken-off decision."""

from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.errors import UserError
from numaproof.harness.node.records import Given, Phase, PodRecord, PodRecords
from numaproof.harness.node.state.cpus import CpuState
from numaproof.harness.node.state.devices import DeviceEntry, DeviceState
from numaproof.harness.node.state.memory import MemoryState
from numaproof.harness.node.state.pods import SavedContainer, SavedDevices, SavedPod
from numaproof.harness.node.store import LoadedState, NodeState
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MachineState
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.vocabulary import ContainerKey

NO_NODE = -1  # where the kubelet files devices that have no NUMA node


@dataclass(frozen=True, slots=True)
class Rewind:
    """How the managers were before an attempt to admit a pod."""

    cpus: Mapping[ContainerKey, frozenset[int]]
    shared_pool: frozenset[int]
    blocks: Mapping[ContainerKey, tuple[Block, ...]]
    memory: MachineState


def before_attempt(managers: Managers) -> Rewind:
    """Note what an attempt may change and `remove` would not put back exactly."""
    return Rewind(
        managers.cpu.assignments, managers.cpu.shared_pool, dict(managers.memory.blocks), managers.memory.state
    )


def take_back(managers: Managers, uid: str, rewind: Rewind) -> None:
    """Have the managers as they were before the attempt to admit the pod.

    Giving back a pod's resources is not enough: the kubelet's way to do that remembers what init containers left, and
    shifts memory within a group of nodes.
    """
    managers.remove(uid)
    managers.cpu.restore(rewind.cpus, rewind.shared_pool)
    managers.memory.restore(rewind.blocks, rewind.memory)


def state_of(managers: Managers, config: NodeConfig, records: PodRecords) -> NodeState:
    """What the state files have to say now."""
    static = config.cpu_policy == "static"
    return NodeState(
        CpuState(
            config.cpu_policy,
            managers.cpu.shared_pool if static else frozenset(),
            managers.cpu.assignments,
        ),
        MemoryState(config.memory_policy, managers.memory.state, dict(managers.memory.blocks)),
        DeviceState(
            tuple(
                DeviceEntry(
                    record.pod.uid,
                    container,
                    resource,
                    ids_by_node(given.devices),
                    _serialized(given),
                )
                for record in records
                for (container, resource), given in record.given.items()
            ),
            {resource: tuple(ids) for resource, ids in managers.devices.healthy().items()},
        ),
    )


def ids_by_node(devices: tuple[Device, ...]) -> dict[int, tuple[str, ...]]:
    """Device ids by NUMA node; one of several nodes is in each."""
    found: dict[int, list[str]] = {}
    for device in devices:
        for node in device.numa or (NO_NODE,):
            found.setdefault(node, []).append(device.id)
    return {node: tuple(ids) for node, ids in found.items()}


def saved_pod(managers: Managers, record: PodRecord) -> SavedPod:
    """An admitted pod, with all that it was given."""
    containers = {}
    for container in record.pod.all_containers():
        key = (record.pod.uid, container.name)
        containers[container.name] = SavedContainer(
            record.affinities[container.name],
            managers.cpu.assignments.get(key, frozenset()),
            managers.memory.blocks.get(key, ()),
            {
                resource: SavedDevices(ids_by_node(given.devices), _serialized(given))
                for (name, resource), given in record.given.items()
                if name == container.name
            },
        )
    return SavedPod(record.pod, record.manifest, containers)


def restore(managers: Managers, records: PodRecords, loaded: LoadedState) -> None:
    """Give every admitted pod what it had.

    The kubelet's files, where they are there, have to fit the machine, as its other pods and reservations do not show
    that it has changed; but who has what is the pods' files' to say.
    """
    if loaded.cpu is not None and loaded.cpu.policy == "static":
        managers.cpu.restore(loaded.cpu.assignments, loaded.cpu.shared)
    if loaded.memory is not None:
        managers.memory.restore(loaded.memory.blocks, loaded.memory.machine)
    cpus: dict[ContainerKey, frozenset[int]] = {}
    blocks: dict[ContainerKey, tuple[Block, ...]] = {}
    held: dict[ContainerKey, dict[str, frozenset[str]]] = {}
    for saved in loaded.pods:
        record = PodRecord(saved.pod, saved.manifest, Phase.ADMITTED)
        given: dict[tuple[str, str], Given] = {}
        affinities: dict[str, TopologyHint] = {}
        for name, one in saved.containers.items():
            key = (saved.pod.uid, name)
            affinities[name] = one.affinity
            managers.topology.restore(*key, one.affinity)
            if one.cpus:
                cpus[key] = one.cpus
            if one.memory:
                blocks[key] = one.memory
            for resource, part in one.devices.items():
                devices = devices_of(part.ids)
                given[name, resource] = Given(devices, plugin_api.ContainerAllocateResponse.FromString(part.response))
                held.setdefault(key, {})[resource] = frozenset(device.id for device in devices)
        record.affinities = affinities
        record.give(given, lambda _conflict: None)  # it was logged when the pod was admitted
        records.add(record)
    managers.cpu.restore(cpus)
    _restore_memory(managers, blocks, loaded.memory.machine if loaded.memory else None)
    managers.devices.restore(held, loaded.devices.registered if loaded.devices else ())


def _restore_memory(
    managers: Managers, blocks: Mapping[ContainerKey, tuple[Block, ...]], state: MachineState | None
) -> None:
    """With the saved state of the nodes if it is of the same moment; else with one made of the blocks."""
    try:
        managers.memory.restore(blocks, state)
    except UserError:
        managers.memory.restore(blocks)


def _serialized(given: Given) -> bytes:
    return given.response.SerializeToString(deterministic=True)


def devices_of(ids: Mapping[int, tuple[str, ...]]) -> tuple[Device, ...]:
    """The devices of a state file; unhealthy until their plugin says otherwise."""
    nodes: dict[str, list[int]] = {}
    for node, names in sorted(ids.items()):
        for name in names:
            nodes.setdefault(name, []).extend(() if node == NO_NODE else (node,))
    return tuple(Device(name, tuple(found) or None, healthy=False) for name, found in sorted(nodes.items()))
