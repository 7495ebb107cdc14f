"""Taints and quotas while the node runs: who has to go, who may come, and what outlives a restart."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import grpc
import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.binding import (
    ALL_THREE,
    CPU_TAINT,
    DEDICATED,
    EVERYTHING,
    NUMA,
    NUMA_TAINT,
    STRICT_MEMORY,
    Binder,
    binder,
    cpu_entries,
    page,
    reason,
    refused_call,
    tolerating,
    written,
)
from tests.harness.node.running import GPU, STATIC, TWO_NODES, devices, listed_plugins, pod, running_node
from tests.places import short_directory

MEMORY_TAINT = {"key": "NUMAMemoryPolicy", "value": "strict", "effect": ALL_THREE}
OWN_TAINT = {"key": "example.com/own", "value": "", "effect": "NoExecute"}
SOFT_TAINT = {"key": "example.com/soft", "value": "", "effect": "NoSchedule"}


def taints(control: Binder) -> list[tuple[str, str]]:
    return [(one.key, one.value) for one in control.status().taints]


def test_a_taint_keeps_others_away() -> None:
    with running_node(STATIC | {"registerWithTaints": [CPU_TAINT]}) as node, binder(node) as control:
        plain = control.admit(pod("plain", {"cpu": 1, "memory": "1Gi"}))
        assert reason(plain.verdict) == "TaintToleration"
        assert f"spec.tolerations has none for CPUAffinity=dedicated:{ALL_THREE}" in plain.verdict.message
        assert reason(control.admit(tolerating("numa", [NUMA], numaNodeID="1")).verdict) == "TaintToleration"
        assert reason(control.admit(tolerating("a", [DEDICATED])).verdict) == "Pending"
        # Whoever tolerates everything gets in, by the taint's rule: whole CPUs.
        half = {"cpu": "500m", "memory": "1Gi"}
        assert reason(control.admit(tolerating("half", [EVERYTHING], half)).verdict) == "CPUAffinityError"
        assert control.admit(tolerating("whole", [EVERYTHING])).verdict.admitted


def test_a_new_taint_evicts_who_does_not_tolerate_it_and_tells() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(pod("plain", {"cpu": 2, "memory": "1Gi"}))
        control.admit(tolerating("numa", [NUMA]))  # waits
        control.admit(tolerating("dedicated", [DEDICATED], cpuAffinity="14-15"))
        control.admit(tolerating("waits", [DEDICATED]))
        control.admit(tolerating("all", [EVERYTHING]))
        last = control.state().last_event
        answer = control.taint(CPU_TAINT)
        assert [(one.key, one.value, one.effect) for one in answer.taints] == [tuple(CPU_TAINT.values())]
        assert sorted(answer.evicted) == ["uid-numa", "uid-plain"]
        assert sorted(control.running()) == ["all", "dedicated"]
        assert control.pending() == ["waits"]
        assert cpu_entries(node.root).keys() == {"uid-dedicated", "uid-all"}
        assert {path.name for path in (node.root / "pods").iterdir()} == {
            f"pod-uid-{name}.json" for name in ("all", "dedicated", "waits")
        }
        told = {}
        for event in control.stub.Watch(api.WatchRequest(after=last, kinds=[api.EVICTED, api.TAINTED]), timeout=120):
            told[event.pod.name] = event
            if len(told) == 3:
                break
        assert told[""].message == f"CPUAffinity=dedicated:{ALL_THREE}"
        for name in ("plain", "numa"):
            assert told[name].verdict.reason == "Evicted"
            assert "spec.tolerations has none for CPUAffinity=dedicated" in told[name].message
        shown = {item["metadata"]["name"]: item["status"] for item in page(node, "/pods")["items"]}
        for name in ("plain", "numa"):
            assert (shown[name]["phase"], shown[name]["reason"]) == ("Failed", "Evicted")
        assert shown["waits"]["phase"] == "Pending"
        assert shown["all"]["phase"] == "Running"
        # What they had is free, and their names are.
        control.taint(remove=[CPU_TAINT])
        assert control.admit(pod("plain", {"cpu": 9, "memory": "1Gi"})).verdict.admitted  # of 15, beside 2 + 2 + 2


def test_taints_of_the_scheduler_are_kept_and_shown_but_evict_nobody() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(pod("plain", {"cpu": 2, "memory": "1Gi"}))
        assert not control.taint(SOFT_TAINT).evicted
        assert control.admit(pod("more", {"cpu": 1, "memory": "1Gi"})).verdict.admitted
        assert sorted(control.taint(OWN_TAINT).evicted) == ["uid-more", "uid-plain"]
        assert page(node, "/node")["spec"]["taints"] == [
            {key: text for key, text in one.items() if text} for one in (SOFT_TAINT, OWN_TAINT)
        ]


def test_a_taint_of_the_same_key_and_effect_is_replaced() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.taint(MEMORY_TAINT, CPU_TAINT)
        control.taint(MEMORY_TAINT | {"value": "preferred"})
        assert taints(control) == [("CPUAffinity", "dedicated"), ("NUMAMemoryPolicy", "preferred")]
        control.taint(remove=[{"key": "NUMAMemoryPolicy"}])  # of any effect
        assert taints(control) == [("CPUAffinity", "dedicated")]
        control.taint(NUMA_TAINT, remove=[CPU_TAINT])
        assert taints(control) == [("NUMACPUAffinity", "strict")]


@pytest.mark.parametrize(
    ("add", "remove", "words"),
    [
        ([CPU_TAINT | {"value": "shared"}], [], ["add[0].value: CPUAffinity has no value 'shared'"]),
        ([NUMA_TAINT, NUMA_TAINT | {"value": "preferred"}], [], ["add[1].value: NUMACPUAffinity has no value"]),
        ([CPU_TAINT | {"effect": "NoExecute"}], [], ["add[0].effect: CPUAffinity does not go with NoExecute"]),
        ([CPU_TAINT | {"key": "NUMAAffinity"}], [], ["add[0].key: there is no taint NUMAAffinity"]),
        ([OWN_TAINT | {"effect": ALL_THREE}], [], ["add[0].effect: "]),
        ([OWN_TAINT | {"effect": "Never"}], [], ["add[0].effect: 'Never' is unknown"]),
        ([OWN_TAINT | {"key": ""}], [], ["add[0].key: ''"]),
        ([OWN_TAINT, OWN_TAINT], [], ["add[1]: example.com/own:NoExecute is there twice"]),
        ([], [CPU_TAINT], ["taint CPUAffinity: is not there to be removed"]),
        ([OWN_TAINT], [CPU_TAINT], ["taint CPUAffinity: is not there"]),
        ([], [MEMORY_TAINT | {"effect": "NoExecute"}], ["taint NUMAMemoryPolicy: is not there"]),
    ],
)
def test_a_wrong_change_of_taints_changes_nothing(add: Any, remove: Any, words: list[str]) -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.taint(MEMORY_TAINT)
        control.admit(tolerating("a", [NUMA, STRICT_MEMORY]))
        before, files = control.state(), written(node.root)
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, *words):
            control.taint(*add, remove=remove)
        assert (control.state(), written(node.root)) == (before, files)
        assert taints(control) == [("NUMAMemoryPolicy", "strict")]


def test_the_nodes_taint_decides_where_memory_is() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.taint(MEMORY_TAINT)
        anyhow = [NUMA, {"key": "NUMAMemoryPolicy", "operator": "Exists"}]
        large = control.admit(tolerating("a", anyhow, {"cpu": 1, "memory": "65Gi"}, numaNodeID="1"))
        assert reason(large.verdict) == "NUMAMemoryPolicyError"
        control.taint(MEMORY_TAINT | {"value": "preferred"})
        assert control.admit(tolerating("a", anyhow, {"cpu": 1, "memory": "65Gi"}, numaNodeID="1")).verdict.admitted


def quota_of(control: Binder, namespace: str) -> tuple[str, str]:
    return next((one.dedicated_cpu, one.used) for one in control.status().quotas if one.namespace == namespace)


def test_a_quota_counts_pods_that_wait_and_is_given_back() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        assert control.quota("team", "5") == {"team": ("5", "0")}
        assert reason(control.admit(tolerating("a", [DEDICATED], namespace="team")).verdict) == "Pending"
        assert quota_of(control, "team") == ("5", "2")
        first = control.admit(tolerating("b", [DEDICATED], namespace="team", cpuAffinity="2-3"))
        assert first.verdict.admitted
        more = control.admit(tolerating("c", [DEDICATED], namespace="team"))
        assert reason(more.verdict) == "ExceededQuota"
        assert more.verdict.message == (
            "exceeded quota: team, requested: requests.dedicated-cpu=2, used: requests.dedicated-cpu=4, "
            "limited: requests.dedicated-cpu=5"
        )
        assert control.admit(tolerating("d", [NUMA], namespace="team", numaNodeID="1")).verdict.admitted
        assert control.admit(tolerating("e", [EVERYTHING], namespace="team")).verdict.admitted
        assert reason(control.admit(tolerating("c", [DEDICATED], namespace="other")).verdict) == "Pending"
        assert quota_of(control, "team") == ("5", "4")
        control.bind("team/a", cpu_affinity="4-5")
        assert quota_of(control, "team") == ("5", "4")
        control.remove("team/b")
        assert quota_of(control, "team") == ("5", "2")
        assert reason(control.admit(tolerating("f", [DEDICATED], namespace="team")).verdict) == "Pending"
        control.remove("team/f")
        # Evicted pods give it back as well.
        control.taint(OWN_TAINT)
        assert quota_of(control, "team") == ("5", "0")


def test_a_quota_that_is_lowered_evicts_nobody_and_one_that_is_gone_limits_nobody() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED], cpuAffinity="2-3"))
        assert control.quota("default", "1500m") == {"default": ("1500m", "2")}
        assert control.running() == ["a"]
        small = tolerating("b", [DEDICATED], {"cpu": 1, "memory": "1Gi"})
        assert reason(control.admit(small).verdict) == "ExceededQuota"
        assert control.quota("default", None) == {}
        assert reason(control.admit(small).verdict) == "Pending"
        control.quota("default", "0")
        assert control.bind("b", cpu_affinity="4").verdict.admitted  # it was counted when it came


@pytest.mark.parametrize(
    ("namespace", "amount", "words"),
    [
        ("", "4", "namespace: '' is not a namespace"),
        ("Foo Bar", "4", "namespace: 'Foo Bar' is not a namespace"),
        ("a\nb", None, "namespace: 'a\\nb' is not a namespace"),
        ("team", "x", 'dedicated_cpu: "x" is not a quantity'),
        ("team", "", 'dedicated_cpu: "" is not a quantity'),
        ("team", "-1", "dedicated_cpu: -1 is negative"),
        ("team", "1e99", "dedicated_cpu: 1e99 is more than a quantity can be"),
    ],
)
def test_a_wrong_quota_changes_nothing(namespace: str, amount: str | None, words: str) -> None:
    with running_node(STATIC) as node, binder(node) as control:
        control.quota("team", "3")
        files = written(node.root)
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, words):
            control.quota(namespace, amount)
        assert written(node.root) == files
        assert quota_of(control, "team") == ("3", "0")


def test_a_restart_keeps_everything() -> None:
    config = STATIC | {"registerWithTaints": [CPU_TAINT], "topologyManagerPolicy": "restricted"}
    with running_node(config, quotas={"team": Fraction(9)}) as node:
        with binder(node) as control:
            control.taint(NUMA_TAINT, remove=[CPU_TAINT])
            control.quota("other", "2500m")
            control.admit(tolerating("waits", [DEDICATED, NUMA], namespace="team", numaNodeID="1"))
            control.admit(
                tolerating("two", [DEDICATED, NUMA], {"cpu": 1, "memory": "1Gi"}, {"cpu": 1, "memory": "1Gi"})
            )
            control.bind("two", cpu_affinity="2-3", numa_node_id="0")
            half = {"cpu": "500m", "memory": "1Gi"}
            control.admit(tolerating("shares", [NUMA], half, numaNodeID="0", cpuAffinity="4-5"))
            before, status, files = control.state(), control.status(), written(node.root)
        for _ in range(2):
            node.restart()
            with binder(node) as control:
                after = control.state()
                assert sorted(after.pods, key=lambda one: one.name) == sorted(before.pods, key=lambda one: one.name)
                assert after.pending == before.pending
                assert (after.shared_cpus, after.memory) == (before.shared_cpus, before.memory)
                assert control.status() == status
                assert written(node.root) == files
        with binder(node) as control:
            assert taints(control) == [("NUMACPUAffinity", "strict")]
            assert reason(
                control.admit(tolerating("x", [DEDICATED, NUMA], numaNodeID="0", cpuAffinity="5-6")).verdict
            ) == ("CPUAffinityError")
            assert control.bind("team/waits", cpu_affinity="8-9").verdict.admitted


def test_quotas_of_the_configuration_count_at_the_first_start_and_afterwards_what_they_were_changed_to() -> None:
    lines: list[str] = []
    with short_directory() as root:

        def node() -> Node:
            quotas = {"a": Fraction(4), "b": Fraction(1)}
            return Node(node_config(STATIC), parse_machine(TWO_NODES), root, quotas=quotas, log=lines.append)

        with node() as first, binder(first) as control:
            assert (quota_of(control, "a"), quota_of(control, "b")) == (("4", "0"), ("1", "0"))
            assert lines == []
        with node() as second, binder(second) as control:
            assert lines == []
            control.quota("a", "9")
            control.quota("b", None)
        with node() as third, binder(third) as control:
            assert [(one.namespace, one.dedicated_cpu) for one in control.status().quotas] == [("a", "9")]
            assert ["quotas of the configuration: have no effect" in line for line in lines] == [True]


# What a pod is bound to, and how the node is started again: the machine has CPUs 0-7 and 8-15, or 0-7 alone.
ONE_NODE = "pack:1 [numa(memory=64GiB)] core:4 pu:2"
NO_NODE = "changed since a pod was bound: pod a: spec.numaNodeID: there is no NUMA node 1"
RESERVED = "changed since a pod was bound: pod a: spec.cpuAffinity: CPUs 2 are reserved for the host"
OFFLINE = (
    "CPU 8 in state|pod a: spec.cpuAffinity: CPUs 8-9 are not online"  # the CPU manager's word, or of one that waits
)
CHANGED: tuple[tuple[dict[str, str], list[Any], dict[str, Any], str, str], ...] = (
    ({"numaNodeID": "1"}, [NUMA], {}, ONE_NODE, NO_NODE),
    ({"numaNodeID": "1", "cpuAffinity": "8-9"}, [NUMA], {}, ONE_NODE, NO_NODE),
    ({"cpuAffinity": "8-9"}, [DEDICATED], {}, ONE_NODE, OFFLINE),
    ({"cpuAffinity": "2-3"}, [DEDICATED], {"reservedSystemCPUs": "0-2"}, TWO_NODES, RESERVED),
)


@pytest.mark.parametrize(("place", "own", "changes", "machine", "words"), CHANGED)
@pytest.mark.parametrize("waits", [True, False])
def test_a_pod_whose_place_is_gone_is_told_at_the_start(
    place: dict[str, str], own: list[Any], changes: dict[str, Any], machine: str, words: str, waits: bool
) -> None:
    config: dict[str, Any] = {"reservedSystemCPUs": "0"}
    tolerations = [DEDICATED, NUMA] if waits and len(place) == 1 else own
    with short_directory() as root:
        with Node(node_config(config), parse_machine(TWO_NODES), root, log=lambda _line: None) as node:
            verdict = node.admit(tolerating("a", tolerations, **place))
            assert verdict.reason == ("Pending" if tolerations is not own else "")
        before = written(root)
        again = Node(node_config(config | changes), parse_machine(machine), root, log=lambda _line: None)
        with pytest.raises(UserError, match=words), again:
            pass
        assert written(root) == before
        with Node(node_config(config), parse_machine(TWO_NODES), root, log=lambda _line: None) as node:
            assert node.remove("default/a") == "uid-a"


def test_registered_taints_count_at_the_first_start_and_afterwards_what_they_were_changed_to() -> None:
    with short_directory() as root:

        def node(*registered: dict[str, str]) -> Node:
            config = node_config(STATIC | {"registerWithTaints": list(registered)})
            return Node(config, parse_machine(TWO_NODES), root, log=lambda _line: None)

        with node(CPU_TAINT) as first, binder(first) as control:
            assert taints(control) == [("CPUAffinity", "dedicated")]
            control.taint(remove=[CPU_TAINT])
        with node(CPU_TAINT) as second, binder(second) as control:
            assert taints(control) == []
            control.admit(pod("plain", {"cpu": 1, "memory": "1Gi"}))
        with node(NUMA_TAINT) as third, binder(third) as control:
            assert taints(control) == []
            assert control.running() == ["plain"]


SMALL = "pack:2 [numa(memory=8GiB)] core:4 pu:1"  # CPUs 0-3 and 4-7


@pytest.mark.parametrize(
    ("config", "expected", "words"),
    [
        ({"reservedSystemCPUs": "4"}, [4], "reserved CPUs: 4: as reservedSystemCPUs says"),
        ({"systemReserved": {"cpu": "1"}}, [0, 4], "reserved CPUs: 0,4: the kernel does not isolate them"),
        ({}, [0, 4], "reserved CPUs: 0,4: the kernel does not isolate them"),
    ],
)
def test_the_reserved_cpus_of_a_node_with_isolated_ones(config: Any, expected: list[int], words: str) -> None:
    lines: list[str] = []
    machine = replace(parse_machine(SMALL), isolated=(1, 2, 3, 5, 6, 7))
    kubelet = config | {"registerWithTaints": [CPU_TAINT], "cpuManagerPolicy": "static"}
    with running_node(kubelet, machine, log=lines.append) as node, binder(node) as control:
        assert list(control.state().reserved_cpus) == expected
        assert [one.allocatable["cpu"] for one in control.status().numa_nodes] == (
            ["4", "3"] if expected == [4] else ["3", "3"]
        )
        assert [line.startswith(words) for line in lines if "reserved CPUs:" in line] == [True]
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "spec.cpuAffinity: CPUs 4 are reserved"):
            control.admit(tolerating("a", [DEDICATED], {"cpu": 1}, cpuAffinity="4"))
        assert control.admit(tolerating("a", [DEDICATED], {"cpu": 1}, cpuAffinity="5")).verdict.admitted


def test_a_node_keeps_the_cpus_of_systemd_for_the_host_and_says_so() -> None:
    lines: list[str] = []
    config = replace(node_config({"registerWithTaints": [CPU_TAINT]}), host_cpus=frozenset({0, 7}))
    with (
        short_directory() as root,
        Node(config, parse_machine(SMALL), root, log=lines.append) as node,
        binder(node) as control,
    ):
        assert list(control.state().reserved_cpus) == [0, 7]
        assert any(line.startswith("reserved CPUs: 0,7: systemd keeps the host's processes there") for line in lines)
        with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "spec.cpuAffinity: CPUs 7 are reserved"):
            control.admit(tolerating("a", [DEDICATED], {"cpu": 2}, cpuAffinity="6-7"))


@pytest.mark.parametrize("by_taint", [True, False])
def test_strict_memory_stays_strict_after_a_restart(by_taint: bool) -> None:
    with running_node({"reservedSystemCPUs": "0"}) as node:  # nobody pins memory: it is promised
        with binder(node) as control:
            told = {"key": "NUMAMemoryPolicy", "operator": "Exists"} if by_taint else STRICT_MEMORY
            if by_taint:
                control.taint(MEMORY_TAINT)
            size = {"cpu": 1, "memory": "40Gi"}
            assert control.admit(tolerating("a", [NUMA, told], size, numaNodeID="1")).verdict.admitted
            assert reason(control.admit(tolerating("b", [NUMA, told], size)).verdict) == "Pending"
            if by_taint:
                control.taint(remove=[MEMORY_TAINT])
            before = control.available("memory")
            assert before[1] == str(24 << 30)
        node.restart()
        with binder(node) as control:
            assert control.available("memory") == before
            assert list(control.state().pods[0].binding.cpuset_mems) == [1]
            # One that waits is judged by the taints of the moment when it is bound.
            assert reason(control.bind("b", numa_node_id="1").verdict) == ("" if by_taint else "NUMAMemoryPolicyError")


def test_a_pod_that_waits_is_judged_by_the_taints_of_the_moment_when_it_is_bound() -> None:
    with running_node(STATIC) as node, binder(node) as control:
        half = tolerating("a", [NUMA, EVERYTHING], {"cpu": "500m", "memory": "1Gi"})
        assert reason(control.admit(half).verdict) == "Pending"
        assert not control.taint(CPU_TAINT).evicted
        before, files = control.state().pending, written(node.root)
        assert reason(control.bind("a", numa_node_id="1").verdict) == "CPUAffinityError"
        assert (control.state().pending, written(node.root)) == (before, files)
        control.taint(remove=[CPU_TAINT])
        assert control.bind("a", numa_node_id="1").verdict.admitted


@pytest.mark.parametrize("binds", [False, True])
def test_a_taint_that_comes_while_a_pod_is_on_its_way_counts(binds: bool) -> None:
    asked, go = threading.Event(), threading.Event()

    def hold(call: Any) -> None:
        if call.name == "Allocate":
            asked.set()
            go.wait(60)

    with (
        running_node(STATIC) as node,
        binder(node) as control,
        listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins, on_call=hold)),
        ThreadPoolExecutor(1) as aside,
    ):
        size = {"cpu": 2, "memory": "1Gi", GPU: 1}
        if binds:
            control.admit(tolerating("a", [DEDICATED], size))
            answer = aside.submit(lambda: control.bind("a", cpu_affinity="2-3").verdict)
        else:
            answer = aside.submit(lambda: control.admit(pod("a", size)).verdict)
        try:
            assert asked.wait(60)
            assert not control.taint(OWN_TAINT).evicted  # it is not here yet
            with refused_call(grpc.StatusCode.ABORTED, "just now; try again when that is done"):
                control.remove("uid-a")
        finally:
            go.set()
        assert reason(answer.result(60)) == "TaintToleration"
        assert (control.running(), control.pending()) == ([], [])
        assert cpu_entries(node.root) == {}
        assert list((node.root / "pods").iterdir()) == []
        assert not control.state().plugins[0].allocated
