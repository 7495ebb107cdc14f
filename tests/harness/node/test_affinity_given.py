"""What bound pods get: CPUs of their own or shared, memory and devices of their NUMA node, over the node's services.

The machine has CPUs 0-7 on NUMA node 0 and 8-15 on node 1; CPU 0 and 1 GiB of node 0 are the host's.
"""

from collections.abc import Mapping
from pathlib import Path

import grpc
import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin
from tests.harness.node.binding import (
    DEDICATED,
    NUMA,
    PREFERRED_MEMORY,
    STRICT_MEMORY,
    binder,
    cpu_entries,
    listed_cpus,
    reason,
    refused_call,
    tolerating,
    written,
)
from tests.harness.node.running import GPU, STATIC, listed_plugins, pod, running_node


def test_dedicated_cpus_are_one_set_for_all_containers_and_for_nobody_else() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        containers = ({"cpu": 2, "memory": "1Gi"}, {"cpu": 1, "memory": "1Gi"})
        assert control.admit(tolerating("a", [DEDICATED], *containers, cpuAffinity="2-4")).verdict.admitted
        assert listed_cpus(node)["a"] == [[2, 3, 4], [2, 3, 4]]
        assert cpu_entries(node.root)["uid-a"] == {"c0": "2-4", "c1": "2-4"}
        assert set(control.state().shared_cpus) == {0, 1, *range(5, 16)}
        assert control.available() == ["4", "8"]  # three CPUs, however many share them
        for cpus in ("4-6", "2-4"):
            assert reason(control.admit(tolerating("b", [DEDICATED], *containers, cpuAffinity=cpus)).verdict) == (
                "CPUAffinityError"
            )
        # Others get what is left, to the last CPU: 12 that are neither reserved nor pod a's.
        answer = control.admit(pod("rest", {"cpu": 12, "memory": "1Gi"}))
        assert set(answer.pod.containers[0].cpus) == {1, *range(5, 16)}
        control.remove("uid-a")
        assert {2, 3, 4} <= set(control.state().free_cpus)
        assert cpu_entries(node.root).keys() == {"uid-rest"}


