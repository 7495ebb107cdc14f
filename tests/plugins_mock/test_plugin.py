"""A fake plugin over its real socket: registering, listing, answering, and each fault."""

import threading
from pathlib import Path

import grpc
import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import pluginregistration_v1_pb2 as registration
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as registration_grpc
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin, PluginError, parse_fault
from numaproof.plugins_mock.boards import BOARDS
from numaproof.plugins_mock.choose import preference
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial, kubelet
from tests.plugins_mock.serving import DEVICES, RESOURCE, SECONDS, allocate, first_list, prefer, served
from tests.waiting import wait_until


def test_the_list_is_complete_and_follows_health() -> None:
    with served() as (plugin, stub):
        stream = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
        first = next(stream).devices
        assert [(d.ID, d.health, [n.ID for n in d.topology.nodes]) for d in first] == [
            ("a", "Healthy", [0]),
            ("b", "Healthy", [1]),
            ("c", "Healthy", []),
        ]
        assert [d.HasField("topology") for d in first] == [True, True, False]
        plugin.set_health("b", False)
        assert [d.health for d in next(stream).devices] == ["Healthy", "Unhealthy", "Healthy"]
        plugin.set_devices([MockDevice("z")])
        assert [d.ID for d in next(stream).devices] == ["z"]


def test_every_stream_hears_of_a_change() -> None:
    with served() as (plugin, stub):
        streams = [iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS)) for _ in range(3)]
        assert [len(next(stream).devices) for stream in streams] == [3, 3, 3]
        plugin.set_health("a", False)
        assert [next(stream).devices[0].health for stream in streams] == ["Unhealthy"] * 3


def test_allocate_answers_each_container_by_itself_and_refuses_what_is_not_there() -> None:
    with served() as (plugin, stub):
        both = allocate(stub, ["b", "a"], ["c"]).container_responses
        assert list(both) == [
            *allocate(stub, ["a", "b"]).container_responses,
            *allocate(stub, ["c"]).container_responses,
        ]
        assert both[0].envs["EXAMPLE_COM_GPU"] == "a,b"
        for wrong in ([], ["x"], ["a", "x"], ["a", "a"]):
            with pytest.raises(grpc.RpcError):
                allocate(stub, wrong)
        assert [call.name for call in plugin.calls] == ["Allocate"] * 7


def test_a_preference_is_answered_for_each_container() -> None:
    with served() as (_, stub):
        assert prefer(stub, ["c", "b", "a"], ["c"], 2) == ["a", "c"]
        assert prefer(stub, ["c"], [], 2) == []


def test_dgx1_over_grpc_singular_and_plural() -> None:
    board = BOARDS["dgx1-as-drawn"]
    gpus = tuple(MockDevice(gpu, numa) for gpu, numa in board.numa.items())
    with (
        short_directory() as directory,
        MockPlugin(
            "nvidia.com/gpu", gpus, directory, preferred=preference("links", board.links, gpus), plural=True
        ) as plugin,
        dial(plugin.socket) as channel,
    ):
        ids = [gpu.id for gpu in gpus]
        assert prefer(api_grpc.DevicePluginStub(channel), ids, [], 2) == ["0", "3"]
        assert prefer(api_grpc.DevicePluginStub(channel), ids, ["6"], 2) == ["2", "6"]
        stub = draft_grpc.PreferredAllocationsStub(channel)
        offered = stub.GetPreferredAllocationsOptions(draft.PreferredAllocationsOptionsRequest(), timeout=SECONDS)
        assert offered.get_preferred_allocations_available
        answer = stub.GetPreferredAllocations(
            draft.PreferredAllocationsRequest(available_deviceIDs=ids, size=2), timeout=SECONDS
        )
        pairs = {tuple(int(gpu) for gpu in one.devices_ids) for one in answer.preferred_allocations}
        assert pairs == {(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 7), (5, 6), (6, 7)}


def test_a_plugin_without_the_draft_does_not_know_its_service() -> None:
    with served() as (plugin, _), dial(plugin.socket) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            draft_grpc.PreferredAllocationsStub(channel).GetPreferredAllocations(
                draft.PreferredAllocationsRequest(size=1), timeout=SECONDS
            )
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_in_the_registry_it_is_found_and_offers_itself_again_after_a_refusal() -> None:
    with short_directory() as directory, MockPlugin(RESOURCE, DEVICES, directory, registry=directory) as plugin:
        before = plugin.socket.stat().st_mtime_ns
        with dial(plugin.socket) as channel:
            stub = registration_grpc.RegistrationStub(channel)
            info = stub.GetInfo(registration.InfoRequest(), timeout=SECONDS)
            assert (info.type, info.name, list(info.supported_versions)) == ("DevicePlugin", RESOURCE, ["v1beta1"])
            assert info.endpoint == str(plugin.socket)
            stub.NotifyRegistrationStatus(registration.RegistrationStatus(error="no"), timeout=SECONDS)
        wait_until(
            lambda: plugin.socket.exists() and plugin.socket.stat().st_mtime_ns != before, "a socket that is new"
        )
        with dial(plugin.socket) as channel:
            assert len(first_list(api_grpc.DevicePluginStub(channel))) == 3


