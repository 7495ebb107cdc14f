"""What a node tells of its pods over PodResources v1, the interface that monitoring reads; of any kubelet."""

from collections.abc import Iterable

import grpc

from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2_grpc as api_grpc
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block


def listed_pods(channel: grpc.Channel, timeout: float) -> dict[str, dict[str, Assignment]]:
    """List: pod name -> container name -> what it was given."""
    answer = api_grpc.PodResourcesListerStub(channel).List(api.ListPodResourcesRequest(), timeout=timeout)
    return {pod.name: _containers(pod) for pod in answer.pod_resources}


def one_pod(channel: grpc.Channel, name: str, timeout: float) -> dict[str, Assignment] | None:
    """Get: container name -> what it was given; None: the node knows no such pod."""
    request = api.GetPodResourcesRequest(pod_name=name, pod_namespace="default")
    try:
        answer = api_grpc.PodResourcesListerStub(channel).Get(request, timeout=timeout)
    except grpc.RpcError as error:
        # The kubelet answers without a code.
        if isinstance(error, grpc.Call) and error.code() == grpc.StatusCode.UNKNOWN and "not found" in error.details():
            return None
        raise
    return _containers(answer.pod_resources)


def allocatable(channel: grpc.Channel, timeout: float) -> Assignment:
    """GetAllocatableResources: all that could be given to pods, in use or not."""
    stub = api_grpc.PodResourcesListerStub(channel)
    answer = stub.GetAllocatableResources(api.AllocatableResourcesRequest(), timeout=timeout)
    return _assignment(answer.cpu_ids, answer.memory, answer.devices)


def _containers(pod: api.PodResources) -> dict[str, Assignment]:
    return {
        container.name: _assignment(container.cpu_ids, container.memory, container.devices)
        for container in pod.containers
    }


def _assignment(
    cpus: Iterable[int], memory: Iterable[api.ContainerMemory], devices: Iterable[api.ContainerDevices]
) -> Assignment:
    blocks = (
        Block(tuple(sorted(node.ID for node in block.topology.nodes)), block.memory_type, block.size)
        for block in memory
    )
    return Assignment(cpus=frozenset(cpus), memory=tuple(blocks), devices=_devices(devices))


def _devices(messages: Iterable[api.ContainerDevices]) -> dict[str, tuple[Device, ...]]:
    """A device is listed once for each of its NUMA nodes."""
    found: dict[str, dict[str, tuple[int, ...] | None]] = {}
    for message in messages:
        here = tuple(node.ID for node in message.topology.nodes) if message.HasField("topology") else None
        for device in message.device_ids:
            before = found.setdefault(message.resource_name, {}).get(device)
            found[message.resource_name][device] = here if before is None else tuple(sorted({*before, *(here or ())}))
    return {
        resource: tuple(Device(device, numa) for device, numa in sorted(devices.items()))
        for resource, devices in found.items()
    }
