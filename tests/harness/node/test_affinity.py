"""Pods that wait to be bound, and binding them, over the node's services.

The machine has CPUs 0-7 on NUMA node 0 and 8-15 on node 1; CPU 0 and 1 GiB of node 0 are the host's.
"""

from collections.abc import Mapping
from typing import Any

import grpc
import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.node.node import Node
from tests.harness.node.binding import (
    DEDICATED,
    EVERYTHING,
    NUMA,
    STRICT_MEMORY,
    binder,
    cpu_entries,
    listed_cpus,
    page,
    reason,
    refused_call,
    tolerating,
    written,
)
from tests.harness.node.running import STATIC, pod, running_node

SINGLE = STATIC | {"topologyManagerPolicy": "single-numa-node"}


def test_a_pod_waits_until_it_is_bound() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        before = control.status()
        answer = control.admit(tolerating("a", [DEDICATED]))
        assert reason(answer.verdict) == "Pending"
        assert answer.verdict.message == "waits to be bound: spec.cpuAffinity not told yet"
        assert not answer.pod.containers
        assert (control.pending(), control.running()) == (["a"], [])
        assert control.status() == before
        assert listed_cpus(node) == {}
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
        assert listed_cpus(node)["a"] == [[2, 3]]
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
        whole = tolerating("a", [DEDICATED], cpuAffinity="2-3")
        whole["spec"]["resources"] = {"limits": {"cpu": "3", "memory": "2Gi"}}
        with refused_call(grpc.StatusCode.FAILED_PRECONDITION, "pod a: spec.resources: is bound", "not resized"):
            control.admit(whole)
        assert written(node.root) == before
        assert list(control.state().pods[0].containers[0].cpus) == [2, 3]


def test_a_bind_says_something() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "bind: nothing is given"):
            control.bind("a")
        assert control.pending() == ["a"]


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
