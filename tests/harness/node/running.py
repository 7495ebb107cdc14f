"""Nodes that run, with plugins, and clients on their sockets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc

from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as api_grpc
from numaproof.harness.api import podresources_v1_pb2_grpc as resources_grpc
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import MockDevice, MockPlugin
from tests.places import short_directory
from tests.waiting import wait_until

TWO_NODES = "pack:2 [numa(memory=64GiB)] core:4 pu:2"  # CPUs 0-7 on node 0, 8-15 on node 1
GPU, NIC = "example.com/gpu", "example.com/nic"

# CPU 0 and 1 GiB of node 0 are the system's.
STATIC: dict[str, Any] = {
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "924Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}


def pod(name: str, *containers: Mapping[str, Any], init: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A Guaranteed pod's manifest; each container is given by its limits."""
    spec: dict[str, Any] = {"containers": [_container(f"c{i}", limits) for i, limits in enumerate(containers)]}
    if init:
        spec["initContainers"] = [_container(f"i{i}", limits) for i, limits in enumerate(init)]
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def _container(name: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    amounts = {key: str(amount) for key, amount in limits.items() if key != "sidecar"}
    sidecar = {"restartPolicy": "Always"} if limits.get("sidecar") else {}
    return {"name": name, "resources": {"limits": amounts}, **sidecar}


def devices(prefix: str, count: int, nodes: int = 2) -> list[MockDevice]:
    """So many devices, spread over the nodes in turn: 0 on node 0, 1 on node 1, 2 on node 0."""
    return [MockDevice(f"{prefix}{i:02}", (i % nodes,)) for i in range(count)]


@contextmanager
def running_node(kubelet: Mapping[str, Any], machine: str | Machine = TWO_NODES, **options: Any) -> Iterator[Node]:
    """A node in a directory of its own."""
    seen = parse_machine(machine) if isinstance(machine, str) else machine
    options.setdefault("log", lambda _line: None)
    with short_directory() as root, Node(node_config(kubelet), seen, root, **options) as node:
        yield node


@contextmanager
def listed_plugins(node: Node, *plugins: MockPlugin) -> Iterator[None]:
    """The plugins serve, and the node knows their devices."""
    with ExitStack() as stack:
        for plugin in plugins:
            stack.enter_context(plugin)
        wait_for_devices(node, *plugins)
        yield


def wait_for_devices(node: Node, *plugins: MockPlugin) -> None:
    """Wait until the node counts exactly the plugins' healthy devices as healthy."""
    expected = {plugin.resource: frozenset(one.id for one in plugin.devices if one.healthy) for plugin in plugins}

    def known() -> bool:
        seen = node.healthy_devices()
        return all(seen.get(resource) == ids for resource, ids in expected.items())

    wait_until(known, f"the devices of {', '.join(expected)}")


OPTIONS = (("grpc.use_local_subchannel_pool", 1),)


class Client:
    """The control service of a node, by its root directory."""

    def __init__(self, root: Path) -> None:
        self.channel = grpc.insecure_channel(f"unix:{root}/control.sock", options=OPTIONS)
        self.stub = api_grpc.ControlStub(self.channel)

    def admit(self, manifest: Mapping[str, Any] | str, timeout: float = 120) -> api.AdmitResponse:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        return self.stub.Admit(api.AdmitRequest(manifest=text), timeout=timeout)

    def remove(self, reference: str, timeout: float = 120) -> str:
        return self.stub.Remove(api.RemoveRequest(pod=reference), timeout=timeout).uid

    def state(self) -> api.StateResponse:
        return self.stub.State(api.StateRequest(), timeout=120)

    def explain(self, manifest: Mapping[str, Any] | str) -> api.ExplainResponse:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        return self.stub.Explain(api.ExplainRequest(manifest=text), timeout=120)


@contextmanager
def client(root: Path) -> Iterator[Client]:
    """A client of the control service."""
    one = Client(root)
    try:
        yield one
    finally:
        one.channel.close()


@contextmanager
def pod_resources(node: Node) -> Iterator[resources_grpc.PodResourcesListerStub]:
    """A client of PodResources."""
    with grpc.insecure_channel(f"unix:{node.pod_resources_socket}", options=OPTIONS) as channel:
        yield resources_grpc.PodResourcesListerStub(channel)


Assignment = tuple[
    tuple[int, ...], tuple[tuple[str, int, tuple[int, ...]], ...], tuple[tuple[str, tuple[str, ...]], ...]
]


def assignment(given: api.Pod) -> Assignment:
    """All that the single container of a pod has, in a form to be compared."""
    (container,) = given.containers
    return (
        tuple(container.cpus),
        tuple((block.resource, block.size, tuple(block.nodes)) for block in container.memory),
        tuple((one.resource, tuple(device.id for device in one.devices)) for one in container.devices),
    )
