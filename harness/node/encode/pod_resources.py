"""Pods, devices and memory as messages of PodResources v1."""

from collections.abc import Iterable

from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.node.snapshot import NodeSnapshot, PodView
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block


def pod_resources_message(view: PodView) -> api.PodResources:
    """A pod: containers that have ended are hidden, sidecars shown."""
    return api.PodResources(
        name=view.pod.name,
        namespace=view.pod.namespace,
        containers=[
            api.ContainerResources(
                name=container.name,
                devices=[
                    message
                    for resource, devices in sorted(container.given.devices.items())
                    for message in _devices(resource, devices)
                ],
                cpu_ids=sorted(container.given.cpus),
                memory=_memory(container.given.memory),
            )
            for container in view.containers
            if not container.ends
        ],
    )


def allocatable_message(snapshot: NodeSnapshot) -> api.AllocatableResourcesResponse:
    """All that could be given to pods: healthy devices, CPUs and memory that are not reserved."""
    return api.AllocatableResourcesResponse(
        devices=[
            message
            for resource, healthy in snapshot.healthy.items()
            for message in _devices(resource, (one for one in snapshot.devices[resource] if one.id in healthy))
        ],
        cpu_ids=sorted(snapshot.allocatable_cpus),
        memory=_memory(snapshot.allocatable_memory),
    )


def _devices(resource: str, devices: Iterable[Device]) -> list[api.ContainerDevices]:
    """Each device by itself, once for each of its NUMA nodes; one with an empty topology not at all."""
    messages = []
    for device in devices:
        plain = api.ContainerDevices(resource_name=resource, device_ids=[device.id])
        if device.numa is None:
            messages.append(plain)
            continue
        for node in device.numa:
            message = api.ContainerDevices()
            message.CopyFrom(plain)
            message.topology.nodes.add(ID=node)
            messages.append(message)
    return messages


def _memory(blocks: Iterable[Block]) -> list[api.ContainerMemory]:
    """Memory with the nodes that hold it together."""
    return [
        api.ContainerMemory(
            memory_type=block.resource,
            size=block.size,
            topology=api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in block.nodes]),
        )
        for block in blocks
    ]
