"""What a running kubelet tells over its socket, and everything that may be there instead of one."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import grpc
import pytest

from numaproof.errors import UserError
from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2_grpc as api_grpc
from numaproof.harness.intake.live_state import with_live
from numaproof.harness.intake.pod_resources import read_pod_resources
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block
from tests.places import short_directory

GPU, NIC = "example.com/gpu", "example.com/nic"
GIB = 1 << 30
PATIENCE = 60.0  # a machine under load is slow and not wrong


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


def nodes(*ids: int) -> api.TopologyInfo:
    return api.TopologyInfo(nodes=[api.NUMANode(ID=one) for one in ids])


def device(resource: str, name: str, *ids: int) -> list[api.ContainerDevices]:
    """As the kubelet lists it: once for each of its NUMA nodes."""
    if not ids:
        return [api.ContainerDevices(resource_name=resource, device_ids=[name])]
    return [api.ContainerDevices(resource_name=resource, device_ids=[name], topology=nodes(one)) for one in ids]


def pod(name: str, **containers: dict[str, Any]) -> api.PodResources:
    made = [api.ContainerResources(name=one, **told) for one, told in containers.items()]
    return api.PodResources(name=name, namespace="default", containers=made)


PODS = [
    pod(
        "one",
        app={
            "cpu_ids": [2, 1],
            "memory": [api.ContainerMemory(memory_type="memory", size=3 * GIB, topology=nodes(1, 0))],
            "devices": [*device(GPU, "wide", 0, 1), *device(GPU, "near", 1), *device(NIC, "nowhere")],
        },
        log={},
    ),
    pod("two", app={}),
]
THERE = api.AllocatableResourcesResponse(
    cpu_ids=range(1, 8),
    memory=[
        api.ContainerMemory(memory_type="memory", size=6 * GIB, topology=nodes(0)),
        api.ContainerMemory(memory_type="memory", size=8 * GIB, topology=nodes(1)),
    ],
    devices=[*device(GPU, "wide", 0, 1), *device(GPU, "near", 1), *device(GPU, "free", 0), *device(NIC, "nowhere")],
)


class Kubelet(api_grpc.PodResourcesListerServicer):
    """Serves what it is given; an abort where it is a status."""

    def __init__(self, pods: Any, there: Any) -> None:
        self.pods, self.there = pods, there

    def List(self, request: Any, context: Any) -> Any:  # noqa: N802 (gRPC's name)
        return api.ListPodResourcesResponse(pod_resources=self._told(self.pods, context))

    def GetAllocatableResources(self, request: Any, context: Any) -> Any:  # noqa: N802 (likewise)
        return self._told(self.there, context)

    def Get(self, request: Any, context: Any) -> NoReturn:  # noqa: N802 (likewise)
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "")
        raise AssertionError

    def _told(self, told: Any, context: Any) -> Any:
        if isinstance(told, grpc.StatusCode):
            context.abort(told, "not\ntoday")
        return told


@contextmanager
def serving(place: Path, kubelet: Kubelet | None) -> Iterator[str]:
    """A server on a socket, with PodResources if there is a kubelet."""
    path = place / "kubelet.sock"
    server = grpc.server(ThreadPoolExecutor(2))
    if kubelet is not None:
        api_grpc.add_PodResourcesListerServicer_to_server(kubelet, server)
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield str(path)
    finally:
        server.stop(None).wait()


def told(place: Path, pods: Any = PODS, there: Any = THERE) -> KubeletState:
    with serving(place, Kubelet(pods, there)) as path:
        return read_pod_resources(path, PATIENCE)


def refusal(path: str | Path, seconds: float = PATIENCE) -> str:
    with pytest.raises(UserError) as caught:
        read_pod_resources(str(path), seconds)
    text = str(caught.value)
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_who_holds_what(place: Path) -> None:
    state = told(place)
    key = "default/one", "app"
    assert state.cpus == {key: {1, 2}}
    assert state.memory == {key: (Block((0, 1), "memory", 3 * GIB),)}
    gpus = (Device("near", (1,)), Device("wide", (0, 1)))
    assert state.devices == {key: {GPU: gpus, NIC: (Device("nowhere", None),)}}
    assert state.pod_names == {"default/one": "default/one", "default/two": "default/two"}
    assert state.registered == {GPU: ("free", "near", "wide"), NIC: ("nowhere",)}
    assert state.listed[GPU] == (Device("free", (0,)), Device("near", (1,)), Device("wide", (0, 1)))
    assert (state.cpu_policy, state.memory_policy, state.live) == ("static", "Static", True)
    assert state.allocatable_cpus == frozenset(range(1, 8))
    assert state.allocatable_memory == (Block((0,), "memory", 6 * GIB), Block((1,), "memory", 8 * GIB))
    assert state.notes == ()


def test_a_kubelet_that_gives_nothing_alone(place: Path) -> None:
    # With the policies none there is nothing to give, and it lists neither CPUs nor memory.
    state = told(place, [pod("one", app={})], api.AllocatableResourcesResponse())
    assert (state.cpus, state.memory, state.devices) == ({}, {}, {})
    assert (state.cpu_policy, state.memory_policy, state.allocatable_cpus) == ("none", "None", None)


def test_cpus_that_old_kubelets_list_for_everyone_are_shared(place: Path) -> None:
    # Before 1.22 (kubernetes/kubernetes#97415) a container on shared CPUs has all of them in its list.
    shared = {"cpu_ids": [0, 4, 5, 6, 7]}
    state = told(place, [pod("one", app={"cpu_ids": [1, 2]}), pod("two", a=shared, b=shared), pod("three", a=shared)])
    assert state.cpus == {("default/one", "app"): {1, 2}}
    (note,) = state.notes
    assert note.endswith("CPUs 0,4-7 are listed for 2 pods: they count as shared (a kubelet before 1.22)")


def test_what_is_there_is_not_told_by_old_kubelets(place: Path) -> None:
    for code in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNKNOWN):
        state = told(place, PODS, code)
        assert state.cpus == {("default/one", "app"): {1, 2}}
        assert (state.cpu_policy, state.allocatable_cpus, state.registered) == ("static", None, {})
        (note,) = state.notes
        assert "\n" not in note
        assert note.endswith("; what is free is not told")


def test_devices_in_use_that_are_not_there_are_noted(place: Path) -> None:
    state = told(place, PODS, api.AllocatableResourcesResponse(cpu_ids=range(8), devices=device(GPU, "wide", 0, 1)))
    (note,) = state.notes
    assert note.endswith("2 devices in use are not among those that can be given: sick, or gone")


def test_a_cpu_of_two_pods_is_a_contradiction(place: Path) -> None:
    state = told(place, [pod("one", app={"cpu_ids": [1, 2]}), pod("two", app={"cpu_ids": [2, 3]})])
    assert state.notes == ("CPUs 2: are held by default/one/app and default/two/app; one entry is wrong",)


def test_a_server_that_is_no_kubelet(place: Path) -> None:
    with serving(place, None) as path:
        assert refusal(path).startswith("serves no PodResources v1 (a kubelet before 1.20, or the socket of something")


def test_a_kubelet_that_refuses(place: Path) -> None:
    with serving(place, Kubelet(grpc.StatusCode.RESOURCE_EXHAUSTED, THERE)) as path:
        assert refusal(path) == "does not answer as a kubelet does (RESOURCE_EXHAUSTED: not today)"


def test_nothing_there_and_no_socket(place: Path) -> None:
    assert refusal(place / "no.sock") == "there is no such socket; a kubelet has it in pod-resources/kubelet.sock"
    (place / "file").touch()
    assert refusal(place / "file") == "is not a socket; give the kubelet's pod-resources/kubelet.sock"
    assert refusal(place) == "is not a socket; give the kubelet's pod-resources/kubelet.sock"
    assert refusal("a\0b").startswith("cannot be opened")


def test_a_path_that_is_too_long(place: Path) -> None:
    deep = place / ("d" * 100)
    deep.mkdir()
    before = Path.cwd()
    os.chdir(deep)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("kubelet.sock")
    finally:
        os.chdir(before)
    assert refusal(deep / "kubelet.sock").endswith("a socket's path has at most 107 bytes; link it under a shorter one")


def test_nobody_listens(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "kubelet.sock"))
    assert refusal(place / "kubelet.sock") == "nobody answers there; is the kubelet running?"


def test_somebody_who_never_answers(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "kubelet.sock"))
        server.listen(8)
        assert "nobody answers there within 0.2 s" in refusal(place / "kubelet.sock", 0.2)


def test_somebody_who_speaks_something_else(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "kubelet.sock"))
        server.listen(8)

        def talk() -> None:
            while True:
                try:
                    connection, _address = server.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):  # who asks may be gone by then
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        talking = threading.Thread(target=talk)
        talking.start()
        try:
            assert refusal(place / "kubelet.sock", 2)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            talking.join()


def test_a_socket_that_may_not_be_opened(place: Path) -> None:
    with serving(place, Kubelet(PODS, THERE)) as path:
        place.chmod(0o755)
        Path(path).chmod(0o700)
        before = os.geteuid()
        if before:
            Path(path).chmod(0)
        else:
            os.seteuid(65534)
        try:
            assert refusal(path) == "may not be opened (permission denied); run this as root"
        finally:
            os.seteuid(before)


# Together with the files


LIVE = KubeletState(
    cpu_policy="static",
    cpus={("default/one", "app"): frozenset((1,))},
    memory_policy="None",
    devices={("default/two", "app"): {GPU: (Device("a", (0,)),)}},
    registered={GPU: ("a", "b")},
    pod_names={"default/one": "default/one", "default/two": "default/two"},
    live=True,
)


def test_the_files_add_what_is_not_told_live() -> None:
    # The uid is known again by CPU 1: its init container keeps CPU 2, which PodResources does not list.
    files = KubeletState(
        cpu_policy="static",
        shared_cpus=frozenset((0, 3)),
        cpus={("uid-1", "app"): frozenset((1,)), ("uid-1", "init"): frozenset((1, 2))},
        registered={GPU: ("a", "b", "sick"), NIC: ("n",)},
    )
    both = with_live(files, LIVE)
    assert both.cpus == {("default/one", "app"): {1}, ("default/one", "init"): {1, 2}}
    assert both.shared_cpus == frozenset((0, 3))
    assert both.devices == LIVE.devices
    assert both.registered == {GPU: ("a", "b"), NIC: ("n",)}
    assert both.notes == (
        "who holds what is as PodResources tells; of the state files: the CPUs of init containers that have ended, the "
        f"devices of {NIC}, of which PodResources lists none",
    )


def test_files_of_another_time_are_passed_over() -> None:
    files = KubeletState(cpu_policy="none", shared_cpus=frozenset((0, 1)), cpus={("uid-1", "app"): frozenset((2,))})
    both = with_live(files, LIVE)
    assert (both.cpu_policy, both.cpus, both.shared_cpus) == ("static", LIVE.cpus, None)
    assert both.notes == (
        "cpu_manager_state is of another time than PodResources, and is passed over",
        "the CPU manager's policy: the state file says none, and the running kubelet acts as static, which counts",
        "who holds what is as PodResources tells; the state files add nothing",
    )
