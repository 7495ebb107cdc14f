"""Pods that wait to be bound, and what binding gives them, over the node's services.

The machine has CPUs 0-7 on NUMA node 0 and 8-15 on node 1; CPU 0 and 1 GiB of node 0 are the host's.
"""

from collections.abc import Mapping
from typing import Any

import grpc
import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin
from tests.harness.node.binding import (
    DEDICATED,
    EVERYTHING,
    NUMA,
    PREFERRED_MEMORY,
    STRICT_MEMORY,
    binder,
    cpu_entries,
    page,
    reason,
    refused_call,
    tolerating,
    written,
)
from tests.harness.node.running import GPU, STATIC, listed_plugins, pod, pod_resources, running_node

GI = 1 << 30
SINGLE = STATIC | {"topologyManagerPolicy": "single-numa-node"}


def listed(node: Node) -> dict[str, list[tuple[list[int], list[tuple[int, list[int]]]]]]:
    """What PodResources tells: by pod, the CPUs and memory of each container."""
    with pod_resources(node) as stub:
        answer = stub.List(resources_api.ListPodResourcesRequest(), timeout=120)
    return {
        one.name: [
            (list(c.cpu_ids), [(block.size, [node.ID for node in block.topology.nodes]) for block in c.memory])
            for c in one.containers
        ]
        for one in answer.pod_resources
    }


def test_a_pod_waits_until_it_is_bound() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        before = control.status()
        answer = control.admit(tolerating("a", [DEDICATED]))
        assert reason(answer.verdict) == "Pending"
        assert answer.verdict.message == "waits to be bound: spec.cpuAffinity not told yet"
        assert not answer.pod.containers
        assert (control.pending(), control.running()) == (["a"], [])
        assert control.status() == before
        assert listed(node) == {}
        assert cpu_entries(node.root) == {}
        (item,) = page(node, "/pods")["items"]
        assert item["status"]["phase"] == "Pending"
        (condition,) = item["status"]["conditions"]
        assert condition["status"] == "False"
        assert condition["message"] == "waits for spec.cpuAffinity"

        bound = control.bind("a", cpu_affinity="2-3")
        assert bound.verdict.admitted
        assert [list(one.cpus) for one in bound.pod.containers] == [[2, 3]]
        assert (control.pending(), control.running()) == ([], ["a"])
        assert [cpus for cpus, _memory in listed(node)["a"]] == [[2, 3]]
        assert cpu_entries(node.root) == {"uid-a": {"c0": "2-3"}}
        assert page(node, "/pods")["items"][0]["status"]["phase"] == "Running"
        assert page(node, "/pods")["items"][0]["spec"]["cpuAffinity"] == "2-3"
        kinds = [event.kind for event in events(node, control.state().last_event)]
        assert kinds == [api.PENDING, api.ADMITTED]


def events(node: Node, last: int) -> list[api.Event]:
    """All that has happened, but for plugins."""
    with binder(node) as control:
        found = []
        for event in control.stub.Watch(api.WatchRequest(), timeout=120):
            found.append(event)
            if event.number >= last:
                return found
    raise AssertionError


# What each toleration waits for, over every way to fill it.
@pytest.mark.parametrize(
    ("tolerations", "manifest", "binds"),
    [
        ([DEDICATED], {"cpuAffinity": "2-3"}, []),
        ([NUMA], {"numaNodeID": "1"}, []),
        ([DEDICATED, NUMA], {"cpuAffinity": "8-9", "numaNodeID": "1"}, []),
        ([EVERYTHING], {}, []),
        ([DEDICATED], {}, [{"cpu_affinity": "2-3"}]),
        ([NUMA], {}, [{"numa_node_id": "1"}]),
        ([{"key": "NUMAAffinity", "operator": "Exists"}], {}, [{"numa_node_id": "0"}]),
        ([DEDICATED, NUMA], {}, [{"cpu_affinity": "8-9", "numa_node_id": "1"}]),
        ([DEDICATED, NUMA], {}, [{"numa_node_id": "1"}, {"cpu_affinity": "8-9"}]),
        ([DEDICATED, NUMA], {}, [{"cpu_affinity": "8-9"}, {"numa_node_id": "1"}]),
        ([DEDICATED, NUMA], {"numaNodeID": "1"}, [{"cpu_affinity": "8-9"}]),
        ([DEDICATED], {}, [{"numa_node_id": "1"}, {"cpu_affinity": "8-9"}]),
        ([DEDICATED, NUMA], {"numaNodeID": "0"}, [{"numa_node_id": "1"}, {"cpu_affinity": "8-9"}]),
        (
            [DEDICATED, NUMA],
            {},
            [{"numa_node_id": "0"}, {"numa_node_id": ""}, {"cpu_affinity": "9-10"}, {"numa_node_id": "1"}],
        ),
    ],
)
def test_one_phase_or_many(
    tolerations: list[dict[str, str]], manifest: dict[str, str], binds: list[dict[str, str]]
) -> None:
    with running_node(SINGLE) as node, binder(node) as control:
        reasons = [reason(control.admit(tolerating("a", tolerations, **manifest)).verdict)]
        reasons += [reason(control.bind("a", **fields).verdict) for fields in binds]
        assert reasons == ["Pending"] * len(binds) + [""]
        told = dict(manifest)
        names = {"cpu_affinity": "cpuAffinity", "numa_node_id": "numaNodeID"}
        for fields in binds:
            told |= {names[key]: text for key, text in fields.items()}
        (running,) = control.state().pods
        assert running.binding.cpu_affinity == told.get("cpuAffinity", "")
        assert running.binding.numa_node_id == told.get("numaNodeID", "")
        if "cpuAffinity" in told:
            first, last = map(int, told["cpuAffinity"].split("-"))
            assert list(running.containers[0].cpus) == list(range(first, last + 1))
        elif "numaNodeID" in told:
            own = range(8) if told["numaNodeID"] == "0" else range(8, 16)
            assert set(running.containers[0].cpus) <= set(own)
        node.restart()
        with binder(node) as again:
            assert again.state().pods == [running]


