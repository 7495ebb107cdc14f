"""Which CPUs and memory the host keeps where pods are bound to CPUs, who says so, and what the node tells of it."""

from dataclasses import replace
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.config import node_config
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.reservations import Reservations, reserve
from numaproof.harness.pods.taints import ALL_THREE

MACHINE = "pack:2 [numa(memory=8GiB)] core:4 pu:1"  # CPUs 0-3 on node 0, 4-7 on node 1
GI, MI = 1 << 30, 1 << 20
CPU_TAINT = {"key": "CPUAffinity", "value": "dedicated", "effect": ALL_THREE}
NUMA_TAINT = {"key": "NUMACPUAffinity", "value": "strict", "effect": ALL_THREE}
MEMORY_TAINT = {"key": "NUMAMemoryPolicy", "value": "strict", "effect": ALL_THREE}
STATIC: dict[str, Any] = {"cpuManagerPolicy": "static"}
NO_EVICTION: dict[str, Any] = {"evictionHard": {"memory.available": "0"}}


def reserved(
    *taints: dict[str, str], isolated: tuple[int, ...] = (), systemd: set[int] | None = None, **kubelet: Any
) -> Reservations:
    config = node_config(NO_EVICTION | {"registerWithTaints": list(taints)} | kubelet)
    host = None if systemd is None else frozenset(systemd)
    machine = describe(replace(parse_machine(MACHINE), isolated=isolated))
    return reserve(replace(config, host_cpus=host), machine)


# Each source beside all those that come after it.
SOURCES: tuple[tuple[dict[str, Any], set[int], str], ...] = (
    (
        {
            "reservedSystemCPUs": "7",
            "systemd": {0, 4},
            "isolated": (1, 2, 3),
            "systemReserved": {"cpu": "3"},
        },
        {7},
        "reserved CPUs: 7: as reservedSystemCPUs says",
    ),
    (
        {"systemd": {0, 4}, "isolated": (1, 2, 3), "systemReserved": {"cpu": "3"}},
        {0, 4},
        "reserved CPUs: 0,4: systemd keeps the host's processes there (CPUAffinity)",
    ),
    (
        {"isolated": (1, 2, 3, 5), "systemReserved": {"cpu": "3"}},
        {0, 4, 6, 7},
        "reserved CPUs: 0,4,6-7: the kernel does not isolate them",
    ),
    ({"systemReserved": {"cpu": "2"}}, {0, 1}, "reserved CPUs: 0-1: by amount, in whole CPUs"),
    ({"kubeReserved": {"cpu": "1500m"}}, {0, 1}, "reserved CPUs: 0-1: by amount, in whole CPUs"),
)


@pytest.mark.parametrize("taint", [CPU_TAINT, NUMA_TAINT])
@pytest.mark.parametrize("policy", [{}, STATIC])
@pytest.mark.parametrize(("given", "cpus", "note"), SOURCES)
def test_the_first_source_that_says_anything_counts(
    given: dict[str, Any], cpus: set[int], note: str, policy: dict[str, Any], taint: dict[str, str]
) -> None:
    found = reserved(taint, **policy, **given)
    assert found.cpus == cpus
    assert found.allocatable["cpu"] == 8 - len(cpus)
    (line,) = (one for one in found.notes if one.startswith("reserved CPUs:"))
    assert line.startswith(note)
    assert line.endswith("; for others give reservedSystemCPUs") == ("reservedSystemCPUs" not in given)
    assert "\n" not in line


@pytest.mark.parametrize("given", [given for given, _cpus, _note in SOURCES[1:]])
@pytest.mark.parametrize("taints", [(), (MEMORY_TAINT,)])
def test_without_a_taint_for_cpus_the_kubelets_rule_counts(given: dict[str, Any], taints: Any) -> None:
    amount = {"cpu": "1500m"}
    plain = given | {"systemReserved": amount, "kubeReserved": {}}
    # The kubelet: under the static policy as many as the amount, rounded up; else none, and the amount is the amount.
    assert reserved(*taints, **STATIC, **plain).cpus == {0, 1}
    assert reserved(*taints, **STATIC, **plain).allocatable["cpu"] == 6.5
    assert reserved(*taints, **plain).cpus == frozenset()
    assert reserved(*taints, **plain).allocatable["cpu"] == 6.5
    assert [one for one in reserved(*taints, **plain).notes if "CPU" in one] == []


