"""What fake plugins say that their devices cost: given as data, from a file, from the PCI tree."""

from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest

from numaproof.fake_sysfs import files, parse_machine, write
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.plugins_mock import MockCost, MockDevice, MockPlugin, PluginError
from numaproof.plugins_mock.costs import LARGEST_COST, file_costs, machine_costs, parse_resources
from numaproof.plugins_mock.program import main
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial, kubelet
from tests.plugins_mock.serving import RESOURCE, SECONDS, program, served

BRIDGES = Path(__file__).parents[2] / "suites/machines/xeon-2s-bridges.yaml"
FAR_GPU, GPU, NIC, VFS = "0000:17:00.0", "0000:3c:00.0", "0000:3d:00.0", ("0000:3d:02.0", "0000:3d:02.1")
COSTS = (MockCost(("a", "b"), "cpu", ("cpu0",), 3), MockCost(("a",), RESOURCE, ("b", "c"), 5))

Told = tuple[tuple[str, ...], str, tuple[str, ...], int]


def ask(channel: grpc.Channel, available: Sequence[str], size: int) -> draft.PreferredAllocationsResponse:
    request = draft.PreferredAllocationsRequest(available_deviceIDs=available, size=size)
    answers = [
        stub.GetPreferredAllocations(request, timeout=SECONDS)
        for stub in (draft_grpc.PreferredAllocationsStub(channel), draft_grpc.DevicePluginStub(channel))
    ]
    assert answers[0] == answers[1], "both paths"
    return answers[0]


def options(channel: grpc.Channel) -> tuple[bool, bool]:
    """Whether sets and whether costs are offered."""
    stub = draft_grpc.PreferredAllocationsStub(channel)
    told = stub.GetPreferredAllocationsOptions(draft.PreferredAllocationsOptionsRequest(), timeout=SECONDS)
    return told.get_preferred_allocations_available, told.costs_available


def entries(response: draft.PreferredAllocationsResponse) -> list[Told]:
    return [
        (
            tuple(one.from_deviceIDs),
            one.resource_domain,
            tuple(one.preferred_allocations.devices_ids),
            one.cost,
        )
        for one in response.preferred_allocations_for_domain
    ]


def as_told(costs: Sequence[MockCost]) -> list[Told]:
    return [(one.ids, one.domain, one.to_ids, one.cost) for one in costs]


@pytest.mark.parametrize(("plural", "sets"), [(False, []), (True, [["a", "b"]])])
def test_costs_are_told_with_and_without_sets(plural: bool, sets: list[list[str]]) -> None:
    with served(costs=COSTS, plural=plural) as (plugin, _), dial(plugin.socket) as channel:
        assert options(channel) == (plural, True)
        answer = ask(channel, ["a", "b", "c"], 2)
        assert [list(chosen.devices_ids) for chosen in answer.preferred_allocations] == sets
        assert entries(answer) == as_told(COSTS)
        nothing = ask(channel, ["a", "b", "c"], 0)
        assert not nothing.preferred_allocations
        assert entries(nothing) == as_told(COSTS)


def test_only_what_is_available_is_told() -> None:
    with served(costs=COSTS) as (plugin, _), dial(plugin.socket) as channel:
        assert entries(ask(channel, ["b", "c"], 0)) == [(("b",), "cpu", ("cpu0",), 3)]
        assert entries(ask(channel, ["a", "c"], 0)) == [(("a",), "cpu", ("cpu0",), 3), (("a",), RESOURCE, ("c",), 5)]
        plugin.set_health("a", False)
        plugin.set_devices([MockDevice("a"), MockDevice("b"), MockDevice("c")])
        assert entries(ask(channel, ["a", "b", "c"], 0)) == as_told(COSTS)


