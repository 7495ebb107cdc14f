"""The smallest plugin that can be told what to do: a real gRPC server, for the tests of the hub."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import pluginregistration_v1_pb2 as registration
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as registration_grpc
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.harness.node.plugins.sockets import target


def device(device_id: str, *nodes: int, health: str = "Healthy") -> api.Device:
    """A device of these NUMA nodes; without a topology if there are none."""
    topology = api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in nodes]) if nodes else None
    return api.Device(ID=device_id, health=health, topology=topology)


class SmallPlugin(
    api_grpc.DevicePluginServicer, draft_grpc.PreferredAllocationsServicer, registration_grpc.RegistrationServicer
):
    """Serves at `path` as long as the context lasts; what it answers is held in its attributes."""

    def __init__(self, path: Path, *devices: api.Device, plural: bool = False) -> None:
        self.path = path
        self.options = api.DevicePluginOptions()
        self.info = registration.PluginInfo(type="DevicePlugin", supported_versions=["v1beta1"])
        self.allocate: Callable[[api.AllocateRequest], api.AllocateResponse] = lambda request: api.AllocateResponse(
            container_responses=[
                api.ContainerAllocateResponse(envs={"DEVICES": ",".join(container.devices_ids)})
                for container in request.container_requests
            ]
        )
        # Set: GetDevicePluginOptions is answered.
        self.talkative = threading.Event()
        self.talkative.set()
        # Whether ListAndWatch ends before it has sent anything.
        self.sends_nothing = False
        self.preferred = api.PreferredAllocationResponse()
        self.preferred_sets = draft.PreferredAllocationsResponse()
        # Requests in the order of their arrival; streams that have begun and that have ended.
        self.requests: list[object] = []
        self.streams_begun = 0
        self.streams_ended = 0
        self._changed = threading.Condition()
        self._devices: Sequence[api.Device] = devices
        self._version = 0
        self._endings = 0
        self._executor = ThreadPoolExecutor(16)
        self._server = grpc.server(self._executor)
        api_grpc.add_DevicePluginServicer_to_server(self, self._server)
        registration_grpc.add_RegistrationServicer_to_server(self, self._server)
        if plural:
            draft_grpc.add_PreferredAllocationsServicer_to_server(self, self._server)

    def __enter__(self) -> Self:
        self._server.add_insecure_port(target(self.path))
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()
        self._executor.shutdown()

    def list(self, *devices: api.Device) -> None:
        """Send this list on all streams."""
        with self._changed:
            self._devices = devices
            self._version += 1
            self._changed.notify_all()

    def end_streams(self) -> None:
        """End all streams that are open."""
        with self._changed:
            self._endings += 1
            self._changed.notify_all()

    def register(self, resource: str, endpoint: str | None = None, version: str = "v1beta1") -> None:
        """Announce itself at the kubelet.sock beside it."""
        register(self.path.parent, resource, self.path.name if endpoint is None else endpoint, version)

    def GetDevicePluginOptions(  # noqa: N802
        self, request: api.Empty, context: grpc.ServicerContext
    ) -> api.DevicePluginOptions:
        self.requests.append(request)
        self.talkative.wait()
        return self.options

    def ListAndWatch(  # noqa: N802
        self, request: api.Empty, context: grpc.ServicerContext
    ) -> Iterator[api.ListAndWatchResponse]:
        def wake() -> None:
            with self._changed:
                self._changed.notify_all()

        with self._changed:
            endings, sent = self._endings, -1
            self.streams_begun += 1
        active = context.add_callback(wake)
        try:
            while active and not self.sends_nothing:
                with self._changed:
                    while self._version == sent and self._endings == endings and context.is_active():
                        self._changed.wait()
                    if self._endings != endings or not context.is_active():
                        return
                    sent, devices = self._version, self._devices
                yield api.ListAndWatchResponse(devices=devices)
        finally:
            with self._changed:
                self.streams_ended += 1

    def GetPreferredAllocation(  # noqa: N802
        self, request: api.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> api.PreferredAllocationResponse:
        self.requests.append(request)
        return self.preferred

    def Allocate(  # noqa: N802
        self, request: api.AllocateRequest, context: grpc.ServicerContext
    ) -> api.AllocateResponse:
        self.requests.append(request)
        try:
            return self.allocate(request)
        except LookupError as error:
            context.abort(grpc.StatusCode.NOT_FOUND, str(error.args[0]))
            raise

    def PreStartContainer(  # noqa: N802
        self, request: api.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> api.PreStartContainerResponse:
        self.requests.append(request)
        return api.PreStartContainerResponse()

    def GetPreferredAllocationsOptions(  # noqa: N802
        self, request: draft.PreferredAllocationsOptionsRequest, context: grpc.ServicerContext
    ) -> draft.PreferredAllocationsOptions:
        return draft.PreferredAllocationsOptions(get_preferred_allocations_available=True)

    def GetPreferredAllocations(  # noqa: N802
        self, request: draft.PreferredAllocationsRequest, context: grpc.ServicerContext
    ) -> draft.PreferredAllocationsResponse:
        self.requests.append(request)
        return self.preferred_sets

    def GetInfo(  # noqa: N802
        self, request: registration.InfoRequest, context: grpc.ServicerContext
    ) -> registration.PluginInfo:
        self.requests.append(request)
        return self.info

    def NotifyRegistrationStatus(  # noqa: N802
        self, request: registration.RegistrationStatus, context: grpc.ServicerContext
    ) -> registration.RegistrationStatusResponse:
        self.requests.append(request)
        return registration.RegistrationStatusResponse()


def register(directory: Path, resource: str, endpoint: str, version: str = "v1beta1") -> None:
    """Call Register at the directory's kubelet.sock, whoever serves the endpoint."""
    request = api.RegisterRequest(version=version, endpoint=endpoint, resource_name=resource)
    options = (("grpc.use_local_subchannel_pool", 1),)
    with grpc.insecure_channel(target(directory / "kubelet.sock"), options=options) as channel:
        api_grpc.RegistrationStub(channel).Register(request, timeout=60, wait_for_ready=True)
