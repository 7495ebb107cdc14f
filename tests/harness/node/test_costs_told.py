"""What plugins say that their devices cost, on a running node: when they are asked, and what is kept."""

import re
from fractions import Fraction

import pytest

from numaproof.harness.cost.costs import Entry
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import Fault, MockCost, MockDevice, MockPlugin
from tests.harness.node.running import GPU, STATIC, client, devices, listed_plugins, pod, running_node, wait_for_devices
from tests.waiting import wait_until

TWO = ("gpu00", "gpu01")
COSTS = (MockCost(TWO, "cpu", ("cpu0", "cpu1"), 3), MockCost(("gpu00",), GPU, ("gpu01",), 5))
ENTRIES = (
    Entry(GPU, TWO, "cpu", ("cpu0", "cpu1"), Fraction(3)),
    Entry(GPU, ("gpu00",), GPU, ("gpu01",), Fraction(5)),
)


def kept(node: Node) -> tuple[Entry, ...]:
    return node._admissions._managers.reported_costs.get(GPU, ())


def questions(plugin: MockPlugin) -> list[tuple[list[str], int]]:
    asked = [call.request for call in plugin.calls if call.name == "GetPreferredAllocations"]
    return [(list(one.available_deviceIDs), one.size) for one in asked]  # type: ignore[attr-defined]


def test_costs_are_known_when_the_devices_are() -> None:
    with running_node(STATIC) as node:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS)
        with listed_plugins(node, gpu):
            assert kept(node) == ENTRIES
            assert questions(gpu) == [(list(TWO), 0)]


def test_the_proposals_path_tells_costs_too() -> None:
    with running_node(STATIC) as node:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS, plural_paths=["proposal"])
        with listed_plugins(node, gpu):
            assert kept(node) == ENTRIES
            assert questions(gpu) == [([], 0), (list(TWO), 0)], "whether it is served, and then for costs"


def test_a_plugin_with_costs_only_is_not_asked_for_sets() -> None:
    with running_node(STATIC | {"topologyManagerPolicy": "restricted"}) as node, client(node.root) as control:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS)
        with listed_plugins(node, gpu):
            assert control.admit(pod("p", {GPU: 1})).verdict.admitted
            assert [plugin.preferred_sets for plugin in control.state().plugins] == [False]
            assert questions(gpu) == [(list(TWO), 0)]


def test_it_is_asked_again_for_other_devices_and_not_for_another_health() -> None:
    with running_node(STATIC) as node:
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS)
        with listed_plugins(node, gpu):
            gpu.set_health("gpu00", False)
            wait_for_devices(node, gpu)
            assert questions(gpu) == [(list(TWO), 0)]
            assert kept(node) == ENTRIES, "an unhealthy device stands where it stood"
            gpu.set_devices([MockDevice("gpu01", (1,)), MockDevice("gpu02")])
            wait_for_devices(node, gpu)
            assert questions(gpu) == [(list(TWO), 0), (["gpu01", "gpu02"], 0)]
            assert kept(node) == (Entry(GPU, ("gpu01",), "cpu", ("cpu0", "cpu1"), Fraction(3)),)


def test_a_plugin_without_costs_in_the_place_of_one_with_has_none() -> None:
    with running_node(STATIC) as node:
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS)):
            assert kept(node) == ENTRIES
        wait_until(lambda: not node.healthy_devices().get(GPU), "the first plugin's end")
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins)):
            assert kept(node) == ()


def test_costs_are_gone_with_their_plugin() -> None:
    with running_node(STATIC, grace_seconds=0) as node:
        with listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS)):
            assert kept(node) == ENTRIES
        wait_until(lambda: GPU not in node.healthy_devices(), "the resource's end")
        assert kept(node) == ()


@pytest.mark.parametrize(
    ("fault", "left", "line"),
    [
        (
            "error",
            (),
            "its costs are not known: device plugin GetPreferredAllocations rpc failed with err: rpc error: ",
        ),
        ("sized", (), "its costs are not known: .* code = InvalidArgument desc = no device is asked for"),
        ("negative-cost", ENTRIES[1:], "costs do not count: entry 0: the cost -1 is negative$"),
        ("unknown-id", ENTRIES[1:], "do not count: entry 0: the plugin lists no device 'no-such-device'$"),
        ("bad-domain", ENTRIES[1:], "do not count: entry 0: the domain 'gpu': has 0 slashes, not one$"),
        ("bad-instance", ENTRIES[1:], "do not count: entry 0: '7' is no instance of cpu, as cpu7 is$"),
        ("twice", (), "do not count: a pair with cpu is told twice, with the costs 3 and 4$"),
    ],
)
def test_a_bad_answer_does_the_node_no_harm(fault: str, left: tuple[Entry, ...], line: str) -> None:
    lines: list[str] = []
    with running_node(STATIC, log=lines.append) as node, client(node.root) as control:
        faults = {"GetPreferredAllocations": [Fault(fault)]}
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS, faults=faults)
        with listed_plugins(node, gpu):
            assert kept(node) == left
            assert control.admit(pod("p", {GPU: 2})).verdict.admitted
    [said] = [one for one in lines if "osts" in one]
    assert said.startswith(f"{GPU}: ")
    assert re.search(line, said), said


def test_a_list_counts_even_if_the_question_for_costs_hangs() -> None:
    with running_node(STATIC, deadline_seconds=1) as node:
        faults = {"GetPreferredAllocations": [Fault("hang")]}
        gpu = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, costs=COSTS, faults=faults)
        with listed_plugins(node, gpu):
            assert kept(node) == ()
