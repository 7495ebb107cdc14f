"""What a pod was given, as a value, and as the messages that tell it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ContainerView:
    """What one container was given."""

    name: str
    init: bool
    restartable: bool
    affinity: TopologyHint
    cpus: frozenset[int]  # exclusive ones; empty: the shared pool
    memory: tuple[Block, ...]
    devices: Mapping[str, tuple[Device, ...]]  # by resource
    response: plugin_api.ContainerAllocateResponse  # what all plugins together want it to be given
    start_error: str = ""  # why it could not be started; the pod stays admitted


@dataclass(frozen=True, slots=True)
class PodView:
    """What a pod was given; without containers if nothing."""

    pod: Pod
    containers: tuple[ContainerView, ...] = ()


def verdict_message(verdict: Verdict) -> api.Verdict:
    return api.Verdict(admitted=verdict.admitted, reason=verdict.reason, message=verdict.message)


def hint_message(hint: TopologyHint) -> api.Hint:
    if hint.affinity is None:
        return api.Hint(preferred=hint.preferred)
    return api.Hint(affinity=api.NodeSet(nodes=ids_of(hint.affinity)), preferred=hint.preferred)


def device_message(device: Device) -> api.Device:
    topology = None if device.numa is None else api.NodeSet(nodes=device.numa)
    return api.Device(id=device.id, healthy=device.healthy, topology=topology)


def pod_message(view: PodView) -> api.Pod:
    """The pod for the control service."""
    return api.Pod(
        uid=view.pod.uid,
        namespace=view.pod.namespace,
        name=view.pod.name,
        qos_class=qos_class(view.pod),
        containers=[_container_message(container) for container in view.containers],
    )


def _container_message(container: ContainerView) -> api.Container:
    return api.Container(
        name=container.name,
        init=container.init,
        restartable=container.restartable,
        affinity=hint_message(container.affinity),
        cpus=sorted(container.cpus),
        memory=[
            api.MemoryBlock(resource=block.resource, size=block.size, nodes=block.nodes) for block in container.memory
        ],
        devices=[
            api.ResourceDevices(resource=resource, devices=map(device_message, devices))
            for resource, devices in sorted(container.devices.items())
        ],
        response=container.response,
    )


def pod_resources_message(view: PodView) -> resources_api.PodResources:
    """The pod for PodResources: init containers that have ended are hidden, sidecars shown."""
    return resources_api.PodResources(
        name=view.pod.name,
        namespace=view.pod.namespace,
        containers=[
            resources_api.ContainerResources(
                name=container.name,
                devices=[
                    message
                    for resource, devices in sorted(container.devices.items())
                    for message in container_devices(resource, devices)
                ],
                cpu_ids=sorted(container.cpus),
                memory=container_memory(container.memory),
            )
            for container in view.containers
            if not container.init or container.restartable
        ],
    )


def container_devices(resource: str, devices: Iterable[Device]) -> list[resources_api.ContainerDevices]:
    """Each device by itself, once for each of its NUMA nodes; one with an empty topology not at all."""
    messages = []
    for device in devices:
        plain = resources_api.ContainerDevices(resource_name=resource, device_ids=[device.id])
        if device.numa is None:
            messages.append(plain)
            continue
        for node in device.numa:
            message = resources_api.ContainerDevices()
            message.CopyFrom(plain)
            message.topology.nodes.add(ID=node)
            messages.append(message)
    return messages


def container_memory(blocks: Iterable[Block]) -> list[resources_api.ContainerMemory]:
    """Memory with the nodes that hold it together."""
    return [
        resources_api.ContainerMemory(
            memory_type=block.resource,
            size=block.size,
            topology=resources_api.TopologyInfo(nodes=[resources_api.NUMANode(ID=node) for node in block.nodes]),
        )
        for block in blocks
    ]
