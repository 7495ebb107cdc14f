"""What the node makes of a machine: groups of CPUs, memory, reservations."""

from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import Cache, Cpu, Hugepages, Machine, NumaNode, parse_machine, preset
from numaproof.harness.decision.config import node_config
from numaproof.harness.decision.discovery import cpu_rows, describe, hugepage_resource
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import Reservations, reserve
from numaproof.harness.providers.memory import MemoryNode

GI = 1 << 30
TWO_NODES = NodeDescription(
    cpu_rows=tuple((cpu, cpu, cpu // 4, cpu // 4, cpu // 4) for cpu in range(8)),
    memory_nodes=(MemoryNode(0, 8 * GI, {"hugepages-1Gi": 2 * GI}), MemoryNode(1, 8 * GI, {"hugepages-1Gi": 0})),
    node_ids=(0, 1),
)


def machine(*cpus: Cpu, caches: tuple[Cache, ...] = ()) -> Machine:
    nodes = tuple(NumaNode(node, GI) for node in sorted({cpu.node for cpu in cpus}))
    return Machine("m", cpus, nodes, caches)


def test_a_core_is_known_by_its_lowest_cpu_within_its_node_and_package() -> None:
    # Core ids repeat from package to package; siblings are numbered far apart.
    seen = machine(
        Cpu(0, 0, 0, 0, 0),
        Cpu(1, 0, 0, 1, 1),
        Cpu(2, 1, 0, 0, 0),
        Cpu(4, 0, 0, 0, 0),
        Cpu(5, 0, 0, 1, 1),
        Cpu(6, 1, 0, 0, 0),
    )
    assert [row[:2] + row[3:] for row in cpu_rows(seen)] == [
        (0, 0, 0, 0),
        (1, 1, 1, 1),
        (2, 2, 0, 0),
        (4, 0, 0, 0),
        (5, 1, 1, 1),
        (6, 2, 0, 0),
    ]


def test_a_core_id_shared_by_two_nodes_of_a_package_is_two_cores() -> None:
    rows = cpu_rows(machine(Cpu(0, 7, 0, 0, 0), Cpu(1, 7, 0, 0, 1)))
    assert [row[1] for row in rows] == [0, 1]


def test_an_offline_cpu_takes_no_part() -> None:
    rows = cpu_rows(machine(Cpu(0, 0, 0, 0, 0), Cpu.offline(1, 0), Cpu(2, 1, 0, 0, 0)))
    assert [row[0] for row in rows] == [0, 2]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (((0, 1, 2, 3),), [3, 3, 3, 3]),  # it spans the node: the socket's id instead
        (((0, 1), (2, 3)), [40, 40, 41, 41]),
        (((0, 1),), [40, 40, 3, 3]),  # half of the node has none
        ((), [3, 3, 3, 3]),
    ],
)
def test_a_last_level_cache_counts_unless_it_spans_exactly_its_node(
    groups: tuple[tuple[int, ...], ...], expected: list[int]
) -> None:
    cpus = [Cpu(cpu, cpu, 0, 3, 0) for cpu in range(4)]
    caches = tuple(Cache(3, "Unified", 1 << 20, group, 40 + index) for index, group in enumerate(groups))
    assert [row[2] for row in cpu_rows(machine(*cpus, caches=caches))] == expected


def test_a_cache_that_spans_two_nodes_counts() -> None:
    cpus = [Cpu(0, 0, 0, 0, 0), Cpu(1, 1, 0, 0, 1)]
    caches = (Cache(3, "Unified", 1 << 20, (0, 1), 9),)
    assert [row[2] for row in cpu_rows(machine(*cpus, caches=caches))] == [9, 9]


def test_a_machine_of_many_shapes_is_described() -> None:
    described = describe(preset("gb200"))
    assert len(described.node_ids) == 34
    assert {row[3] for row in described.cpu_rows} == {0, 1}
    assert described.distances[0][0] == 10
    seen = Machine("m", (Cpu(0, 0, 0, 0, 4),), (NumaNode(4, GI, (Hugepages(2048, 3),)),))
    assert describe(seen).memory_nodes == (MemoryNode(4, GI, {"hugepages-2Mi": 6 << 20, "hugepages-1Gi": 0}),)
    assert describe(parse_machine("pack:2 [numa(memory=1GB)] core:2 pu:2")).node_ids == (0, 1)


def test_hugepages_have_the_names_that_pods_ask_for() -> None:
    sizes = (64, 2048, 32768, 1048576, 16777216)
    assert [hugepage_resource(size) for size in sizes] == [
        "hugepages-64Ki",
        "hugepages-2Mi",
        "hugepages-32Mi",
        "hugepages-1Gi",
        "hugepages-16Gi",
    ]


def reserved(**content: Any) -> Reservations:
    return reserve(node_config(content), TWO_NODES)


def test_pods_get_what_is_neither_reserved_nor_kept_from_eviction_nor_in_huge_pages() -> None:
    found = reserved(
        systemReserved={"cpu": "500m", "memory": "1Gi"},
        kubeReserved={"cpu": "250m"},
        evictionHard={"memory.available": "25%"},
    )
    assert found.cpus == frozenset()
    assert found.allocatable["cpu"] == 8 - 0.75
    assert found.allocatable["memory"] == 16 * GI - GI - 4 * GI - 2 * GI
    assert found.allocatable["hugepages-1Gi"] == 2 * GI
    assert found.allocatable["pods"] == 110


def test_a_list_of_cpus_replaces_every_reserved_amount() -> None:
    found = reserved(cpuManagerPolicy="static", systemReserved={"cpu": "5"}, reservedSystemCPUs="0,7")
    assert found.cpus == {0, 7}
    assert found.allocatable["cpu"] == 6


def test_a_reserved_amount_is_rounded_up_and_picked_by_the_static_policy() -> None:
    assert reserved(cpuManagerPolicy="static", kubeReserved={"cpu": "1500m"}).cpus == {0, 1}


STATIC = {"memoryManagerPolicy": "Static"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"reservedSystemCPUs": "0,8-9"}, "reservedSystemCPUs: CPUs 8-9 are not online here; choose of 0-7"),
        ({"cpuManagerPolicy": "static"}, "requires systemReserved.cpu + kubeReserved.cpu to be greater than zero"),
        ({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "9"}}, "unable to reserve the required amount"),
        (STATIC, "reservedMemory: the total amount of memory, 0 bytes, is not equal to the 104857600 bytes"),
        (STATIC | {"reservedMemory": [{"numaNode": 2, "limits": {"memory": "100Mi"}}]}, "NUMA node 2 does not exist"),
        (
            STATIC
            | {
                "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
                "systemReserved": {"hugepages-1Gi": "1Gi"},
            },
            "the total amount of hugepages-1Gi, 0 bytes, is not equal to the 1073741824 bytes",
        ),
    ],
)
def test_what_does_not_fit_the_machine_is_refused(content: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError) as caught:
        reserved(**content)
    assert text in str(caught.value)


def test_reserved_memory_may_be_spread_over_nodes() -> None:
    limits = [{"numaNode": node, "limits": {"memory": "550Mi"}} for node in (0, 1)]
    found = reserved(memoryManagerPolicy="Static", reservedMemory=limits, kubeReserved={"memory": "1000Mi"})
    assert found.allocatable["memory"] == 16 * GI - 2 * GI - (1100 << 20)