def test_bound_pods_cannot_be_bound_again() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED], cpuAffinity="2-3"))
        control.admit(pod("plain", {"cpu": 1, "memory": "1Gi"}))
        before = written(node.root)
        for name in ("a", "plain"):
            with refused_call(grpc.StatusCode.FAILED_PRECONDITION, f"default/{name}: runs already"):
                control.bind(name, cpu_affinity="4-5")
        with refused_call(grpc.StatusCode.NOT_FOUND, "pod default/nobody: is not here"):
            control.bind("nobody", cpu_affinity="4-5")
        assert written(node.root) == before


def test_a_refused_bind_leaves_the_pod_as_it_was() -> None:
    with running_node(SINGLE) as node, binder(node) as control:
        control.admit(pod("other", {"cpu": 2, "memory": "1Gi"}))  # on CPUs of node 0
        taken = list(control.state().pods[0].containers[0].cpus)
        control.admit(tolerating("a", [DEDICATED, NUMA], numaNodeID="0"))
        control.admit(tolerating("wide", [DEDICATED]))
        before, files = control.state(), written(node.root)
        answer = control.bind("a", cpu_affinity=f"{taken[0]}-{taken[0] + 1}")
        assert reason(answer.verdict) == "CPUAffinityError"
        assert "are those of pod default/other" in answer.verdict.message
        assert answer.pod.binding.numa_node_id == "0"
        assert answer.pod.binding.cpu_affinity == ""
        assert reason(control.bind("wide", cpu_affinity="7-8").verdict) == "TopologyAffinityError"
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "pod a: spec.cpuAffinity: CPUs 8-9 are not of NUMA node 0"):
            control.bind("a", cpu_affinity="8-9")
        after = control.state()
        assert (after.pending, after.pods, after.memory) == (before.pending, before.pods, before.memory)
        assert written(node.root) == files
        assert control.bind("a", cpu_affinity="8-9", numa_node_id="1").verdict.admitted


def test_dedicated_cpus_are_one_set_for_all_containers_and_for_nobody_else() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        containers = ({"cpu": 2, "memory": "1Gi"}, {"cpu": 1, "memory": "1Gi"})
        assert control.admit(tolerating("a", [DEDICATED], *containers, cpuAffinity="2-4")).verdict.admitted
        assert [cpus for cpus, _ in listed(node)["a"]] == [[2, 3, 4], [2, 3, 4]]
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
        assert [cpus for cpus, _ in listed(node)["a"]] == [[8, 9, 10]] * 3  # the one that has ended is hidden
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
        assert [cpus for cpus, _ in listed(node)["a"]] == [[2, 3]]
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


def test_pods_that_wait_count_in_the_nodes_fit() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        assert reason(control.admit(tolerating("a", [DEDICATED], {"cpu": 8, "memory": "1Gi"})).verdict) == "Pending"
        assert reason(control.admit(tolerating("b", [DEDICATED], {"cpu": 7, "memory": "1Gi"})).verdict) == "Pending"
        for more in (tolerating("c", [DEDICATED], {"cpu": 1}), pod("c", {"cpu": 1, "memory": "1Gi"})):
            assert reason(control.admit(more).verdict) == "OutOfcpu"
        control.remove("uid-b")
        assert control.admit(pod("c", {"cpu": 7, "memory": "1Gi"})).verdict.admitted


def test_whoever_asks_twice_gets_the_first_answer() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        manifest = tolerating("a", [DEDICATED])
        first = control.admit(manifest)
        assert control.admit(manifest) == first
        control.bind("a", cpu_affinity="2-3")
        again = control.admit(manifest)
        assert again.verdict.admitted
        assert list(again.pod.containers[0].cpus) == [2, 3]
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "is admitted with another manifest"):
            control.admit(tolerating("a", [DEDICATED], cpuAffinity="4-5"))


