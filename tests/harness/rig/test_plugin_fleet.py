"""The fleet of fake plugins on a node that is not ours: what it asks, a kubelet can answer too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.rig import plugin_fleet
from numaproof.harness.rig.plugin_fleet import FakePluginFleet, PluginEvent
from numaproof.harness.runtimes.launcher import PlainLauncher
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.trees import HOST
from numaproof.harness.scenario.rig import FakeDevice, FakePlugin, RigFailedError
from numaproof.harness.waiting import WaitTimeoutError
from tests.harness.commands.stories import NUMAPROOF
from tests.places import short_directory
from tests.plugins_mock.kubelet import Registrations, dial, kubelet

GPU = "example.com/gpu"
REPOSITORY = str(Path(__file__).parents[3])


class OtherNode:
    """A node that takes registrations, asks plugins for a list when it wants one, and tells healthy devices alone."""

    def __init__(self, directory: Path, registrations: Registrations) -> None:
        self.plugin_directory = directory
        self.registrations = registrations
        self.blind = False
        self.restarted: list[Callable[[], None]] = []

    def on_restart(self, call: Callable[[], None]) -> None:
        self.restarted.append(call)

    def devices_seen(self) -> Mapping[str, Mapping[str, bool]]:
        endpoints = {one.resource_name: one.endpoint for one in self.registrations.seen} if not self.blind else {}
        return {resource: self._healthy(self.plugin_directory / name) for resource, name in endpoints.items()}

    def _healthy(self, socket: Path) -> dict[str, bool]:
        with dial(socket) as channel:
            lists = api_grpc.DevicePluginStub(channel).ListAndWatch(api.Empty(), timeout=60, wait_for_ready=True)
            devices = next(lists).devices
            lists.cancel()
        return {device.ID: True for device in devices if device.health == "Healthy"}

    def moment(self) -> int:
        return len(self.registrations.seen)

    def plugin_events(self, since: int) -> Sequence[PluginEvent]:
        return [PluginEvent(one.resource_name, "registered") for one in self.registrations.seen[since:]]


def gpus(*devices: FakeDevice, faults: tuple[str, ...] = ()) -> FakePlugin:
    return FakePlugin(GPU, "generic", devices, "none", False, False, "kept", faults)


@contextmanager
def node_and_fleet(*plugins: FakePlugin) -> Iterator[tuple[OtherNode, FakePluginFleet]]:
    with short_directory() as place:
        (place / "plugins").mkdir()
        environment = {"PYTHONPATH": REPOSITORY}
        launcher = PlainLauncher(ProcessRuntime(), HOST, isolated=False, numaproof=NUMAPROOF, environment=environment)
        with kubelet(place / "plugins") as registrations:
            node = OtherNode(place / "plugins", registrations)
            yield node, FakePluginFleet(launcher, place, plugins, node)


def test_plugins_start_restart_and_change_their_health() -> None:
    with node_and_fleet(gpus(FakeDevice("a", (0,)), FakeDevice("b", None, healthy=False))) as (node, fleet), fleet:
        assert node.devices_seen() == {GPU: {"a": True}}
        fleet.set_health(GPU, ["b"], healthy=True)
        assert node.devices_seen() == {GPU: {"a": True, "b": True}}
        fleet.restart(GPU)
        assert [one.resource_name for one in node.registrations.seen] == [GPU, GPU]
        assert fleet.calls()[GPU]["ListAndWatch"] >= 4


def test_a_plugin_without_devices_is_awaited_too() -> None:
    with node_and_fleet(gpus()) as (node, fleet), fleet:
        assert [one.resource_name for one in node.registrations.seen] == [GPU]


def test_a_plugin_that_ends_is_told_with_what_it_printed() -> None:
    with (
        node_and_fleet(gpus(FakeDevice("a", None), faults=("Alocate=errr",))) as (_, fleet),
        pytest.raises(RigFailedError, match=rf"the plugin of {GPU} ended: numaproof: .*Alocate"),
        fleet,
    ):
        pass


def test_a_node_that_does_not_see_devices_is_told_with_what_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    with node_and_fleet(gpus(FakeDevice("a", None), FakeDevice("b", None))) as (node, fleet), fleet:
        monkeypatch.setattr(plugin_fleet, "_UP_SECONDS", 0)
        monkeypatch.setattr(node, "devices_seen", lambda: {GPU: {"b": False, "c": True}})
        with pytest.raises(WaitTimeoutError) as told:
            fleet.set_health(GPU, ["b"], healthy=True)
        wrong = f"a of {GPU} as missing, b of {GPU} as unhealthy, c of {GPU}, which is not a device of its plugin"
        assert str(told.value) == f"waited 0 s for the node to see the plugins of {GPU}; seen last: {wrong}"
        node.blind = True
        monkeypatch.undo()
        monkeypatch.setattr(plugin_fleet, "_UP_SECONDS", 0)
        with pytest.raises(WaitTimeoutError, match=f"seen last: no devices of {GPU}"):
            fleet.set_health(GPU, ["b"], healthy=True)