def test_fractions_share_dedicated_cpus_and_init_containers_too() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        manifest = tolerating("a", [DEDICATED], {"cpu": "500m", "memory": "1Gi"}, {"cpu": "1500m", "memory": "1Gi"})
        manifest["spec"]["initContainers"] = [
            {"name": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
            {"name": "s", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
        ]
        manifest["spec"]["cpuAffinity"] = "8-10"
        answer = control.admit(manifest)
        assert answer.verdict.admitted
        assert [(one.name, list(one.cpus)) for one in answer.pod.containers] == [
            (name, [8, 9, 10]) for name in ("i", "s", "c0", "c1")
        ]
        assert listed_cpus(node)["a"] == [[8, 9, 10]] * 3  # the one that has ended is hidden
        node.restart()
        with binder(node) as again:
            assert [list(one.cpus) for one in again.state().pods[0].containers] == [[8, 9, 10]] * 4
            again.remove("uid-a")
            assert len(again.state().free_cpus) == 15


@pytest.mark.parametrize("cpu_policy", ["none", "static"])
def test_shared_cpus_are_for_others_too_but_never_theirs_alone(cpu_policy: str) -> None:
    config = STATIC | {"cpuManagerPolicy": cpu_policy}
    with running_node(config) as node, binder(node) as control:
        half = {"cpu": "1500m", "memory": "1Gi"}
        answer = control.admit(tolerating("a", [NUMA], half, half, numaNodeID="0", cpuAffinity="1-4"))
        assert answer.verdict.admitted
        assert [list(one.cpus) for one in answer.pod.containers] == [[], []]
        assert list(answer.pod.binding.cpuset_cpus) == [1, 2, 3, 4]
        assert control.available() == ["4", "8"]
        second = control.admit(tolerating("b", [NUMA], half, numaNodeID="0", cpuAffinity="3-4"))
        assert list(second.pod.binding.cpuset_cpus) == [3, 4]
        assert reason(control.admit(tolerating("c", [DEDICATED], cpuAffinity="4-5")).verdict) == "CPUAffinityError"
        # A pod that wants whole CPUs has node 1; the next one finds 5-7 alone on node 0.
        assert control.admit(pod("d", {"cpu": 8, "memory": "1Gi"})).verdict.admitted
        last = control.admit(pod("e", {"cpu": 2, "memory": "1Gi"}))
        assert last.verdict.admitted
        assert len(last.pod.containers[0].cpus) == (2 if cpu_policy == "static" else 0)
        assert set(last.pod.containers[0].cpus) <= {5, 6, 7}
        node.restart()
        with binder(node) as again:
            again.remove("uid-e")
            assert set(again.admit(pod("e", {"cpu": 2, "memory": "1Gi"})).pod.containers[0].cpus) <= {5, 6, 7}


def test_under_cpu_manager_none_dedicated_cpus_are_dedicated_as_well() -> None:
    config = {"reservedSystemCPUs": "0", "topologyManagerPolicy": "restricted"}
    with running_node(config) as node, binder(node) as control:
        assert reason(control.admit(tolerating("a", [DEDICATED])).verdict) == "Pending"
        assert control.bind("a", cpu_affinity="2-3").verdict.admitted
        assert listed_cpus(node)["a"] == [[2, 3]]
        assert reason(control.admit(tolerating("b", [DEDICATED], cpuAffinity="3-4")).verdict) == "CPUAffinityError"
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "spec.cpuAffinity: CPUs 0 are reserved"):
            control.admit(tolerating("b", [DEDICATED], cpuAffinity="0-1"))
        sharer = control.admit(tolerating("c", [NUMA], {"cpu": 1}, numaNodeID="0"))
        assert list(sharer.pod.binding.cpuset_cpus) == [1, 4, 5, 6, 7]
        node.restart()
        with binder(node) as again:
            assert {one.name: list(one.containers[0].cpus) for one in again.state().pods} == {"a": [2, 3], "c": []}
            assert reason(again.admit(tolerating("b", [DEDICATED], cpuAffinity="2-3")).verdict) == "CPUAffinityError"
            again.remove("uid-a")
            assert again.admit(tolerating("b", [DEDICATED], cpuAffinity="2-3")).verdict.admitted


def test_pods_bound_to_a_node_fit_there_together() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        part = {"cpu": "3500m", "memory": "1Gi"}
        assert control.admit(tolerating("a", [NUMA], part, numaNodeID="0")).verdict.admitted
        assert control.admit(tolerating("b", [NUMA], part, numaNodeID="0")).verdict.admitted
        assert control.available() == ["0", "8"]
        full = control.admit(tolerating("c", [NUMA], {"cpu": "100m", "memory": "1Gi"}, numaNodeID="0"))
        assert reason(full.verdict) == "NUMACPUAffinityError"
        assert full.verdict.message == "NUMA node 0: 0.1 CPUs are wanted, 0 are left for pods"
        # What was promised there is not given away to a pod that asks for no place.
        assert reason(control.admit(pod("d", {"cpu": 9, "memory": "1Gi"})).verdict) != ""
        assert set(control.admit(pod("d", {"cpu": 8, "memory": "1Gi"})).pod.containers[0].cpus) == set(range(8, 16))


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
def test_later_pods_go_where_nothing_was_promised(policy: str) -> None:
    """Node 0 has 7 CPUs for pods, of which a bound pod needs half of one; each of the others gets six of its own."""
    with running_node(STATIC | {"topologyManagerPolicy": policy}) as node, binder(node) as control:
        half = {"cpu": "500m", "memory": "1Gi"}
        assert control.admit(tolerating("bound", [NUMA], half, numaNodeID="0")).verdict.admitted
        assert control.admit(
            tolerating("more", [NUMA], {"cpu": "600m", "memory": "1Gi"}, numaNodeID="0")
        ).verdict.admitted
        first = control.admit(pod("first", {"cpu": 6, "memory": "1Gi"}))
        assert first.verdict.admitted, first.verdict.message
        taken = set(first.pod.containers[0].cpus)
        assert taken <= set(range(8, 16)) or policy == "none"
        assert len(taken & set(range(8))) <= 5
        node.restart()
        with binder(node) as again:
            last = again.admit(pod("last", {"cpu": 7, "memory": "1Gi"}))
            assert last.verdict.admitted == (policy in ("none", "best-effort")), last.verdict.message
            assert all(parse_quantity(one) >= 0 for one in again.available())


@pytest.mark.parametrize("cpu_policy", ["none", "static"])
@pytest.mark.parametrize("dedicated_first", [True, False])
def test_a_bound_pod_that_asks_for_no_cpu_has_one_to_run_on(cpu_policy: str, dedicated_first: bool) -> None:
    with running_node(STATIC | {"cpuManagerPolicy": cpu_policy}) as node, binder(node) as control:
        idle = tolerating("idle", [NUMA], {}, numaNodeID="1")
        all_of_it = tolerating("all", [DEDICATED], {"cpu": 8, "memory": "1Gi"}, cpuAffinity="8-15")
        first, second = (all_of_it, idle) if dedicated_first else (idle, all_of_it)
        assert control.admit(first).verdict.admitted
        refused = control.admit(second).verdict
        assert reason(refused) == "NUMACPUAffinityError"
        if dedicated_first:
            assert refused.message == "NUMA node 1: some CPU to run on is wanted, 0 are left for pods"
        else:
            assert list(control.state().pods[0].binding.cpuset_cpus) == list(range(8, 16))
            assert control.available() == ["7", "7999m"]
            fewer = tolerating("all", [DEDICATED], {"cpu": 7, "memory": "1Gi"}, cpuAffinity="8-14")
            assert control.admit(fewer).verdict.admitted
            (cpuset,) = (one.binding.cpuset_cpus for one in control.state().pods if one.name == "idle")
            assert list(cpuset) == [15]


def test_cpus_of_unequal_cores_are_given_once() -> None:
    """The kubelet's CPU manager takes whole cores by the average number of threads, and so a CPU that is in use."""
    config = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}
    with running_node(config, "laptop") as node:
        with binder(node) as control:
            for name, count in (("a", 7), ("b", 2), ("c", 2)):
                answer = control.admit(tolerating(name, [NUMA], {"cpu": count, "memory": "100Mi"}, numaNodeID="0"))
                assert answer.verdict.admitted, answer.verdict.message
            assert control.admit(pod("unbound", {"cpu": 2, "memory": "100Mi"})).verdict.admitted
            held = [cpu for one in control.state().pods for cpu in one.containers[0].cpus]
            assert len(held) == len(set(held)) == 13
            control.remove("uid-b")
        node.restart()


