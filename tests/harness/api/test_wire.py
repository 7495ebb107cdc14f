"""The interfaces are the kubelet's: paths, names and numbers as published, not as our stubs have them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf.message import DecodeError, Message

from numaproof.harness.api import (
    deviceplugin_v1beta1_pb2,
    deviceplugin_v1beta1_pb2_grpc,
    numaproof_v1_pb2,
    numaproof_v1_pb2_grpc,
    pluginregistration_v1_pb2,
    pluginregistration_v1_pb2_grpc,
    podresources_v1_pb2,
    podresources_v1_pb2_grpc,
    preferredallocations_draft_pb2,
    preferredallocations_draft_pb2_grpc,
)
from tests.harness.api.wire import part, text, whole

# The service as it is published, its module here, and its methods there.
SERVICES: list[tuple[str, Any, tuple[str, ...]]] = [
    ("v1beta1.Registration", deviceplugin_v1beta1_pb2_grpc, ("Register",)),
    (
        "v1beta1.DevicePlugin",
        deviceplugin_v1beta1_pb2_grpc,
        ("GetDevicePluginOptions", "ListAndWatch", "GetPreferredAllocation", "Allocate", "PreStartContainer"),
    ),
    ("v1.PodResourcesLister", podresources_v1_pb2_grpc, ("List", "GetAllocatableResources", "Get")),
    ("pluginregistration.Registration", pluginregistration_v1_pb2_grpc, ("GetInfo", "NotifyRegistrationStatus")),
    # The diff of the Topology Manager proposal.
    ("v1beta1.DevicePlugin", preferredallocations_draft_pb2_grpc, ("GetPreferredAllocations",)),
    (
        "numaproof.v1.PreferredAllocations",
        preferredallocations_draft_pb2_grpc,
        ("GetPreferredAllocationsOptions", "GetPreferredAllocations"),
    ),
    (
        "numaproof.v1.Control",
        numaproof_v1_pb2_grpc,
        (
            *("Admit", "Remove", "Explain", "State", "Watch", "Machine"),
            *("NodeStatus", "Taint", "Bind", "SetQuota"),
        ),
    ),
]
every_service = pytest.mark.parametrize(
    ("service", "module", "methods"), SERVICES, ids=[f"{name}-{len(methods)}" for name, _, methods in SERVICES]
)


class Paths(grpc.GenericRpcHandler):
    """Notes the path of every call, and knows none."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> None:
        self.called.append(handler_call_details.method)


@pytest.fixture
def server() -> Iterator[grpc.Server]:
    """A server that has not been started yet."""
    with ThreadPoolExecutor(2) as executor:
        made = grpc.server(executor)
        yield made
        made.stop(None).wait()


def channel_to(server: grpc.Server) -> grpc.Channel:
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return grpc.insecure_channel(f"127.0.0.1:{port}")


@every_service
def test_our_clients_call_the_published_paths(
    service: str, module: Any, methods: tuple[str, ...], server: grpc.Server
) -> None:
    paths = Paths()
    server.add_generic_rpc_handlers((paths,))
    with channel_to(server) as channel:
        stub = getattr(module, f"{service.rpartition('.')[2]}Stub")(channel)
        assert sorted(vars(stub)) == sorted(methods)
        for method in methods:
            request = _request(module, service, method)
            with pytest.raises(grpc.RpcError):
                _drained(getattr(stub, method)(request, timeout=60))
    assert paths.called == [f"/{service}/{method}" for method in methods]


@every_service
def test_our_servers_answer_on_the_published_paths(
    service: str, module: Any, methods: tuple[str, ...], server: grpc.Server
) -> None:
    name = service.rpartition(".")[2]
    getattr(module, f"add_{name}Servicer_to_server")(getattr(module, f"{name}Servicer")(), server)
    with channel_to(server) as channel:
        for method in methods:
            # The generated servicer's own words; a path that is not served is answered with "Method not found!".
            call: Any = channel.unary_stream(f"/{service}/{method}")
            with pytest.raises(grpc.RpcError, match="Method not implemented!"):
                _drained(call(b"", timeout=60))


