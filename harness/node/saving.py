"""What the managers and records hold, as the state files say it: taken for them, and put back from them."""

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node.records import Phase, PodRecord, PodRecords
from numaproof.harness.node.state.cpus import CpuState
from numaproof.harness.node.state.devices import DeviceEntry, DeviceState, ids_by_node
from numaproof.harness.node.state.memory import MemoryState
from numaproof.harness.node.state.pods import SavedPod
from numaproof.harness.node.store import LoadedState, NodeState


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
                    ids_by_node(record.assignments[container].devices[resource]),
                    _serialized(response),
                )
                for record in records
                for (container, resource), response in record.responses.items()
            ),
            {resource: tuple(ids) for resource, ids in managers.devices.healthy().items()},
        ),
    )


def saved_pod(record: PodRecord) -> SavedPod:
    """An admitted pod, with all that it was given."""
    responses = {key: _serialized(response) for key, response in record.responses.items()}
    return SavedPod(record.pod, record.manifest, record.assignments, responses)


def restore(managers: Managers, records: PodRecords, loaded: LoadedState) -> None:
    """Give every admitted pod what it had.

    The pods' own files say who has what. The kubelet's files, where there are any, have to fit the machine: that shows
    whether it has changed since, also where no pod's file does.
    """
    if loaded.cpu is not None and loaded.cpu.policy == "static":
        managers.cpu.restore(loaded.cpu.assignments, loaded.cpu.shared)
    if loaded.memory is not None:
        managers.memory.restore(loaded.memory.blocks, loaded.memory.machine)
    for saved in loaded.pods:
        phase = Phase.PENDING if saved.waits else Phase.ADMITTED
        record = PodRecord(saved.pod, saved.manifest, phase, saved.assignments)
        record.waiting_as = saved if saved.waits else None
        responses = {
            key: plugin_api.ContainerAllocateResponse.FromString(response) for key, response in saved.responses.items()
        }
        record.respond(responses, lambda _conflict: None)  # it was logged when the pod was admitted
        records.add(record)
    managers.restore(
        ((saved.pod, saved.assignments) for saved in loaded.pods if not saved.waits),
        loaded.memory.machine if loaded.memory else None,
        loaded.devices.registered if loaded.devices else (),
    )


def _serialized(response: plugin_api.ContainerAllocateResponse) -> bytes:
    return response.SerializeToString(deterministic=True)