def test_a_registry_socket_listens_as_soon_as_it_is_seen() -> None:
    with short_directory() as directory:
        seen: list[bool] = []

        def watch() -> None:
            [socket] = wait_until(lambda: [at for at in directory.iterdir() if at.name[0] != "."], "a socket")
            with dial(socket) as channel:
                stub = registration_grpc.RegistrationStub(channel)
                seen.append(stub.GetInfo(registration.InfoRequest(), timeout=SECONDS).type == "DevicePlugin")

        watcher = threading.Thread(target=watch)
        watcher.start()
        with MockPlugin(RESOURCE, DEVICES, directory, registry=directory):
            watcher.join()
        assert seen == [True]


# Faults


def test_an_error_comes_with_its_code_as_often_as_planned() -> None:
    with served("Allocate=error:RESOURCE_EXHAUSTED*2") as (_, stub):
        for _ in range(2):
            with pytest.raises(grpc.RpcError) as caught:
                allocate(stub, ["a"])
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert len(allocate(stub, ["a"]).container_responses) == 1


def test_a_hanging_call_ends_with_its_caller_and_holds_nobody_else() -> None:
    with served("Allocate=hang*1") as (plugin, stub):
        request = api.AllocateRequest(container_requests=[api.ContainerAllocateRequest(devices_ids=["a"])])
        hanging = stub.Allocate.future(request, timeout=SECONDS)
        wait_until(lambda: plugin.calls, "the call that hangs")
        assert len(allocate(stub, ["b"]).container_responses) == 1
        assert not hanging.done()
        hanging.cancel()


def test_the_end_of_the_plugin_ends_what_hangs() -> None:
    with served("GetDevicePluginOptions=hang") as (_, stub):
        hanging = stub.GetDevicePluginOptions.future(api.Empty(), timeout=SECONDS)
    assert hanging.exception(timeout=SECONDS) is not None


def test_a_dropped_stream_ends_after_its_list() -> None:
    with served("ListAndWatch=drop") as (_, stub):
        assert [len(answer.devices) for answer in stub.ListAndWatch(api.Empty(), timeout=SECONDS)] == [3]


def spoiled(fault: str) -> list[api.Device]:
    with served(f"ListAndWatch={fault}") as (_, stub):
        return first_list(stub)


def test_list_faults() -> None:
    twice = [(d.ID, d.health) for d in spoiled("duplicate-ids") if d.ID == "a"]
    assert twice == [("a", "Healthy"), ("a", "Unhealthy")]
    assert spoiled("bad-health")[0].health == "healthy"
    assert spoiled("bad-numa:99")[0].topology.nodes[0].ID == 99
    assert spoiled("bad-numa")[0].topology.nodes[0].ID == -1
    assert api.ListAndWatchResponse(devices=spoiled("oversized")).ByteSize() > 4 * 1024 * 1024


def test_faults_of_later_lists() -> None:
    with served("ListAndWatch=partial") as (plugin, stub):
        stream = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
        assert len(next(stream).devices) == 3
        plugin.set_health("b", False)
        assert [d.ID for d in next(stream).devices] == ["b"]
    with served("ListAndWatch=no-recovery") as (plugin, stub):
        stream = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
        assert next(stream).devices[0].health == "Healthy"
        plugin.set_health("a", False)
        assert next(stream).devices[0].health == "Unhealthy"
        plugin.set_health("a", True)
        assert next(stream).devices[0].health == "Unhealthy"


def test_a_stale_stream_takes_what_is_for_its_successor() -> None:
    faults = {"ListAndWatch": [Fault("stale")]}
    with short_directory() as directory, dial(directory / "p.sock") as channel:
        with MockPlugin(RESOURCE, DEVICES, directory, endpoint="p.sock", faults=faults) as plugin:
            stub = api_grpc.DevicePluginStub(channel)
            first = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
            assert len(next(first).devices) == 3
            second = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
            assert len(next(second).devices) == 3
            plugin.set_health("a", False)
            assert next(first).devices[0].health == "Unhealthy"
        # The plugin's end has ended the streams: what the second one has not got by now, it never gets.
        assert list(second) == []