def _request(module: Any, service: str, method: str) -> Message:
    """An empty request of a method, of the type that its published interface has."""
    messages = {
        deviceplugin_v1beta1_pb2_grpc: deviceplugin_v1beta1_pb2,
        podresources_v1_pb2_grpc: podresources_v1_pb2,
        pluginregistration_v1_pb2_grpc: pluginregistration_v1_pb2,
        preferredallocations_draft_pb2_grpc: preferredallocations_draft_pb2,
        numaproof_v1_pb2_grpc: numaproof_v1_pb2,
    }[module]
    found = messages.DESCRIPTOR.services_by_name[service.rpartition(".")[2]].methods_by_name[method]
    return getattr(messages, found.input_type.name)()  # type: ignore[no-any-return]


def _drained(answer: Any) -> None:
    if isinstance(answer, grpc.Call) and hasattr(answer, "__iter__"):
        list(answer)


dp = deviceplugin_v1beta1_pb2
pr = podresources_v1_pb2
reg = pluginregistration_v1_pb2
draft = preferredallocations_draft_pb2

MESSAGES: list[tuple[Message, bytes]] = [
    (
        dp.DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True),
        whole(1, 1) + whole(2, 1),
    ),
    (
        dp.RegisterRequest(
            version="v1beta1",
            endpoint="g.sock",
            resource_name="example.com/gpu",
            options=dp.DevicePluginOptions(pre_start_required=True),
        ),
        text(1, "v1beta1") + text(2, "g.sock") + text(3, "example.com/gpu") + part(4, whole(1, 1)),
    ),
    (
        dp.ListAndWatchResponse(
            devices=[dp.Device(ID="a", health="Healthy", topology=dp.TopologyInfo(nodes=[dp.NUMANode(ID=1)]))]
        ),
        part(1, text(1, "a") + text(2, "Healthy") + part(3, part(1, whole(1, 1)))),
    ),
    (
        dp.PreferredAllocationRequest(
            container_requests=[
                dp.ContainerPreferredAllocationRequest(
                    available_deviceIDs=["a", "b"], must_include_deviceIDs=["b"], allocation_size=2
                )
            ]
        ),
        part(1, text(1, "a") + text(1, "b") + text(2, "b") + whole(3, 2)),
    ),
    (
        dp.PreferredAllocationResponse(container_responses=[dp.ContainerPreferredAllocationResponse(deviceIDs=["a"])]),
        part(1, text(1, "a")),
    ),
    (dp.AllocateRequest(container_requests=[dp.ContainerAllocateRequest(devices_ids=["a"])]), part(1, text(1, "a"))),
    (
        dp.AllocateResponse(
            container_responses=[
                dp.ContainerAllocateResponse(
                    envs={"K": "V"},
                    mounts=[dp.Mount(container_path="/c", host_path="/h", read_only=True)],
                    devices=[dp.DeviceSpec(container_path="/c", host_path="/h", permissions="rw")],
                    annotations={"k": "v"},
                    cdi_devices=[dp.CDIDevice(name="x/y=z")],
                )
            ]
        ),
        part(
            1,
            part(1, text(1, "K") + text(2, "V"))
            + part(2, text(1, "/c") + text(2, "/h") + whole(3, 1))
            + part(3, text(1, "/c") + text(2, "/h") + text(3, "rw"))
            + part(4, text(1, "k") + text(2, "v"))
            + part(5, text(1, "x/y=z")),
        ),
    ),
    (dp.PreStartContainerRequest(devices_ids=["a"]), text(1, "a")),
    (
        reg.PluginInfo(type="DevicePlugin", name="n", endpoint="/e", supported_versions=["v1beta1"]),
        text(1, "DevicePlugin") + text(2, "n") + text(3, "/e") + text(4, "v1beta1"),
    ),
    (reg.RegistrationStatus(plugin_registered=True, error="e"), whole(1, 1) + text(2, "e")),
    (
        pr.ListPodResourcesResponse(
            pod_resources=[
                pr.PodResources(
                    name="p",
                    namespace="ns",
                    containers=[
                        pr.ContainerResources(
                            name="c",
                            devices=[
                                pr.ContainerDevices(
                                    resource_name="r",
                                    device_ids=["a"],
                                    topology=pr.TopologyInfo(nodes=[pr.NUMANode(ID=1)]),
                                )
                            ],
                            cpu_ids=[4, 5],
                            memory=[pr.ContainerMemory(memory_type="memory", size=7, topology=pr.TopologyInfo())],
                            dynamic_resources=[
                                pr.DynamicResource(
                                    claim_name="cl",
                                    claim_namespace="ns",
                                    claim_resources=[
                                        pr.ClaimResource(
                                            cdi_devices=[pr.CDIDevice(name="x/y=z")],
                                            driver_name="d",
                                            pool_name="p",
                                            device_name="n",
                                            share_id="s",
                                        )
                                    ],
                                )
                            ],
                        )
                    ],
                )
            ]
        ),
        part(
            1,
            text(1, "p")
            + text(2, "ns")
            + part(
                3,
                text(1, "c")
                + part(2, text(1, "r") + text(2, "a") + part(3, part(1, whole(1, 1))))
                + part(3, bytes([4, 5]))
                + part(4, text(1, "memory") + whole(2, 7) + part(3, b""))
                + part(
                    5,
                    text(2, "cl")
                    + text(3, "ns")
                    + part(4, part(1, text(1, "x/y=z")) + text(2, "d") + text(3, "p") + text(4, "n") + text(5, "s")),
                ),
            ),
        ),
    ),
    (
        pr.AllocatableResourcesResponse(
            devices=[pr.ContainerDevices(resource_name="r")],
            cpu_ids=[1],
            memory=[pr.ContainerMemory(memory_type="memory")],
        ),
        part(1, text(1, "r")) + part(2, bytes([1])) + part(3, text(1, "memory")),
    ),
    (pr.GetPodResourcesRequest(pod_name="p", pod_namespace="ns"), text(1, "p") + text(2, "ns")),
    (pr.GetPodResourcesResponse(pod_resources=pr.PodResources(name="p")), part(1, text(1, "p"))),
    (
        draft.PreferredAllocationsRequest(available_deviceIDs=["a", "b"], must_include_deviceIDs=["b"], size=2),
        text(1, "a") + text(1, "b") + text(2, "b") + whole(3, 2),
    ),
    # As the proposal's diff has it, and with the extension for costs.
    (
        draft.PreferredAllocationsResponse(
            preferred_allocations=[
                dp.ContainerAllocateRequest(devices_ids=["a", "b"]),
                dp.ContainerAllocateRequest(devices_ids=["c"]),
            ]
        ),
        part(1, text(1, "a") + text(1, "b")) + part(1, text(1, "c")),
    ),
    (
        draft.PreferredAllocationsResponse(
            preferred_allocations=[dp.ContainerAllocateRequest(devices_ids=["a"])],
            preferred_allocations_for_domain=[
                draft.PreferredAllocationsForDomain(
                    preferred_allocations=dp.ContainerAllocateRequest(devices_ids=["c"]), resource_domain="cpu", cost=3
                )
            ],
        ),
        part(1, text(1, "a")) + part(2, part(1, text(1, "c")) + text(2, "cpu") + whole(3, 3)),
    ),
    (
        draft.PreferredAllocationsResponse(
            preferred_allocations_for_domain=[
                draft.PreferredAllocationsForDomain(
                    preferred_allocations=dp.ContainerAllocateRequest(devices_ids=["node1"]),
                    resource_domain="memory",
                    cost=3,
                    from_deviceIDs=["a", "b"],
                )
            ],
        ),
        part(2, part(1, text(1, "node1")) + text(2, "memory") + whole(3, 3) + text(4, "a") + text(4, "b")),
    ),
]


@pytest.mark.parametrize(("message", "wire"), MESSAGES, ids=[type(message).__name__ for message, _ in MESSAGES])
def test_messages_on_the_wire(message: Message, wire: bytes) -> None:
    assert message.SerializeToString(deterministic=True) == wire
    assert type(message).FromString(wire) == message


def test_costs_under_the_number_of_their_draft_are_read_as_sets() -> None:
    """Both drafts gave their list the number 1; a reader of sets takes the message within an entry for a device's id.

    `0a 01 63` is the message {1: "c"}, and also the text of three characters. Domain and cost are lost on it.
    """
    entry = part(1, text(1, "c")) + text(2, "cpu") + whole(3, 3)
    read = draft.PreferredAllocationsResponse.FromString(part(1, entry))
    assert [list(chosen.devices_ids) for chosen in read.preferred_allocations] == [["\n\x01c"]]
    assert not read.preferred_allocations_for_domain


def test_sets_under_the_number_of_costs_are_no_costs() -> None:
    """The other way round: a set {1: "gpu"} read as an entry is broken, for "gpu" is not a message."""
    with pytest.raises(DecodeError):
        draft.PreferredAllocationsResponse.FromString(part(2, text(1, "gpu")))
