"""Memory: what was reported of the memory manager."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.harness.explain.reported_devices import GIB, MIB, Case, check, explained, pod

STATIC = """
cpuManagerPolicy: static
memoryManagerPolicy: Static
"""


def _memory_state(entries: Mapping[str, Any], **nodes: Mapping[str, Any]) -> str:
    """What a kubelet's file says, without a checksum: it was cut off."""
    machine = {name.removeprefix("node"): one for name, one in nodes.items()}
    return json.dumps({"policyName": "Static", "machineState": machine, "entries": entries})


def _node(assigned: int, cells: list[int], total: int, kept: int, reserved: int = 0, pages: int = 0) -> dict[str, Any]:
    def table(total: int, kept: int, allocatable: int, reserved: int) -> dict[str, int]:
        names = ("total", "systemReserved", "allocatable", "reserved", "free")
        return dict(zip(names, (total, kept, allocatable, reserved, allocatable - reserved), strict=True))

    tables = {"memory": table(total, kept, total - pages - kept, reserved), "hugepages-1Gi": table(pages, 0, pages, 0)}
    return {"numberOfAssignments": assigned, "memoryMap": tables, "cells": cells}


CASES = {
    # 94 GiB each; 10340 MiB of node 0 are reserved: 96256 - 10340 = 85916 MiB, less than 85 GiB + ... see `free`.
    "no group beside a single node": Case(
        "kubernetes issue 120733",
        "two Guaranteed pods of 85 GiB on two NUMA nodes, one of which has memory reserved: the second is refused",
        "pack:2 [numa(memory=94GiB)] core:24 pu:2",
        STATIC
        + """
topologyManagerPolicy: best-effort
reservedSystemCPUs: 0,48
reservedMemory:
- numaNode: 0
  limits: {memory: 10340Mi}
systemReserved: {memory: 10240Mi}
""",
        pod("second", app={"cpu": 1, "memory": "85Gi"}),
        running=(pod("first", app={"cpu": 1, "memory": "85Gi"}),),
        reason="UnexpectedAdmissionError",
        what="memory",
        cause="not given",
        resource="memory",
        wanted=85 * GIB,
        # node 0: 94 GiB - 10340 MiB = 85916 MiB < 85 GiB = 87040 MiB, so that the first pod is on node 1.
        free={0: 94 * GIB - 10340 * MIB, 1: 9 * GIB},
        waits=True,
        sources=("120733", "PR 138605"),
        helps=(
            "remove pod default/first",
            "ask for 85916 MiB",
            "memory manager off",
            # 5170 MiB on each leave 91086 MiB, enough for a pod on each of them
            "reserve 5170 MiB of memory on every NUMA node",
        ),
        says=("NUMA node 1 serves",),
    ),
    "room over both, but each serves somebody": Case(
        "kubernetes issue 110216",
        "two nodes of 16 GB with 14 GB left each, and a pod of 15 GB: best-effort, and yet refused",
        {"packages": 2, "cores": 4, "memory": 16_000_000_000 + 50 * MIB},
        STATIC
        + """
topologyManagerPolicy: best-effort
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 50Mi}}, {numaNode: 1, limits: {memory: 50Mi}}]
""",
        pod("third", app={"cpu": 1, "memory": 15_000_000_000}),
        running=(
            pod("one", app={"cpu": 3, "memory": 2_000_000_000}),
            pod("two", app={"cpu": 3, "memory": 2_000_000_000}),
        ),
        reason="UnexpectedAdmissionError",
        what="memory",
        cause="not given",
        resource="memory",
        wanted=15_000_000_000,
        free={0: 14_000_000_000, 1: 14_000_000_000},
        waits=True,
        sources=("120733", "PR 138605"),
        says=("NUMA node 0 serves", "NUMA node 1 serves"),
    ),
    "memory needs two nodes, CPUs one": Case(
        "kubernetes issue 128669",
        "restricted refuses a pod whose memory needs both NUMA nodes though nobody else is there",
        {
            "packages": 2,
            "cores": 20,
            "threads": 2,
            "numa": {
                0: {"memory": 99_759_243_264, "hugepages": {"1Gi": 10}},
                1: {"memory": 99_283_886_080, "hugepages": {"1Gi": 10}},
            },
        },
        "--cpu-manager-policy=static --memory-manager-policy=Static --topology-manager-policy=restricted "
        "--reserved-cpus=0 --kube-reserved=memory=11534336000 "
        "--reserved-memory=0:memory=10538188800;1:memory=1101004800 --eviction-hard=memory.available<102400Ki",
        pod("both", app={"cpu": 1, "memory": "85Gi"}),
        reason="TopologyAffinityError",
        what="memory",
        cause="wider",
        resource="memory",
        wanted=85 * GIB,
        # What the reporter's memory_manager_state gives as allocatable.
        free={0: 78_483_636_224, 1: 87_445_463_040},
        waits=False,
        sources=("128669",),
        # 87445463040 / 1048576 = 83394.4
        helps=("ask for 83394 MiB", "topologyManagerPolicy to best-effort"),
        never=("remove", "CPUs instead"),
    ),
    "memory needs two nodes, by the state file": Case(
        "kubernetes issue 128669",
        "the same with memory_manager_state alone: the machine and the configuration follow it",
        "pack:2 [numa(memory=93GiB)] core:20 pu:2",
        "cpuManagerPolicy: static\ntopologyManagerPolicy: restricted\nreservedSystemCPUs: '0'",
        pod("both", app={"cpu": 1, "memory": "85Gi"}),
        files={
            "memory_manager_state": _memory_state(
                {},
                node0=_node(0, [0], 99_759_243_264, 10_538_188_800, pages=10 * GIB),
                node1=_node(0, [1], 99_283_886_080, 1_101_004_800, pages=10 * GIB),
            )
        },
        reason="TopologyAffinityError",
        what="memory",
        cause="wider",
        resource="memory",
        wanted=85 * GIB,
        free={0: 78_483_636_224, 1: 87_445_463_040},
        waits=False,
        sources=("128669",),
    ),
    "a pod of the state file holds a node": Case(
        "kubernetes issue 128708",
        "the pod of 256 MiB is known by its uid alone, from memory_manager_state and cpu_manager_state",
        "pack:2 [numa(memory=9GiB)] core:4 pu:1",
        "cpuManagerPolicy: static\ntopologyManagerPolicy: restricted\nreservedSystemCPUs: 0,4",
        pod("mgrr-2", app={"cpu": 1, "memory": "9Gi"}),
        files={
            "memory_manager_state": _memory_state(
                {"0f7a": {"mgrr-1": [{"numaAffinity": [0], "type": "memory", "size": 256 * MIB}]}},
                node0=_node(1, [0], 9 * GIB, GIB, reserved=256 * MIB),
                node1=_node(0, [1], 9 * GIB, GIB),
            ),
            "cpu_manager_state": json.dumps(
                {"policyName": "static", "defaultCpuSet": "0,2-7", "entries": {"0f7a": {"mgrr-1": "1"}}}
            ),
        },
        reason="UnexpectedAdmissionError",
        what="memory",
        cause="not given",
        resource="memory",
        wanted=9 * GIB,
        free={0: 8 * GIB - 256 * MIB, 1: 8 * GIB},
        sources=("128708", "128669"),
        says=("NUMA node 0 serves", "pod default/0f7a holds memory: 256 MiB"),
        assumes=("--running tells of their manifests",),
    ),
    "more than a node after a small pod": Case(
        "kubernetes issue 128708",
        "8 GiB on each of two nodes, a pod of 256 MiB, then one of 9 GiB under restricted: refused unexpectedly",
        "pack:2 [numa(memory=9GiB)] core:4 pu:1",
        "--cpu-manager-policy=static --memory-manager-policy=Static --reserved-cpus=0,4 "
        "--kube-reserved=memory=1Gi --system-reserved=memory=924Mi --topology-manager-policy=restricted "
        "--reserved-memory=0:memory=1Gi;1:memory=1Gi",
        pod("mgrr-2", app={"cpu": 1, "memory": "9Gi"}),
        running=(pod("mgrr-1", app={"cpu": 1, "memory": "256Mi"}),),
        reason="UnexpectedAdmissionError",
        what="memory",
        cause="not given",
        resource="memory",
        wanted=9 * GIB,
        free={0: 8 * GIB - 256 * MIB, 1: 8 * GIB},
        sources=("128708", "128669"),
        says=("NUMA node 0 serves",),
    ),
    "the pod's own first container is in the way": Case(
        "kubernetes issue 138495",
        "the first container takes memory of one node, the second needs GPUs of both: a preferred hint is refused",
        "pack:2 [numa(memory=32GiB)] core:8 pu:1",
        STATIC
        + """
topologyManagerPolicy: best-effort
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod(
            "training",
            sidecar={"cpu": 1, "memory": "1Gi"},
            trainer={"cpu": 10, "memory": "40Gi", "nvidia.com/gpu": 2},
        ),
        plugins={"nvidia.com/gpu": {0: 1, 1: 1}},
        reason="UnexpectedAdmissionError",
        what="memory",
        cause="not given",
        resource="memory",
        wanted=40 * GIB,
        waits=False,
        # On a group from the start, as the scope pod asks for both containers together.
        sources=("138495", "PR 138605"),
        helps=("topologyManagerScope to pod", "ask for 32 GiB"),
        never=("remove",),
    ),
    "a node of a group serves no single pod": Case(
        "kubernetes enhancement 1769, and a comment in kubernetes issue 120733",
        "a pod of 120 GiB has both nodes; one of 20 GiB finds room on each, and is refused by restricted",
        "pack:2 [numa(memory=96GiB)] core:24 pu:2",
        STATIC
        + """
topologyManagerPolicy: restricted
reservedSystemCPUs: 0,48
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("small", app={"cpu": 20, "memory": "20Gi"}),
        running=(pod("large", app={"cpu": 60, "memory": "120Gi"}),),
        reason="TopologyAffinityError",
        what="memory",
        cause="in use",
        resource="memory",
        wanted=20 * GIB,
        waits=True,
        sources=("enhancement 1769",),
        says=("pod default/large holds memory: 120 GiB of NUMA nodes 0+1",),
        helps=("remove pod default/large", "topologyManagerPolicy to best-effort"),
    ),
    "init containers ask again": Case(
        "kubernetes issue 123971",
        "two nodes of 128 GiB, pods whose init and app container ask for 100 GiB: refused when there is no third node",
        "pack:2 [numa(memory=128GiB)] core:8 pu:2",
        STATIC
        + """
topologyManagerPolicy: single-numa-node
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("c", {"prepare": {"cpu": 1, "memory": "100Gi"}}, app={"cpu": 1, "memory": "100Gi"}),
        running=(
            pod("a", {"prepare": {"cpu": 1, "memory": "100Gi"}}, app={"cpu": 1, "memory": "100Gi"}),
            pod("b", {"prepare": {"cpu": 1, "memory": "100Gi"}}, app={"cpu": 1, "memory": "100Gi"}),
        ),
        # No NUMA node has 100 GiB free, nor is there a group: no hints, so that the allocation fails.
        reason="UnexpectedAdmissionError",
        what="memory",
        resource="memory",
        wanted=100 * GIB,
        # The apps have what their init containers left.
        free={0: 28 * GIB - 100 * MIB, 1: 28 * GIB},
        waits=True,
        sources=("123971", "PR 138605"),
    ),
    "huge pages from one node, CPUs from two": Case(
        "kubernetes issue 119851",
        "CPUs are spread over both nodes, the huge pages all come from node 0: by design",
        {"packages": 2, "cores": 8, "threads": 1, "memory": "64GiB", "hugepages": {"1Gi": 16}},
        STATIC
        + """
topologyManagerPolicy: none
reservedSystemCPUs: "0"
cpuManagerPolicyOptions: {distribute-cpus-across-numa: "true"}
featureGates: {CPUManagerPolicyOptions: true}
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("dpdk", app={"cpu": 10, "memory": "8Gi", "hugepages-1Gi": "8Gi"}),
        what="policy",
        sources=("119851",),
        never=("remove",),
    ),
    "shared libraries are elsewhere": Case(
        "kubernetes issue 138523",
        "CPUs and memory of node 0, and pages of shared libraries on node 1: no fault",
        "pack:2 [numa(memory=64GiB)] core:8 pu:2",
        STATIC
        + """
topologyManagerPolicy: single-numa-node
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("app", app={"cpu": 4, "memory": "8Gi"}),
        sources=("138523",),
    ),
    "too many huge pages for a node": Case(
        "kubernetes issue 104682",
        "ten pages of 2 MiB on each node: 24 MiB need both nodes, which single-numa-node does not allow",
        {"packages": 2, "cores": 8, "threads": 1, "memory": "64GiB", "hugepages": {"2Mi": 10}},
        STATIC
        + """
topologyManagerPolicy: single-numa-node
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("one", app={"cpu": 2, "memory": "24Mi", "hugepages-2Mi": "24Mi"}),
        reason="TopologyAffinityError",
        what="memory",
        cause="too much",
        resource="hugepages-2Mi",
        wanted=24 * MIB,
        free={0: 20 * MIB, 1: 20 * MIB},
        waits=False,
        # restricted would want the CPUs, of which one node has enough, on both as well (issue 128669).
        helps=("ask for 20 MiB of hugepages-2Mi", "topologyManagerPolicy to best-effort"),
    ),
    "the huge pages beside the card are held": Case(
        "kubernetes issue 81009",
        "DPDK: the card is on node 0, whose huge pages another pod has; those of node 1 are of no use",
        {"packages": 2, "cores": 8, "threads": 1, "memory": "64GiB", "hugepages": {"1Gi": 8}},
        STATIC
        + """
topologyManagerPolicy: single-numa-node
reservedSystemCPUs: "0"
reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]
""",
        pod("dpdk", app={"cpu": 2, "memory": "1Gi", "hugepages-1Gi": "4Gi", "intel.com/sriov": 1}),
        {"intel.com/sriov": {0: 4}},
        running=(pod("other", app={"cpu": 2, "memory": "1Gi", "hugepages-1Gi": "6Gi"}),),
        reason="TopologyAffinityError",
        what="memory",
        cause="in use",
        resource="hugepages-1Gi",
        wanted=4 * GIB,
        free={0: 2 * GIB, 1: 8 * GIB},
        waits=True,
        sources=("sriov-network-operator PR 435",),
        helps=("ask for 2 GiB of hugepages-1Gi", "remove pod default/other"),
    ),
    "reservedMemory was not given": Case(
        "kubernetes issue 109766",
        "the Static policy without reservedMemory: the kubelet says 0 is not 993Mi, and does not start",
        "pack:1 [numa(memory=16GiB)] core:4 pu:2",
        STATIC
        + """
topologyManagerPolicy: single-numa-node
kubeReserved: {cpu: "1", memory: 893Mi}
""",
        pod("app", app={"cpu": 2, "memory": "1Gi"}),
        # 893 MiB and the eviction threshold that nobody gave, 100 MiB
        assumes=("reservedMemory 993 MiB",),
    ),
    "reservedMemory adds up to something else": Case(
        "kubernetes issue 109996 and numaresources-operator PR 80",
        "3 GiB on each node, but systemReserved and kubeReserved make 4 GiB: the kubelet does not start",
        "pack:2 [numa(memory=64GiB)] core:8 pu:2",
        STATIC
        + """
topologyManagerPolicy: best-effort
reservedMemory:
- limits: {memory: 3Gi}
  numaNode: 0
- limits: {memory: 3Gi}
  numaNode: 1
systemReserved: {cpu: 1000m, memory: 2Gi}
kubeReserved: {cpu: 1000m, memory: 2Gi}
""",
        pod("app", app={"cpu": 2, "memory": "1Gi"}),
        # 2 GiB + 2 GiB + the eviction threshold that nobody gave, 100 MiB
        assumes=("6 GiB", "4196 MiB", "make them equal"),
    ),
}


def test_what_a_container_got_before_its_memory_failed_is_free_for_it() -> None:
    explanation, _ = explained(CASES["the pod's own first container is in the way"])
    stocks = explanation.attempt.stocks
    # Of 8 CPUs of node 0 one is reserved and one is the first container's; the GPUs are there for the second alone.
    assert stocks["cpu"].free == {0: 6, 1: 8}
    assert stocks["nvidia.com/gpu"].free == {0: 1, 1: 1}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reported(case: Case) -> None:
    check(case)