def test_a_bound_pod_is_not_resized() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        control.bind("a", cpu_affinity="2-3")
        before = written(node.root)
        with refused_call(grpc.StatusCode.FAILED_PRECONDITION, "pod a: spec.containers: is bound", "not resized"):
            control.admit(tolerating("a", [DEDICATED], {"cpu": 3, "memory": "1Gi"}, cpuAffinity="2-4"))
        assert written(node.root) == before
        assert list(control.state().pods[0].containers[0].cpus) == [2, 3]


def test_a_node_with_a_name_takes_its_own_pods() -> None:
    with running_node(STATIC, name="n1") as node, binder(node) as control:
        assert control.status().name == "n1"
        other = control.admit(tolerating("a", [DEDICATED], nodeName="n2"))
        assert reason(other.verdict) == "NodeName"
        assert "spec.nodeName is n2, this is n1" in other.verdict.message
        assert control.pending() == []
        assert reason(control.admit(tolerating("b", [DEDICATED], nodeName="n1")).verdict) == "Pending"
        assert control.admit(pod("c", {"cpu": 1, "memory": "1Gi"})).verdict.admitted


CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Pending", tolerating("x", [DEDICATED])),
    ("Pending", tolerating("x", [NUMA])),
    ("Pending", tolerating("x", [DEDICATED, NUMA], numaNodeID="1")),
    ("OutOfcpu", tolerating("x", [DEDICATED], {"cpu": 16, "memory": "1Gi"})),
    ("OutOfmemory", tolerating("x", [DEDICATED], {"cpu": 1, "memory": "200Gi"})),
    ("CPUAffinityError", tolerating("x", [DEDICATED], {"cpu": "1500m", "memory": "1Gi"})),
    ("CPUAffinityError", tolerating("x", [DEDICATED], cpuAffinity="3-4")),
    ("NUMACPUAffinityError", tolerating("x", [NUMA], {"cpu": 9, "memory": "1Gi"})),
    ("NUMACPUAffinityError", tolerating("x", [NUMA], {"cpu": 6, "memory": "1Gi"}, numaNodeID="0")),
    ("NUMAMemoryPolicyError", tolerating("x", [NUMA, STRICT_MEMORY], {"cpu": 1, "memory": "65Gi"}, numaNodeID="1")),
    ("NodeName", tolerating("x", [NUMA], nodeName="n2")),
    ("ExceededQuota", tolerating("x", [DEDICATED], namespace="poor")),
    ("TopologyAffinityError", tolerating("x", [DEDICATED], cpuAffinity="7-8")),
    ("", tolerating("x", [DEDICATED], cpuAffinity="4-5")),
    ("", tolerating("x", [NUMA], {"cpu": "1500m", "memory": "1Gi"}, numaNodeID="1")),
    ("", tolerating("x", [EVERYTHING])),
    ("", pod("x", {"cpu": 2, "memory": "1Gi"})),
)


def test_explaining_tells_what_admitting_does() -> None:
    with running_node(SINGLE, name="n1") as node, binder(node) as control:
        control.quota("poor", "1")
        assert control.admit(tolerating("first", [DEDICATED], cpuAffinity="2-3")).verdict.admitted
        for expected, manifest in CASES:
            before = written(node.root)
            explained = control.explain(manifest)
            assert written(node.root) == before
            admitted = control.admit(manifest)
            assert reason(admitted.verdict) == expected, manifest
            assert explained.verdict == admitted.verdict, manifest
            assert given(explained.pod) == given(admitted.pod)
            control.remove("uid-x")


def given(one: api.Pod) -> list[tuple[str, list[int], list[tuple[int, list[int]]]]]:
    return [
        (each.name, list(each.cpus), [(block.size, list(block.nodes)) for block in each.memory])
        for each in one.containers
    ]


def test_a_pending_pod_is_explained_as_it_would_be_bound() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        manifest: Mapping[str, Any] = tolerating("a", [DEDICATED])
        control.admit(manifest)
        assert reason(control.explain(manifest).verdict) == "Pending"
        placed = tolerating("a", [DEDICATED], cpuAffinity="2-3")
        explained = control.explain(placed)
        assert explained.verdict.admitted
        bound = control.bind("a", cpu_affinity="2-3")
        assert given(explained.pod) == given(bound.pod)
        assert reason(control.explain(placed).verdict) == "CPUAffinityError"  # a second one like it


def test_removing_a_pod_that_waits_leaves_nothing() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        before = written(node.root)
        control.admit(tolerating("a", [DEDICATED]))
        assert written(node.root).keys() - before.keys() == {str(node.root / "pods" / "pod-uid-a.json")}
        assert control.remove("default/a") == "uid-a"
        assert written(node.root) == before
        with refused_call(grpc.StatusCode.NOT_FOUND):
            control.bind("a", cpu_affinity="2-3")
