"""The hub against real plugins on real sockets."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.provider import AllocationError
from tests.harness.node.plugins.listener import heard_hub
from tests.harness.node.plugins.refusal import refusal_of
from tests.harness.node.plugins.small_plugin import SmallPlugin, device
from tests.places import short_directory
from tests.waiting import wait_until

GPU = "example.com/gpu"
NIC = "example.com/nic"


def test_a_registered_plugin_is_followed_until_the_grace_period_after_its_stream_is_over() -> None:
    with (
        short_directory() as root,
        heard_hub(root, grace_seconds=0.2) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("a", 0), device("b", 0, 1), device("c")) as plugin,
    ):
        plugin.register(GPU)
        a, b, c = Device("a", (0,), True), Device("b", (0, 1), True), Device("c", None, True)
        wait_until(lambda: heard.devices(GPU) == (a, b, c), "the first list")
        assert hub.resources() == (GPU,)
        plugin.list(device("a", 0, health="Unhealthy"), device("b", 1, health="healthy"))
        ill = (Device("a", (0,), False), Device("b", (1,), False))
        wait_until(lambda: heard.devices(GPU) == ill, "the second list")
        plugin.list(device("a", 0), device("b", 1))
        wait_until(lambda: heard.healthy(GPU) == {"a", "b"}, "the recovery")
        plugin.end_streams()
        wait_until(lambda: heard.events[-1] == ("gone", GPU), "the end of the grace period")
        assert heard.events[-2] == ("devices", GPU, ill)
        assert heard.events[0] == ("registration", GPU, None)
        assert hub.resources() == ()
        wait_until(lambda: heard.lines, "the log line")
        assert "the plugin ended it" in heard.lines[0]


def test_the_calls_reach_the_plugin_with_the_given_arguments() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, _),
        SmallPlugin(root / "dp" / "g.sock") as plugin,
    ):
        plugin.options = api.DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True)
        plugin.preferred = api.PreferredAllocationResponse(
            container_responses=[api.ContainerPreferredAllocationResponse(deviceIDs=["b", "c"])]
        )
        plugin.register(GPU)
        assert hub.offers(GPU)
        assert hub.pre_start_required(GPU)
        assert not hub.offers_plural(GPU)
        assert hub.preferred(GPU, ["c", "b", "a"], ["b"], 2) == ["b", "c"]
        assert hub.allocate(GPU, {"c", "b"}).envs == {"DEVICES": "b,c"}
        hub.pre_start(GPU, ["c", "b"])
        assert plugin.requests == [
            api.Empty(),
            api.PreferredAllocationRequest(
                container_requests=[
                    api.ContainerPreferredAllocationRequest(
                        available_deviceIDs=["c", "b", "a"], must_include_deviceIDs=["b"], allocation_size=2
                    )
                ]
            ),
            api.AllocateRequest(container_requests=[api.ContainerAllocateRequest(devices_ids=["b", "c"])]),
            api.PreStartContainerRequest(devices_ids=["b", "c"]),
        ]
        plugin.preferred = api.PreferredAllocationResponse()
        assert hub.preferred(GPU, ["a"], [], 1) == []


def test_the_plural_draft_is_found_and_asked() -> None:
    def devices(*ids: str) -> api.ContainerAllocateRequest:
        return api.ContainerAllocateRequest(devices_ids=ids)

    with (
        short_directory() as root,
        heard_hub(root) as (hub, _),
        SmallPlugin(root / "dp" / "g.sock", plural=True) as plugin,
    ):
        domain = draft.PreferredAllocationsForDomain
        plugin.preferred_sets = draft.PreferredAllocationsResponse(
            preferred_allocations=[devices("a", "b")],
            preferred_allocations_for_domain=[
                domain(preferred_allocations=devices("a", "d"), cost=7),
                domain(preferred_allocations=devices("cpu0"), resource_domain="cpu", cost=1),
                domain(preferred_allocations=devices("a", "c"), resource_domain=GPU, cost=5),
            ],
        )
        plugin.register(GPU)
        assert hub.offers_plural(GPU)
        assert not hub.offers(GPU)
        assert hub.preferred_sets(GPU, ["a", "b", "c", "d"], ["a"], 2) == [["a", "b"], ["a", "c"], ["a", "d"]]
        assert plugin.requests == [
            api.Empty(),
            draft.PreferredAllocationsRequest(
                available_deviceIDs=["a", "b", "c", "d"], must_include_deviceIDs=["a"], size=2
            ),
        ]


def test_failed_calls_are_told_in_the_kubelets_words() -> None:
    def refuse(request: api.AllocateRequest) -> api.AllocateResponse:
        raise LookupError("no such device")

    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("a")) as plugin,
    ):
        with pytest.raises(AllocationError, match=r"^unknown Device Plugin example\.com/gpu$"):
            hub.allocate(GPU, ["a"])
        plugin.register(GPU)
        plugin.allocate = refuse
        with pytest.raises(AllocationError, match=r"^rpc error: code = NotFound desc = no such device$"):
            hub.allocate(GPU, ["a"])
        plugin.allocate = lambda request: api.AllocateResponse()
        with pytest.raises(AllocationError, match=r"^no containers return in allocation response$"):
            hub.allocate(GPU, ["a"])
        wait_until(lambda: heard.healthy(GPU), "the list")
        plugin.end_streams()
        wait_until(lambda: not heard.healthy(GPU), "the end of the stream")
        with pytest.raises(AllocationError, match=r"^endpoint example\.com/gpu has been stopped$"):
            hub.allocate(GPU, ["a"])
        with pytest.raises(
            AllocationError, match=r"^device plugin GetPreferredAllocation rpc failed with err: endpoint"
        ):
            hub.preferred(GPU, ["a"], [], 1)


def test_a_hung_plugin_delays_nobody_else() -> None:
    release = threading.Event()

    def hang(request: api.AllocateRequest) -> api.AllocateResponse:
        release.wait()
        return api.AllocateResponse(container_responses=[api.ContainerAllocateResponse()])

    with (
        short_directory() as root,
        heard_hub(root, deadline_seconds=600) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock") as hung,
        SmallPlugin(root / "dp" / "n.sock", device("n")) as quick,
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            hung.allocate = hang
            hung.register(GPU)
            waiting = pool.submit(hub.allocate, GPU, ["a"])
            wait_until(lambda: len(hung.requests) == 2, "the call that hangs, after the question for options")
            quick.register(NIC)
            wait_until(lambda: heard.healthy(NIC), "the other plugin's list")
            assert hub.allocate(NIC, ["n"]).envs == {"DEVICES": "n"}
            assert not waiting.done()
        finally:
            release.set()
        assert waiting.result(timeout=60) == api.ContainerAllocateResponse()


def test_a_call_to_a_hung_plugin_ends_at_the_deadline() -> None:
    release = threading.Event()

    def hang(request: api.AllocateRequest) -> api.AllocateResponse:
        release.wait()
        return api.AllocateResponse()

    with (
        short_directory() as root,
        heard_hub(root, deadline_seconds=0.3) as (hub, _),
        SmallPlugin(root / "dp" / "g.sock") as plugin,
    ):
        try:
            plugin.allocate = hang
            plugin.register(GPU)
            text = "DeadlineExceeded desc = the plugin of example.com/gpu did not answer Allocate within 0.3 s$"
            with pytest.raises(AllocationError, match=text):
                hub.allocate(GPU, ["a"])
        finally:
            release.set()


def test_the_newer_of_two_plugins_wins() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "1.sock", device("old")) as old,
        SmallPlugin(root / "dp" / "2.sock", device("new")) as new,
    ):
        old.register(GPU)
        wait_until(lambda: heard.healthy(GPU) == {"old"}, "the first plugin's list")
        new.register(GPU)
        wait_until(lambda: heard.healthy(GPU) == {"new"}, "the second plugin's list")
        wait_until(lambda: old.streams_ended == 1, "the end of the first plugin's stream")
        old.list(device("late"))
        assert hub.allocate(GPU, ["new"]).envs == {"DEVICES": "new"}
        assert old.requests == [api.Empty()]
        # Whatever the end of the old stream has caused is heard before what the new one says now.
        new.list(device("newer"))
        wait_until(lambda: heard.healthy(GPU) == {"newer"}, "the second plugin's next list")
        assert [{d.id for d in event[2] if d.healthy} for event in heard.events if event[0] == "devices"] == [
            {"old"},
            {"new"},
            {"newer"},
        ]


def test_an_older_registration_does_not_win_by_being_slow() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "1.sock", device("old")) as old,
        SmallPlugin(root / "dp" / "2.sock", device("new")) as new,
        ThreadPoolExecutor(1) as pool,
    ):
        try:
            old.talkative.clear()
            slow = pool.submit(refusal_of, lambda: old.register(GPU))
            wait_until(lambda: old.requests, "the question for options")
            new.register(GPU)
            wait_until(lambda: heard.healthy(GPU) == {"new"}, "the newer plugin's list")
        finally:
            old.talkative.set()
        assert slow.result(timeout=60) == f"a newer plugin for {GPU} has registered meanwhile"
        assert hub.plugins()[0].endpoint == str(new.path)


def test_devices_of_a_predecessor_are_unhealthy_when_the_successor_sends_no_list() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "1.sock", device("a", 1)) as old,
        SmallPlugin(root / "dp" / "2.sock") as new,
    ):
        old.register(GPU)
        wait_until(lambda: heard.healthy(GPU), "the first plugin's list")
        new.sends_nothing = True
        new.register(GPU)
        wait_until(lambda: heard.devices(GPU) == (Device("a", (1,), False),), "the end of the second plugin's stream")
        view = hub.plugins()[0]
        assert (view.endpoint, view.connected, view.devices) == (str(new.path), False, (Device("a", (1,), False),))


def test_a_plugin_that_comes_back_in_time_keeps_its_resource() -> None:
    with (
        short_directory() as root,
        heard_hub(root, grace_seconds=0.3) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", device("g")) as plugin,
        SmallPlugin(root / "dp" / "n.sock", device("n")) as other,
    ):
        other.register(NIC)
        wait_until(lambda: heard.healthy(NIC), "the list of the other plugin")
        plugin.register(GPU)
        wait_until(lambda: heard.healthy(GPU), "the list")
        plugin.end_streams()
        wait_until(lambda: not heard.healthy(GPU), "the end of the stream")
        plugin.register(GPU)
        wait_until(lambda: heard.healthy(GPU), "the list after the return")
        returned = len(heard.events)
        # The other plugin's grace period begins later, so the first one's is over when this one's is.
        other.end_streams()
        wait_until(lambda: ("gone", NIC) in heard.events, "the end of the other plugin's grace period")
        assert ("gone", GPU) not in heard.events[returned:]
        assert hub.resources() == (GPU,)


def test_resources_from_before_a_restart_go_after_the_grace_period() -> None:
    with short_directory() as root, heard_hub(root, expected=[GPU], grace_seconds=0.2) as (hub, heard):
        wait_until(lambda: heard.events == [("gone", GPU)], "the end of the grace period")
        assert hub.resources() == ()
    with short_directory() as root, heard_hub(root, expected=[GPU]) as (hub, _):
        assert hub.resources() == (GPU,)
        assert not hub.offers(GPU)
        with pytest.raises(AllocationError, match=r"^endpoint example\.com/gpu has been stopped$"):
            hub.allocate(GPU, ["a"])


def test_a_list_over_4_mib_ends_the_stream_and_leaves_no_device() -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        SmallPlugin(root / "dp" / "g.sock", *(device(f"{n:063}", 0) for n in range(60_000))) as plugin,
    ):
        plugin.register(GPU)
        wait_until(lambda: heard.devices(GPU) is not None, "the report on the stream")
        assert heard.devices(GPU) == ()
        assert hub.resources() == (GPU,)
        wait_until(lambda: heard.lines, "the log line")
        assert "ResourceExhausted" in heard.lines[0]
        plugin.list(*(device(f"{n:063}", 0) for n in range(10_000)))
        plugin.register(GPU)
        wait_until(lambda: len(heard.healthy(GPU)) == 10_000, "a list of 10,000 devices")


def test_a_listener_may_hold_a_lock_that_callers_of_the_hub_hold() -> None:
    lock = threading.Lock()
    entered = threading.Event()
    finished = threading.Event()

    def on_devices(resource: str, devices: tuple[Device, ...]) -> None:
        entered.set()
        with lock:
            finished.set()

    with (
        short_directory() as root,
        PluginHub(root / "dp", None, on_devices=on_devices, on_gone=lambda resource: None) as hub,
        SmallPlugin(root / "dp" / "g.sock", device("a")) as plugin,
        ThreadPoolExecutor(1) as pool,
    ):
        with lock:
            plugin.register(GPU)
            assert entered.wait(60)
            plugin.list(device("b"))
            assert pool.submit(hub.allocate, GPU, ["a"]).result(timeout=60).envs == {"DEVICES": "a"}
            assert pool.submit(hub.plugins).result(timeout=60)[0].resource == GPU
        assert finished.wait(60)


def test_ten_plugins_at_once() -> None:
    names = [f"example.com/r{n}" for n in range(10)]
    with (
        short_directory() as root,
        heard_hub(root) as (hub, heard),
        ThreadPoolExecutor(10) as pool,
        ExitStack() as stack,
    ):
        plugins = [stack.enter_context(SmallPlugin(root / "dp" / f"{n}.sock", device(f"d{n}"))) for n in range(10)]
        for done in [pool.submit(plugin.register, name) for plugin, name in zip(plugins, names, strict=True)]:
            done.result(timeout=60)
        wait_until(lambda: all(heard.healthy(name) for name in names), "ten lists")
        assert hub.resources() == tuple(sorted(names))