def test_who_asks_for_costs_alone_gets_no_sets_from_anybody() -> None:
    def always_all(available: Sequence[str], _must: Sequence[str], _size: int) -> list[list[str]]:
        return [list(available)]

    with (
        short_directory() as directory,
        MockPlugin(RESOURCE, [MockDevice("a")], directory, preferred=always_all, plural=True) as plugin,
        dial(plugin.socket) as channel,
    ):
        assert not ask(channel, ["a"], 0).preferred_allocations
        assert ask(channel, ["a"], 1).preferred_allocations


def test_without_costs_none_are_offered() -> None:
    with served(plural=True) as (plugin, _), dial(plugin.socket) as channel:
        assert options(channel) == (True, False)
        assert not entries(ask(channel, ["a", "b", "c"], 0))


FILE = """\
example.com/gpu/a:
  - 1.5:
    - cpu/cpu0-1
example.com/gpu/x:
  - 7: [cpu/cpu0]
example.com/nic/n0:
  - 9: [example.com/gpu/a]
"""


def test_a_file_tells_the_costs_of_the_own_devices_only(tmp_path: Path) -> None:
    path = tmp_path / "costs.yaml"
    path.write_text(FILE)
    # x is no device of this plugin, n0 is another's; in whole numbers 1.5 is 3, on a scale of halves.
    assert file_costs(path, RESOURCE, ["a", "b"]) == (MockCost(("a",), "cpu", ("cpu0", "cpu1"), 3),)
    with pytest.raises(
        PluginError, match=r"has no costs of the 1 devices of example\.com/fpga; it has some of: example"
    ):
        file_costs(path, "example.com/fpga", ["a"])
    path.write_text("example.com/gpu/a: [{4000000000: [cpu/cpu0]}]")
    with pytest.raises(PluginError, match="its costs go up to 4000000000; at most 2147483647 can be"):
        file_costs(path, RESOURCE, ["a"])


def test_a_look_at_the_tree_tells_costs_to_everything(tmp_path: Path) -> None:
    """By hand: the GPU at 3c lies three bridges deep, the card two ports away, the other GPU below another bridge."""
    write(files(parse_machine(str(BRIDGES))), tmp_path)
    resources = parse_resources(["nic=example.com/vf"])
    costs = machine_costs(tmp_path, "example.com/gpu", [FAR_GPU, GPU], resources)
    told = {
        (source, one.domain, target): one.cost
        for one in costs
        for source in one.ids
        for target in one.to_ids
        if source != target
    }
    assert told[GPU, "rdma/hca", NIC] == 4
    assert told[GPU, "example.com/vf", VFS[0]] == 4
    assert told[GPU, "example.com/gpu", FAR_GPU] == told[FAR_GPU, "example.com/gpu", GPU] == 10 + 8
    assert told[FAR_GPU, "memory", "node0"] == told[FAR_GPU, "cpu", "cpu0"] == 10
    assert {domain for _, domain, _ in told} == {"cpu", "memory", "example.com/gpu", "rdma/hca", "example.com/vf"}


def test_the_program_looks_itself(tmp_path: Path) -> None:
    write(files(parse_machine(str(BRIDGES))), tmp_path)
    expected = machine_costs(tmp_path, "rdma/hca", [NIC], parse_resources(["gpu=example.com/gpu"]))
    with short_directory() as directory, kubelet(directory) as seen:
        options = ["--dir", str(directory), "--sysfs-root", str(tmp_path), "--costs", "pci"]
        with program("rdma", *options, "--costs-to", "gpu=example.com/gpu"):
            registered = seen.wait_for(1)
            assert registered.resource_name == "rdma/hca"
            with dial(directory / registered.endpoint) as channel:
                told = entries(ask(channel, [NIC], 0))
    assert told == as_told([one for one in expected if one.domain != "rdma/hca"])
    assert told, "to CPUs, memory, GPUs and virtual functions"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--costs", "pci"],
            "--costs pci: needs the PCI tree of the devices; give --sysfs-root DIR, or a file of costs",
        ),
        (["--costs-to", "gpu=a/b"], "--costs-to: says what other plugins offer for --costs pci; add that, or drop it"),
        (
            ["--costs", "/no/such/file"],
            "/no/such/file: cannot be read (No such file or directory); give a file in YAML",
        ),
        (
            ["--sysfs-root", "{tree}", "--costs", "pci", "--costs-to", "tpu=a/b"],
            "--costs-to tpu=a/b: write KIND=RESOURCE, with a kind out of: gpu, nic, rdma, fpga, qat; did you mean gpu?",
        ),
    ],
)
def test_bad_arguments_get_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(files(parse_machine(str(BRIDGES))), tmp_path)
    given = [word.format(tree=tmp_path) for word in arguments]
    monkeypatch.setattr("sys.argv", ["plugins_mock", "gpu", "--dir", str(tmp_path), *given])
    assert main() == 2
    assert capsys.readouterr().err == f"plugins_mock: {message}\n"


