"""The judge: each expectation holds where it should, and is seen failing where it should not."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from numaproof import fake_sysfs
from numaproof.fake_sysfs.pci_places import places
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.providers.memory import Block
from numaproof.harness.scenario.judge import differences
from numaproof.harness.scenario.model import Expected, ExpectedConfined, ExpectedCost
from numaproof.harness.scenario.outcome import ChosenCost, Confined, Outcome, Seen
from numaproof.harness.scenario.sizes import sizes_of
from tests.harness.scenario.fake_rig import given_of

SIZES = sizes_of(fake_sysfs.parse_machine("pack:2 [numa] core:4 pu:1"), memory_static=False)
NODE_OF_CPU = {cpu: cpu // 4 for cpu in range(8)}

SPREAD = given_of({1, 5}, (Block((0, 1), "memory", 1 << 30),), {"e/g": {"a": (0,), "b": (1,)}})
ON_ZERO = given_of({1, 2}, (Block((0,), "memory", 1 << 20),), {"e/g": {"a": (0,), "c": (0,)}})
NOWHERE = given_of(devices={"e/g": {"a": None, "b": ()}})
ON_ONE = given_of({6}, (), {})
# The GPU at 3c and the card at 3d lie behind two ports of one switch; the GPU at 17 below another host bridge.
BRIDGES = fake_sysfs.parse_machine(str(Path(__file__).parents[3] / "suites/machines/xeon-2s-bridges.yaml"))
PLACES = places(BRIDGES)
BESIDE = given_of(devices={"e/g": {"0000:3c:00.0": (0,)}, "e/n": {"0000:3d:00.0": (0,)}})
APART = given_of(devices={"e/g": {"0000:17:00.0": (0,)}, "e/n": {"0000:3d:00.0": (0,)}})
ELSEWHERE = given_of(devices={"e/g": {"gpu0": (0,)}, "e/n": {"0000:3d:00.0": (0,)}})
CARD_ALONE = given_of(devices={"e/n": {"0000:3d:00.0": (0,)}})
REJECTED = Outcome(False, "TopologyAffinityError", "Resources cannot be allocated with Topology locality")
CALLS = {"e/g": {"Allocate": 1}}


def found(expected: Expected, seen: Outcome) -> list[str]:
    return differences(expected, Seen(seen, CALLS), SIZES, NODE_OF_CPU, PLACES, "steps[0]")


def one(given: Assignment) -> Outcome:
    return Outcome(True, containers={"c": given})


def costing(cost: float, *, optimal: bool = True) -> Outcome:
    return Outcome(True, containers={"c": ON_ZERO}, cost=ChosenCost(cost, optimal))


def confined_to(cpus: Collection[int], nodes: Collection[int]) -> Outcome:
    return Outcome(True, confined=Confined(frozenset(cpus), frozenset(nodes)))


# An expectation, an outcome that meets it, one that does not, and a part of what is said then.
TABLE: list[tuple[Expected, Outcome, Outcome, str]] = [
    (Expected(admitted=True), one(ON_ZERO), REJECTED, "expected admission, was rejected (TopologyAffinityError"),
    (Expected(admitted=False), REJECTED, one(ON_ZERO), "expected rejection, was admitted"),
    (Expected(reason="TopologyAffinityError"), REJECTED, Outcome(False, "OutOfcpu"), "expected the reason"),
    (Expected(message="Topology locality"), REJECTED, Outcome(False, "X", "other"), "expected a message with"),
    (Expected(aligned="container"), one(ON_ZERO), one(SPREAD), "expected each container on one NUMA node"),
    (Expected(aligned="no"), one(SPREAD), one(ON_ZERO), "expected a container on several NUMA nodes"),
    (
        Expected(aligned="pod"),
        Outcome(True, containers={"c": ON_ONE, "d": ON_ONE}),
        Outcome(True, containers={"c": ON_ZERO, "d": ON_ONE}),
        "expected all containers on the same NUMA node",
    ),
    (
        Expected(cost=ExpectedCost(at_most=20)),
        costing(20.000000001),
        costing(20.1),
        "expected a cost of at most 20, was 20.1",
    ),
    (
        Expected(cost=ExpectedCost(optimal=True)),
        costing(1),
        costing(1, optimal=False),
        "expected a cost that is proven to be the least",
    ),
    (Expected(cost=ExpectedCost(at_most=1)), costing(1), one(ON_ZERO), "expected a cost, the node told none"),
    (Expected(numa="numa.count"), one(SPREAD), one(ON_ZERO), "expected c on 2 NUMA nodes"),
    (Expected(nodes=(1,)), one(ON_ONE), one(ON_ZERO), "expected the NUMA nodes [1], were [0]"),
    (Expected(containers={"c": {"cpus": "1-2"}}), one(ON_ZERO), one(ON_ONE), "expected c on the CPUs 1-2, were 6"),
    (Expected(containers={"c": {"cpu_count": 2}}), one(ON_ZERO), one(ON_ONE), "expected 2 CPUs for c, were 1"),
    (Expected(containers={"c": {"nodes": [0]}}), one(ON_ZERO), one(ON_ONE), "expected c on the NUMA nodes [0]"),
    (Expected(containers={"c": {"memory_nodes": [0, 1]}}), one(SPREAD), one(ON_ZERO), "expected c's memory on [0, 1]"),
    (
        Expected(containers={"c": {"memory": {"memory": "1Gi"}}}),
        one(SPREAD),
        one(ON_ZERO),
        "1073741824 bytes of memory",
    ),
    (Expected(containers={"c": {"devices": {"e/g": {"none": 2}}}}), one(NOWHERE), one(SPREAD), "{'none': 2}, were {"),
    (Expected(nodes=()), one(NOWHERE), one(ON_ONE), "expected the NUMA nodes [], were [1]"),
    (Expected(containers={"d": {}}), Outcome(True, containers={"d": ON_ONE}), one(ON_ONE), "expected a container d"),
    (Expected(containers={"c": {"devices": {"e/g": 2}}}), one(ON_ZERO), one(ON_ONE), "expected 2 of e/g for c"),
    (Expected(containers={"c": {"devices": {"e/g": {0: 1, 1: 1}}}}), one(SPREAD), one(ON_ZERO), "by NUMA node"),
    (Expected(containers={"c": {"devices": {"e/g": ["a", "c"]}}}), one(ON_ZERO), one(SPREAD), "expected ['a', 'c']"),
    (
        Expected(containers={"c": {"bridges": {"between": ["e/g", "e/n"], "at_most": 2}}}),
        one(BESIDE),
        one(APART),
        "0000:17:00.0 and 0000:3d:00.0 below the host bridges pci0000:16 and pci0000:39",
    ),
    (
        Expected(containers={"c": {"bridges": {"between": ["e/n", "e/g"], "at_most": 2}}}),
        one(BESIDE),
        one(ELSEWHERE),
        "of which the PCI tree has not both",
    ),
    (
        Expected(containers={"c": {"bridges": {"between": ["e/g", "e/n"], "at_most": 2}}}),
        one(BESIDE),
        one(CARD_ALONE),
        "expected e/g for c, were none",
    ),
    (
        Expected(confined=ExpectedConfined(cpus={1: "half numa.cpus + 1"}, memory_nodes=(1,))),
        confined_to({5, 6}, {1}),
        confined_to({1, 6}, {1}),
        "expected the pod's cgroup's CPUs by NUMA node {1: 2}, were {0: 1, 1: 1}",
    ),
    (
        Expected(confined=ExpectedConfined(memory_nodes=())),
        confined_to({5}, ()),
        confined_to({5}, {0}),
        "expected the pod's memory confined to [], was to [0]",
    ),
    (
        Expected(confined=ExpectedConfined(cpus="5")),
        confined_to({5}, ()),
        one(ON_ZERO),
        "expected a bound pod, was one that is confined to nothing",
    ),
    (
        Expected(evicted=frozenset({"a", "b"})),
        Outcome(True, evicted=("b", "a")),
        Outcome(True, evicted=("b",)),
        "expected that ['a', 'b'] are evicted, were ['b']",
    ),
    (
        Expected(admitted=True),
        one(ON_ZERO),
        Outcome(False, "Pending", "x"),
        "expected admission, was pended (Pending: x)",
    ),
    (
        Expected(containers={"c": {"same_cpus_as": "d"}}),
        Outcome(True, containers={"c": ON_ONE, "d": ON_ONE}),
        Outcome(True, containers={"c": ON_ZERO, "d": ON_ONE}),
        "expected c on the CPUs of d",
    ),
]


@pytest.mark.parametrize(("expected", "good", "bad", "text"), TABLE, ids=[row[3][:40] for row in TABLE])
def test_an_expectation_holds_and_fails(expected: Expected, good: Outcome, bad: Outcome, text: str) -> None:
    assert found(expected, good) == []
    (told,) = found(expected, bad)
    assert told.startswith("steps[0]: ")
    assert text in told


@pytest.mark.parametrize(("most", "held"), [(2, True), (1, False)])
def test_each_bridge_between_two_devices_counts(most: int, held: bool) -> None:
    expected = Expected(containers={"c": {"bridges": {"between": ["e/g", "e/n"], "at_most": most}}})
    told = "steps[0]: expected at most 1 bridges between c's devices, were 2 between 0000:3c:00.0 and 0000:3d:00.0"
    assert found(expected, one(BESIDE)) == ([] if held else [told])


@pytest.mark.parametrize(("times", "held"), [(1, True), (2, False)])
def test_calls(times: int, held: bool) -> None:
    expected: Any = Expected(calls={"e/g": {"Allocate": times}})
    assert (found(expected, one(ON_ZERO)) == []) is held


# The nodes with CPUs are 0 and 8, and have 4 threads a core; the others hold the memory of GPUs.
POWER = fake_sysfs.preset("power9-ac922")
ON_EIGHT = given_of({88, 89, 90, 91}, (Block((8,), "memory", 1 << 20),), {"e/g": {"a": (8,)}, "e/n": {"b": (0, 8)}})


@pytest.mark.parametrize(
    ("expected", "held"),
    [
        (Expected(nodes=(0, 1)), True),
        (Expected(nodes=(-1,)), False),
        (Expected(containers={"c": {"nodes": [0, 1]}}), True),
        (Expected(containers={"c": {"nodes": [0, 8]}}), True),  # no ninth node has CPUs or memory: an id
        (Expected(containers={"c": {"nodes": [1]}}), False),
        (Expected(containers={"c": {"memory_nodes": [1]}}), True),
        (Expected(containers={"c": {"memory_nodes": [0]}}), False),
        (Expected(containers={"c": {"cpus": {1: "core.cpus"}}}), True),
        (Expected(containers={"c": {"cpus": {1: "core.cpus + 1"}}}), False),
        (Expected(containers={"c": {"cpus": {0: 4}}}), False),
        (Expected(containers={"c": {"cpus": "core0"}}), False),
        (Expected(containers={"c": {"devices": {"e/g": {"1": 1}, "e/n": {"0,1": 1}}}}), True),
        (Expected(containers={"c": {"devices": {"e/g": {"0": 1}}}}), False),
        (Expected(metrics={'m{numa_node="1"}': "core.cpus"}), True),
        (Expected(metrics={'m{numa_node="0"}': "core.cpus"}), False),
    ],
)
def test_nodes_are_told_by_their_positions(expected: Expected, held: bool) -> None:
    sizes = sizes_of(POWER, memory_static=False)
    node_of_cpu = {cpu.id: cpu.node for cpu in POWER.cpus}
    seen = Seen(one(ON_EIGHT), metrics={'m{numa_node="8"}': 4.0, 'm{numa_node="0"}': 0.0})
    assert (differences(expected, seen, sizes, node_of_cpu, {}, "steps[0]") == []) is held


@pytest.mark.parametrize(("waiting", "held"), [(("b", "a"), True), (("a",), False), (("a", "b", "c"), False)])
def test_exactly_these_pods_wait(waiting: tuple[str, ...], held: bool) -> None:
    expected = Expected(pending=frozenset({"a", "b"}))
    told = differences(expected, Seen(one(ON_ZERO), pending=waiting), SIZES, NODE_OF_CPU, PLACES, "steps[0]")
    assert told == ([] if held else [f"steps[0]: expected that ['a', 'b'] wait, were {sorted(waiting)}"])


def test_a_message_with_sizes() -> None:
    refused = Outcome(False, "UnexpectedAdmissionError", "requested=4, available=3")
    assert found(Expected(message="requested=${numa.cpus + 1}, available=${numa.cpus}"), refused) == []
    assert found(Expected(message="requested=${numa.cpus}"), refused) == [
        "steps[0]: expected a message with 'requested=3', was 'requested=4, available=3'"
    ]
