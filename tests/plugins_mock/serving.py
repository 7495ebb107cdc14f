"""Fake plugins that serve, and the calls that tests make to them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin, parse_fault
from numaproof.plugins_mock.choose import preference
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial

DEVICES = (MockDevice("a", (0,)), MockDevice("b", (1,)), MockDevice("c"))
RESOURCE = "example.com/gpu"
SECONDS = 60


def lowest(devices: tuple[MockDevice, ...] = DEVICES) -> Callable[..., list[list[str]]]:
    chosen = preference("lowest", {}, devices)
    assert chosen is not None
    return chosen


@contextmanager
def served(*faults: str, **more: object) -> Iterator[tuple[MockPlugin, api_grpc.DevicePluginStub]]:
    """A plugin with faults, and a stub that talks to it; no kubelet is there."""
    plan: dict[str, list[Fault]] = {}
    for text in faults:
        call, fault = parse_fault(text)
        plan.setdefault(call, []).append(fault)
    with (
        short_directory() as directory,
        MockPlugin(RESOURCE, DEVICES, directory, faults=plan, preferred=lowest(), **more) as plugin,  # type: ignore[arg-type]
        dial(plugin.socket) as channel,
    ):
        yield plugin, api_grpc.DevicePluginStub(channel)


@contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A plugin in a process of its own; killed if it does not end by itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "numaproof.plugins_mock", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def allocate(stub: api_grpc.DevicePluginStub, *batches: list[str]) -> api.AllocateResponse:
    requests = [api.ContainerAllocateRequest(devices_ids=ids) for ids in batches]
    return stub.Allocate(api.AllocateRequest(container_requests=requests), timeout=SECONDS)


def prefer(stub: api_grpc.DevicePluginStub, available: list[str], must: list[str], size: int) -> list[str]:
    asked = api.ContainerPreferredAllocationRequest(
        available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size
    )
    request = api.PreferredAllocationRequest(container_requests=[asked])
    [answer] = stub.GetPreferredAllocation(request, timeout=SECONDS).container_responses
    return list(answer.deviceIDs)


def first_list(stub: api_grpc.DevicePluginStub) -> list[api.Device]:
    stream = stub.ListAndWatch(api.Empty(), timeout=SECONDS)
    devices = list(next(iter(stream)).devices)
    stream.cancel()
    return devices