def test_a_cpu_of_a_socket_that_the_kubelet_takes_as_a_whole_is_given_once(tmp_path: Path) -> None:
    """Of sockets with 46 and 48 CPUs, the kubelet takes one with 47 free CPUs, the average, for free, and all of it."""
    machine = tmp_path / "machine.yaml"
    machine.write_text("preset: xeon-2s\noffline: 23,71\n")
    config = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,48"}
    with running_node(config, str(machine)) as node, binder(node) as control:
        one = tolerating("bound", [DEDICATED], {"cpu": 1, "memory": "1Gi"}, cpuAffinity="24")
        assert control.admit(one).verdict.admitted
        before = written(node.root)
        refused = control.admit(pod("large", {"cpu": 60, "memory": "1Gi"})).verdict
        assert reason(refused) == "CPUAffinityError"
        assert refused.message == "the CPU manager chose the CPUs 24, those of pod default/bound"
        assert written(node.root) == before


# The memory of a bound pod, as its toleration, or the node's taint, wants it. Node 1 has 64 GiB, node 0 one less.
@pytest.mark.parametrize("manager", ["Static", "None"])
@pytest.mark.parametrize(
    ("toleration", "memory", "expected"),
    [
        (STRICT_MEMORY, "64Gi", ""),
        (STRICT_MEMORY, "65Gi", "NUMAMemoryPolicyError"),
        (PREFERRED_MEMORY, "65Gi", ""),
        (PREFERRED_MEMORY, "1Gi", ""),
    ],
)
def test_memory_of_a_bound_pod(manager: str, toleration: dict[str, str], memory: str, expected: str) -> None:
    static = STATIC if manager == "Static" else {"reservedSystemCPUs": "0", "cpuManagerPolicy": "static"}
    with running_node(static) as node, binder(node) as control:
        answer = control.admit(tolerating("a", [NUMA, toleration], {"cpu": 2, "memory": memory}, numaNodeID="1"))
        assert reason(answer.verdict) == expected
        if expected:
            return
        strict = toleration is STRICT_MEMORY
        assert list(answer.pod.binding.cpuset_mems) == ([1] if strict else [])
        blocks = [list(block.nodes) for one in answer.pod.containers for block in one.memory]
        if manager == "None":
            assert blocks == []
        elif memory == "65Gi":
            assert blocks == [[0, 1]]
            # All of its own NUMA node, and the rest of the other.
            assert [int(one) >> 30 for one in control.available("memory")] == [62, 0]
        else:
            assert blocks == [[1]]
        held = control.available("memory")
        if strict:
            assert held[1] == "0"
            other = control.admit(tolerating("b", [NUMA, toleration], {"cpu": 1, "memory": "1Gi"}, numaNodeID="1"))
            assert reason(other.verdict) == "NUMAMemoryPolicyError"
            near = control.admit(tolerating("c", [NUMA, PREFERRED_MEMORY], {"cpu": 1, "memory": "1Gi"}, numaNodeID="1"))
            assert near.verdict.admitted, near.verdict.message
            elsewhere = [list(block.nodes) for one in near.pod.containers for block in one.memory]
            assert elsewhere == ([[0]] if manager == "Static" else [])