def test_an_amount_that_is_not_that_of_the_cpus_is_told() -> None:
    told = "systemReserved + kubeReserved: {} CPUs, and {} whole ones are reserved"
    assert told.format("3", "2") in reserved(CPU_TAINT, systemd={0, 4}, systemReserved={"cpu": "3"}).notes
    assert told.format("1.5", "2") in reserved(CPU_TAINT, kubeReserved={"cpu": "1500m"}).notes
    both = reserved(CPU_TAINT, systemReserved={"cpu": "500m"}, kubeReserved={"cpu": "500m"})
    assert both.cpus == {0}
    assert len(both.notes) == 1
    assert len(reserved(CPU_TAINT, systemd={0, 4}, systemReserved={"cpu": "2"}).notes) == 1
    assert len(reserved(CPU_TAINT, systemd={0, 4}).notes) == 1  # no amount, nothing to compare


def test_nothing_reserved_is_told_too_and_the_static_policy_refuses_it() -> None:
    found = reserved(CPU_TAINT)
    assert found.cpus == frozenset()
    assert found.allocatable["cpu"] == 8
    assert found.notes[0].startswith("reserved CPUs: none: no amount and no CPUs are reserved")
    with pytest.raises(UserError, match="the static policy requires"):
        reserved(CPU_TAINT, **STATIC)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reservedSystemCPUs": "8"}, "reservedSystemCPUs: CPUs 8 are not online here; choose of 0-7"),
        ({"systemd": {0, 9}}, "CPUAffinity of systemd: CPUs 9 are not online here; choose of 0-7"),
        ({"systemReserved": {"cpu": "9"}}, "systemReserved, kubeReserved: 9 CPUs, the machine has 8"),
    ],
)
def test_cpus_that_are_not_here_cannot_be_reserved(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        reserved(CPU_TAINT, **given)
    assert str(caught.value).startswith(message)


def test_a_machine_that_isolates_all_it_can_leaves_the_rest_to_the_host() -> None:
    assert reserved(CPU_TAINT, isolated=(1, 2, 3, 4, 5, 6, 7)).cpus == {0}


# Memory: as reservedMemory says; of what it leaves open, the lowest nodes.
@pytest.mark.parametrize(
    ("kubelet", "first", "second", "told"),
    [
        ({}, 0, 0, False),
        ({"systemReserved": {"memory": "1Gi"}}, GI, 0, True),
        ({"systemReserved": {"memory": "1Gi"}, "kubeReserved": {"memory": "512Mi"}}, GI + 512 * MI, 0, True),
        ({"evictionHard": {"memory.available": "100Mi"}}, 100 * MI, 0, True),
        ({"systemReserved": {"memory": "9Gi"}}, 8 * GI, GI, True),
        ({"systemReserved": {"memory": "99Gi"}}, 8 * GI, 8 * GI, True),
        (
            {"systemReserved": {"memory": "2Gi"}, "reservedMemory": [{"numaNode": 1, "limits": {"memory": "2Gi"}}]},
            0,
            2 * GI,
            False,
        ),
        (
            {"systemReserved": {"memory": "3Gi"}, "reservedMemory": [{"numaNode": 1, "limits": {"memory": "2Gi"}}]},
            GI,
            2 * GI,
            True,
        ),
    ],
)
def test_reserved_memory_is_taken_from_a_numa_node(
    kubelet: dict[str, Any], first: int, second: int, told: bool
) -> None:
    found = reserved(CPU_TAINT, **kubelet)
    assert [found.memory[node].get("memory", 0) for node in (0, 1)] == [first, second]
    notes = [one for one in found.notes if "without a word on which NUMA node" in one]
    assert len(notes) == told
    if told:
        assert f"{first} bytes of memory on NUMA node 0" in notes[0]
    # Nobody is told of it where nobody is bound.
    assert reserved(**kubelet).memory == found.memory
    assert not [one for one in reserved(**kubelet).notes if "NUMA node" in one]


def test_huge_pages_are_reserved_where_they_are() -> None:
    machine = describe(parse_machine(MACHINE))
    first, second = machine.memory_nodes
    nodes = (first, replace(second, hugepages={"hugepages-1Gi": 2 * GI}))
    config = node_config(NO_EVICTION | {"systemReserved": {"hugepages-1Gi": "1Gi"}})
    found = reserve(config, replace(machine, memory_nodes=nodes))
    assert found.memory[0].get("hugepages-1Gi", 0) == 0
    assert found.memory[1]["hugepages-1Gi"] == GI


def test_listed_cpus_are_noted_where_the_amount_is_another() -> None:
    found = reserved(CPU_TAINT, reservedSystemCPUs="0-1", systemReserved={"cpu": "500m"})
    assert found.notes[:2] == (
        "reserved CPUs: 0-1: as reservedSystemCPUs says",
        "systemReserved + kubeReserved: 0.5 CPUs, and 2 whole ones are reserved",
    )
    assert found.allocatable["cpu"] == 6