@pytest.mark.parametrize("cost", [-1, LARGEST_COST + 1])
def test_a_cost_fits_the_wire(cost: int) -> None:
    with pytest.raises(PluginError, match="must be from 0 to 2147483647"):
        MockCost(("a",), "cpu", ("cpu0",), cost)


SPOILT: dict[str, list[Told]] = {
    "negative-cost": [(("a", "b"), "cpu", ("cpu0",), -1), *as_told(COSTS[1:])],
    "unknown-id": [(("no-such-device",), "cpu", ("cpu0",), 3), *as_told(COSTS[1:])],
    "bad-domain": [(("a", "b"), "gpu", ("cpu0",), 3), *as_told(COSTS[1:])],
    "bad-instance": [(("a", "b"), "cpu", ("7",), 3), *as_told(COSTS[1:])],
    "twice": [*as_told(COSTS), (("a", "b"), "cpu", ("cpu0",), 4)],
}


@pytest.mark.parametrize("fault", SPOILT)
def test_faults_spoil_costs(fault: str) -> None:
    with served(f"GetPreferredAllocations={fault}", costs=COSTS) as (plugin, _), dial(plugin.socket) as channel:
        assert entries(ask(channel, ["a", "b", "c"], 0)) == SPOILT[fault]


@pytest.mark.parametrize(
    ("fault", "chosen"),
    [("wrong-size", ["a", "b", "c"]), ("outside", ["a", "no-such-device"])],
)
def test_faults_spoil_sets(fault: str, chosen: list[str]) -> None:
    with served(f"GetPreferredAllocations={fault}", plural=True) as (plugin, _), dial(plugin.socket) as channel:
        [answer] = ask(channel, ["a", "b", "c"], 2).preferred_allocations
        assert list(answer.devices_ids) == chosen


def test_a_plugin_may_refuse_to_be_asked_for_costs_alone() -> None:
    with (
        served("GetPreferredAllocations=sized", costs=COSTS) as (plugin, _),
        dial(plugin.socket) as channel,
        pytest.raises(grpc.RpcError, match="no device is asked for"),
    ):
        ask(channel, ["a"], 0)


def test_a_plugin_may_change_its_mind() -> None:
    with served("GetPreferredAllocations=unsteady", costs=COSTS) as (plugin, _), dial(plugin.socket) as channel:
        stub = draft_grpc.PreferredAllocationsStub(channel)
        request = draft.PreferredAllocationsRequest(available_deviceIDs=["a"])
        answers = [stub.GetPreferredAllocations(request, timeout=SECONDS) for _ in range(2)]
        assert answers[0] != answers[1]


def test_costs_are_served_by_a_plugin_without_any_preference() -> None:
    with (
        short_directory() as directory,
        MockPlugin(RESOURCE, [MockDevice("a")], directory, costs=COSTS) as plugin,
        dial(plugin.socket) as channel,
    ):
        assert options(channel) == (False, True)
        assert entries(ask(channel, ["a"], 1)) == [(("a",), "cpu", ("cpu0",), 3)]