GPUS = [MockDevice("g0", (0,)), MockDevice("g1", (1,))]


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node", "strict", "cost"])
@pytest.mark.parametrize("home", [0, 1])
def test_devices_follow_the_bound_node(policy: str, home: int) -> None:
    config = STATIC | {"topologyManagerPolicy": policy}
    with (
        running_node(config) as node,
        binder(node) as control,
        listed_plugins(node, MockPlugin(GPU, GPUS, node.device_plugins)),
    ):
        control.admit(tolerating("a", [NUMA], {"cpu": 2, "memory": "1Gi", GPU: 1}))
        answer = control.bind("a", numa_node_id=str(home))
        assert answer.verdict.admitted, answer.verdict.message
        assert devices_of(answer.pod) == [f"g{home}"]
        # The other node's device is all that is left: policies that insist refuse it, and the pod waits on.
        control.admit(tolerating("b", [NUMA], {"cpu": 2, "memory": "1Gi", GPU: 1}))
        far = control.bind("b", numa_node_id=str(home))
        if policy in ("none", "best-effort", "cost"):
            assert far.verdict.admitted
            assert devices_of(far.pod) == [f"g{1 - home}"]
        else:
            assert reason(far.verdict) == "TopologyAffinityError"
            assert control.pending() == ["b"]
            near = control.bind("b", numa_node_id=str(1 - home))
            assert near.verdict.admitted
            assert devices_of(near.pod) == [f"g{1 - home}"]


def test_a_bind_that_a_plugin_fails_leaves_the_pod_as_it_was() -> None:
    faults: Mapping[str, list[Fault]] = {"Allocate": [Fault("error", "RESOURCE_EXHAUSTED", times=1)]}
    with (
        running_node(STATIC) as node,
        binder(node) as control,
        listed_plugins(node, MockPlugin(GPU, GPUS, node.device_plugins, faults=faults)),
    ):
        control.admit(tolerating("a", [DEDICATED], {"cpu": 2, "memory": "1Gi", GPU: 1}))
        before, status = control.state(), control.status()
        failed = control.bind("a", cpu_affinity="8-9")
        assert reason(failed.verdict) == "UnexpectedAdmissionError"
        after = control.state()
        assert (after.pending, after.pods, after.memory) == (before.pending, before.pods, before.memory)
        assert (after.shared_cpus, after.free_cpus) == (before.shared_cpus, before.free_cpus)
        assert not after.plugins[0].allocated
        assert control.status() == status
        assert cpu_entries(node.root) == {}
        assert control.bind("a", cpu_affinity="8-9").verdict.admitted


def devices_of(given: api.Pod) -> list[str]:
    return [device.id for one in given.containers for held in one.devices for device in held.devices]