def test_allocate_faults() -> None:
    def with_fault(fault: str, *batches: list[str]) -> list[api.ContainerAllocateResponse]:
        with served(f"Allocate={fault}") as (_, stub):
            return list(allocate(stub, *batches).container_responses)

    assert with_fault("no-responses", ["a"]) == []
    assert len(with_fault("wrong-count", ["a"], ["b"])) == 1
    assert with_fault("leak", ["a"], ["b"])[1].envs["EXAMPLE_COM_GPU"] == "a,b"
    assert with_fault("ordered", ["b", "a"])[0].envs["EXAMPLE_COM_GPU"] == "b,a"
    assert with_fault("accept-unknown", ["x"])[0].envs["EXAMPLE_COM_GPU"] == "x"
    assert with_fault("accept-empty", [])[0].envs["EXAMPLE_COM_GPU"] == ""
    paths = [spec.container_path for spec in with_fault("duplicate-path", ["a"])[0].devices]
    assert paths.count("/dev/twice") == 2
    assert with_fault("relative-path", ["a"])[0].mounts[0].container_path == "etc/device"
    assert with_fault("bad-permissions", ["a"])[0].devices[-1].permissions == "rwx"
    assert with_fault("bad-cdi", ["a"])[0].cdi_devices[0].name == "gpu0"
    assert "PATH" in with_fault("common-env", ["a"])[0].envs
    with served("Allocate=unsteady") as (_, stub):
        assert allocate(stub, ["a"]) != allocate(stub, ["a"])


def test_preferred_faults() -> None:
    def with_fault(fault: str, must: list[str], size: int) -> list[str]:
        with served(f"GetPreferredAllocation={fault}") as (_, stub):
            return prefer(stub, ["a", "b", "c"], must, size)

    assert with_fault("wrong-size", [], 2) == ["a", "b", "c"]
    assert with_fault("wrong-size", [], 3) == ["a", "b"]
    assert with_fault("outside", [], 2) == ["a", "no-such-device"]
    assert with_fault("ignore-must", ["c"], 2) == ["a", "b"]
    assert with_fault("repeat", [], 2) == ["a", "a"]
    assert with_fault("edge-empty", [], 3) == []
    assert with_fault("edge-empty", [], 2) == ["a", "b"]
    with served("GetPreferredAllocation=unsteady") as (_, stub):
        assert prefer(stub, ["a", "b", "c"], [], 2) != prefer(stub, ["a", "b", "c"], [], 2)


@pytest.mark.parametrize(
    ("fault", "field", "value"),
    [
        ("version", "version", "v1alpha"),
        ("resource", "resource_name", "gpu"),
        ("endpoint:../x.sock", "endpoint", "../x.sock"),
    ],
)
def test_register_faults(fault: str, field: str, value: str) -> None:
    call, planned = parse_fault(f"Register={fault}")
    with (
        short_directory() as directory,
        kubelet(directory) as seen,
        MockPlugin(RESOURCE, DEVICES, directory, faults={call: [planned]}),
    ):
        assert getattr(seen.wait_for(1), field) == value


def test_registering_once_means_once() -> None:
    with short_directory() as directory, kubelet(directory) as first:
        faults = {"Register": [Fault("once")]}
        with MockPlugin(RESOURCE, DEVICES, directory, faults=faults) as plugin:
            first.wait_for(1)
            wait_until(lambda: plugin.registrations == 1, "the first registration")
            with kubelet(directory) as second, MockPlugin("example.com/other", DEVICES, directory):
                second.wait_for(1)  # the other one has found the new kubelet
                assert [request.resource_name for request in second.seen] == ["example.com/other"]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("Allocate", "CALL=KIND"),
        ("Alocate=hang", "known: GetDevicePluginOptions"),
        ("Allocate=hnag", "known: error"),
        ("Allocate=error:BUSY", "UNAVAILABLE"),
        ("Allocate=delay:soon", "not a number"),
        ("Allocate=hang*often", "*2"),
        ("Register=hang", "known: version"),
    ],
)
def test_a_wrong_fault_is_refused_with_what_is_known(text: str, remedy: str) -> None:
    with pytest.raises(PluginError, match=r"^fault ") as caught:
        parse_fault(text)
    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="shorter directory"):
        MockPlugin(RESOURCE, DEVICES, tmp_path / ("x" * 100))


def test_an_unknown_device_is_refused() -> None:
    with served() as (plugin, _), pytest.raises(PluginError, match="name one of: a, b, c"):
        plugin.set_health("x", False)
