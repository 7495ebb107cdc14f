"""NUMA nodes as others see them: capacity, and what is left of it beside the reservations."""

from dataclasses import replace

from numaproof.fake_sysfs import Cpu, Hugepages, Machine, NumaNode
from numaproof.harness.affinity.zones import zones_of
from numaproof.harness.decision.config import node_config
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.reservations import reserve
from tests.harness.affinity.sites import GI, zones

MI = 1 << 20


def test_a_zone_has_its_cpus_and_memory_less_what_is_reserved_there() -> None:
    first, second = zones(reservedSystemCPUs="0,8-9", evictionHard={"memory.available": "512Mi"})
    assert (first.id, second.id) == (0, 1)
    assert first.cpus == set(range(8))
    assert second.cpus == set(range(8, 16))
    assert first.reserved_cpus == {0}
    assert second.reserved_cpus == {8, 9}
    assert first.pod_cpus == set(range(1, 8))
    assert first.capacity["cpu"] == 8000
    assert first.allocatable["cpu"] == 7000
    assert second.allocatable["cpu"] == 6000
    assert first.capacity["memory"] == second.capacity["memory"] == 64 * GI
    # What nobody says the place of is taken from the lowest node.
    assert first.allocatable["memory"] == 64 * GI - 512 * MI
    assert second.allocatable["memory"] == 64 * GI


def test_reserved_memory_is_taken_from_the_nodes_that_it_names() -> None:
    rows = [{"numaNode": 0, "limits": {"memory": "1Gi"}}, {"numaNode": 1, "limits": {"memory": "3Gi"}}]
    first, second = zones(reservedMemory=rows, systemReserved={"memory": "4Gi"})
    assert first.allocatable["memory"] == 63 * GI
    assert second.allocatable["memory"] == 61 * GI


def test_huge_pages_are_not_ordinary_memory() -> None:
    cpus = (Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 1))
    nodes = (
        NumaNode(0, 8 * GI, (Hugepages(2048, 512), Hugepages(1 << 20, 2)), (10, 21)),
        NumaNode(1, 4 * GI, (), (21, 10)),
    )
    described = describe(Machine("m", cpus, nodes))
    config = node_config({"evictionHard": {"memory.available": "0"}, "systemReserved": {"hugepages-1Gi": "1Gi"}})
    first, second = zones_of(described, reserve(config, described))
    assert first.capacity["memory"] == 8 * GI - GI - 2 * GI
    assert first.capacity["hugepages-2Mi"] == GI
    assert first.capacity["hugepages-1Gi"] == 2 * GI
    assert first.allocatable["hugepages-1Gi"] == GI
    assert first.allocatable["hugepages-2Mi"] == GI
    assert second.capacity["memory"] == 4 * GI
    assert second.capacity.get("hugepages-1Gi", 0) == 0
    assert dict(first.distances) == {0: 10, 1: 21}
    assert dict(second.distances) == {0: 21, 1: 10}


def test_nodes_without_cpus_or_memory_are_listed_in_the_order_of_their_ids() -> None:
    cpus = (Cpu(0, 0, 0, 0, 3), Cpu(1, 1, 0, 0, 3))
    machine = Machine("m", cpus, (NumaNode(5, GI, (), (10, 20)), NumaNode(3, 0, (), (20, 10))))
    described = describe(machine)
    found = zones_of(described, reserve(node_config({"evictionHard": {"memory.available": "0"}}), described))
    assert [(zone.id, zone.cpus, zone.capacity["cpu"]) for zone in found] == [(3, {0, 1}, 2000), (5, frozenset(), 0)]
    assert [zone.capacity["memory"] for zone in found] == [0, GI]


def test_offline_cpus_are_not_there() -> None:
    cpus = (Cpu(0, 0, 0, 0, 0), Cpu(1, -1, -1, -1, 0, online=False), Cpu(2, 2, 0, 0, 0))
    described = describe(Machine("m", cpus, (NumaNode(0, GI),)))
    (only,) = zones_of(described, reserve(node_config({}), described))
    assert only.cpus == {0, 2}
    assert only.capacity["cpu"] == 2000


def test_more_reserved_than_there_is_leaves_nothing() -> None:
    described = describe(Machine("m", (Cpu(0, 0, 0, 0, 0),), (NumaNode(0, GI),)))
    reservations = reserve(node_config({}), described)
    (zone,) = zones_of(described, replace(reservations, memory={0: {"memory": 2 * GI}}))
    assert zone.allocatable["memory"] == 0
    assert zone.capacity["memory"] == GI


def test_eight_nodes() -> None:
    found = zones("pack:2 die:4 [numa] core:2 pu:1")
    assert [zone.id for zone in found] == list(range(8))
    assert [sorted(zone.cpus) for zone in found] == [[2 * i, 2 * i + 1] for i in range(8)]
    assert [zone.allocatable["cpu"] for zone in found] == [1000] + [2000] * 7
