"""A device plugin in ten lines of work: two devices; it exits when the kubelet is new, and is restarted by its pod."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from numaproof import deviceplugin_pb2 as api
from numaproof import deviceplugin_pb2_grpc as stubs

DEVICES = ("left", "right")
SOCKET = Path("ten.sock")


class Plugin(stubs.DevicePluginServicer):
    def GetDevicePluginOptions(self, request: api.Empty, context: grpc.ServicerContext) -> api.DevicePluginOptions:  # noqa: N802
        return api.DevicePluginOptions()

    def ListAndWatch(self, request: api.Empty, context: grpc.ServicerContext) -> Iterator[api.ListAndWatchResponse]:  # noqa: N802
        yield api.ListAndWatchResponse(devices=[api.Device(ID=device, health="Healthy") for device in DEVICES])
        while context.is_active():
            time.sleep(0.1)

    def Allocate(self, request: api.AllocateRequest, context: grpc.ServicerContext) -> api.AllocateResponse:  # noqa: N802
        wanted = [sorted(container.devices_ids) for container in request.container_requests]
        if not all(ids and set(ids) <= set(DEVICES) for ids in wanted):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such device")
        answers = [api.ContainerAllocateResponse(envs={"TEN_LINES": ",".join(ids)}) for ids in wanted]
        return api.AllocateResponse(container_responses=answers)


def stop(*_: object) -> None:
    SOCKET.unlink(missing_ok=True)
    os._exit(0)


os.chdir("/var/lib/kubelet/device-plugins")
server = grpc.server(ThreadPoolExecutor())
stubs.add_DevicePluginServicer_to_server(Plugin(), server)  # type: ignore[abstract] # not all calls are offered
server.add_insecure_port(f"unix:{SOCKET}")
server.start()
signal.signal(signal.SIGTERM, stop)
with grpc.insecure_channel("unix:kubelet.sock") as kubelet:
    request = api.RegisterRequest(version="v1beta1", endpoint=SOCKET.name, resource_name="example.com/ten-lines")
    stubs.RegistrationStub(kubelet).Register(request)
while SOCKET.exists():
    time.sleep(0.1)
sys.exit("a new kubelet has wiped my socket")
