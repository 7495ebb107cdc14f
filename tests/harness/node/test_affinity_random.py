"""Random pods, binds, taints, quotas and restarts, over the node's services: what must hold after every step, holds.

The test keeps books of what was acknowledged, and counts for itself who holds what of each NUMA node.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import grpc
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.node.node import Node
from numaproof.harness.pods.quantity import parse_quantity
from tests.harness.node.binding import CPU_TAINT, NUMA_TAINT, Binder, cpu_entries, refused_call, written
from tests.harness.node.random_pods import (
    BY_NODE,
    DEDICATED,
    NODES,
    TOLERATED,
    TOLERATIONS,
    Entry,
    Place,
    Shape,
    place,
    shape,
)
from tests.harness.node.running import STATIC, pod_resources, running_node

GI = 1 << 30
ALLOCATABLE = {0: {"cpu": 7000, "memory": 63 * GI}, 1: {"cpu": 8000, "memory": 64 * GI}}
REASONS = frozenset(
    {
        "TaintToleration",
        "CPUAffinityError",
        "NUMACPUAffinityError",
        "NUMAMemoryPolicyError",
        "ExceededQuota",
        "OutOfcpu",
        "OutOfmemory",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",  # what the kubelet's managers say where a manager has too little
    }
)
# Dice, as hypothesis' own draws are mostly small and alike; what is thrown repeats itself all the same.
DICE = st.randoms(use_true_random=True)


def given(one: api.Pod) -> list[tuple[frozenset[int], list[tuple[int, tuple[int, ...]]]]]:
    return [
        (frozenset(each.cpus), [(block.size, tuple(block.nodes)) for block in each.memory]) for each in one.containers
    ]


@dataclass
class Books:
    pods: dict[str, Entry] = field(default_factory=dict)
    taints: set[str] = field(default_factory=set)
    quotas: dict[str, Fraction] = field(default_factory=dict)


class Affinity(RuleBasedStateMachine):
    """A node, and somebody who does whatever may be done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.books = Books()
        self.count = 0

    @initialize(
        topology=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
        cpu=st.sampled_from(["static", "static", "none"]),
        memory=st.sampled_from(["Static", "Static", "None"]),
    )
    def start(self, topology: str, cpu: str, memory: str) -> None:
        config = STATIC | {"topologyManagerPolicy": topology, "cpuManagerPolicy": cpu, "memoryManagerPolicy": memory}
        self.node: Node = self.stack.enter_context(running_node(config))
        self.control = Binder(self.node.root)

    def teardown(self) -> None:
        if hasattr(self, "control"):
            self.control.channel.close()
        self.stack.close()

    def everything(self) -> tuple[Any, ...]:
        state = self.control.state()
        state.last_event = 0
        return state, self.control.status(), written(self.node.root)

    @rule(dice=DICE)
    def admit(self, dice: Random) -> None:
        for _ in range(dice.randint(1, 5)):
            self.count += 1
            self.admit_one(f"p{self.count}", shape(dice))
            self.what_was_acknowledged_is_there()

    def admit_one(self, name: str, wanted: Shape) -> None:
        containers = []
        for index, amount in enumerate(wanted.amounts):
            limits = {"cpu": amount, "memory": wanted.memory if index == 0 else "1Gi"}
            requests = {"cpu": "500m"} if wanted.burstable else {}
            containers.append({"name": f"c{index}", "resources": {"limits": limits, "requests": requests}})
        asked = sum(parse_quantity("500m" if wanted.burstable else amount) for amount in wanted.amounts)
        sizes = parse_quantity(wanted.memory) + GI * (len(wanted.amounts) - 1)
        entry = Entry(name, wanted.namespace, wanted.kind, int(asked * 1000), int(sizes))
        fields = wanted.place.fields(wanted.kind, entry.cpu)
        manifest = {
            "metadata": {"name": name, "uid": f"uid-{name}", "namespace": wanted.namespace},
            "spec": {"containers": containers, "tolerations": list(TOLERATIONS[wanted.kind]), **fields},
        }
        before = self.everything()
        try:
            answer = self.control.admit(manifest)
        except grpc.RpcError as error:
            self.refused(error, before)
            return
        assert wanted.kind in DEDICATED | BY_NODE or not any(fields.values())
        entry = entry.placed(fields)
        if not self.acknowledged(entry, answer.verdict, answer.pod):
            assert self.everything() == before
            return
        assert TOLERATED[wanted.kind] >= self.books.taints
        if entry.dedicated or "CPUAffinity" in self.books.taints:
            assert entry.cpu % 1000 == 0
            assert not wanted.burstable or all(amount == "500m" for amount in wanted.amounts)
        if wanted.kind in BY_NODE or "NUMACPUAffinity" in self.books.taints:
            assert entry.cpu <= 8000
        if entry.dedicated and wanted.namespace in self.books.quotas:
            assert self.dedicated_cpus(wanted.namespace) <= self.books.quotas[wanted.namespace]

    def acknowledged(self, entry: Entry, verdict: api.Verdict, shown: api.Pod) -> bool:
        """Write down what the node said; whether the pod is here now."""
        if verdict.admitted:
            assert not entry.waits_for
            self.books.pods[entry.name] = replace(entry, given=given(shown))
            return True
        if verdict.reason == "Pending":
            assert entry.waits_for
            assert not shown.containers
            self.books.pods[entry.name] = entry
            return True
        assert verdict.reason in REASONS, verdict
        return False

    def refused(self, error: grpc.RpcError, before: tuple[Any, ...]) -> None:
        details = error.details() or ""
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, details
        assert "spec.numaNodeID: " in details or "spec.cpuAffinity: " in details
        assert self.everything() == before

    def dedicated_cpus(self, namespace: str) -> Fraction:
        own = (one.cpu for one in self.books.pods.values() if one.dedicated and one.namespace == namespace)
        return Fraction(sum(own), 1000)

    @precondition(lambda self: any(one.given is None for one in self.books.pods.values()))
    @rule(dice=DICE)
    def bind(self, dice: Random) -> None:
        for _ in range(dice.randint(1, 5)):
            waiting = sorted(name for name, one in self.books.pods.items() if one.given is None)
            if waiting:
                self.bind_one(self.books.pods[dice.choice(waiting)], place(dice))
                self.what_was_acknowledged_is_there()

    def bind_one(self, entry: Entry, where: Place) -> None:
        fields = where.fields(entry.kind, entry.cpu)
        before = self.everything()
        if not fields:
            with refused_call(grpc.StatusCode.INVALID_ARGUMENT, "nothing is given"):
                self.bound(entry, fields)
            assert self.everything() == before
            return
        try:
            answer = self.bound(entry, fields)
        except grpc.RpcError as error:
            self.refused(error, before)
            return
        if not self.acknowledged(entry.placed(fields), answer.verdict, answer.pod):
            assert self.everything() == before

    def bound(self, entry: Entry, fields: dict[str, str]) -> api.BindResponse:
        words = {"numaNodeID": "numa_node_id", "cpuAffinity": "cpu_affinity"}
        told = {words[key]: text for key, text in fields.items()}
        return self.control.bind(f"{entry.namespace}/{entry.name}", **told)

    @precondition(lambda self: any(one.given is not None for one in self.books.pods.values()))
    @rule(dice=DICE)
    def bind_one_that_runs(self, dice: Random) -> None:
        running = sorted(name for name, one in self.books.pods.items() if one.given is not None)
        entry = self.books.pods[dice.choice(running)]
        before = self.everything()
        with refused_call(grpc.StatusCode.FAILED_PRECONDITION, "runs already"):
            self.bound(entry, place(dice).fields(entry.kind, entry.cpu) or {"numaNodeID": "0"})
        assert self.everything() == before

    @precondition(lambda self: self.books.pods)
    @rule(dice=DICE)
    def remove(self, dice: Random) -> None:
        name = dice.choice(sorted(self.books.pods))
        assert self.control.remove(f"uid-{name}") == f"uid-{name}"
        del self.books.pods[name]

    @rule(taint=st.sampled_from([CPU_TAINT, NUMA_TAINT]))
    def taint(self, taint: dict[str, str]) -> None:
        answer = self.control.taint(taint)
        self.books.taints.add(taint["key"])
        gone = {name for name, one in self.books.pods.items() if not TOLERATED[one.kind] >= self.books.taints}
        assert set(answer.evicted) == {f"uid-{name}" for name in gone}
        for name in gone:
            del self.books.pods[name]

    @precondition(lambda self: self.books.taints)
    @rule(dice=DICE)
    def untaint(self, dice: Random) -> None:
        key = dice.choice(sorted(self.books.taints))
        assert not self.control.taint(remove=[{"key": key}]).evicted
        self.books.taints.discard(key)

    @rule(namespace=st.sampled_from(["a", "b"]), cpus=st.sampled_from([None, "0", "2", "4500m", "9"]))
    def quota(self, namespace: str, cpus: str | None) -> None:
        self.control.quota(namespace, cpus)
        self.books.quotas.pop(namespace, None)
        if cpus is not None:
            self.books.quotas[namespace] = parse_quantity(cpus)

    @rule()
    def restart(self) -> None:
        self.control.channel.close()
        self.node.restart()
        self.control = Binder(self.node.root)

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        if not hasattr(self, "control"):
            return
        state, status = self.control.state(), self.control.status()
        running = {one.name: one for one in self.books.pods.values() if one.given is not None}
        waiting = {one.name: one for one in self.books.pods.values() if one.given is None}
        assert {one.name: given(one) for one in state.pods} == {name: one.given for name, one in running.items()}
        assert {one.name for one in state.pending} == set(waiting)
        for shown in (*state.pods, *state.pending):
            entry = self.books.pods[shown.name]
            assert shown.binding.numa_node_id == ("" if entry.node is None else str(entry.node))
            assert frozenset(parse_cpulist(shown.binding.cpu_affinity)) == (entry.cpus or frozenset())
        assert {one.key for one in status.taints} == self.books.taints
        assert {one.namespace: parse_quantity(one.dedicated_cpu) for one in status.quotas} == self.books.quotas
        for one in status.quotas:
            assert parse_quantity(one.used) == self.dedicated_cpus(one.namespace)
        with pod_resources(self.node) as stub:
            listed = stub.List(resources_api.ListPodResourcesRequest(), timeout=120).pod_resources
        self.nobody_shares_what_is_dedicated(running, listed)
        self.those_who_wait_hold_nothing(waiting, state, listed)
        self.every_node_adds_up(running, listed, status)

    def nobody_shares_what_is_dedicated(self, running: dict[str, Entry], listed: Any) -> None:
        exclusive = {
            one.name: [frozenset(container.cpu_ids) for container in one.containers if container.cpu_ids]
            for one in listed
        }
        held: dict[int, str] = {}
        for name, sets in exclusive.items():
            for cpu in frozenset().union(*sets):
                assert cpu != 0, "the host's"
                assert cpu not in held, f"CPU {cpu} is {held.get(cpu)}'s and {name}'s"
                held[cpu] = name
        for entry in running.values():
            if entry.cpus is not None and entry.dedicated:
                assert all(cpus == entry.cpus for cpus, _memory in entry.given)
                assert exclusive[entry.name] == [entry.cpus] * len(entry.given)
            elif entry.cpus is not None:
                assert not entry.cpus & held.keys(), "shared CPUs are given away"
            if entry.home is not None:
                assert all(cpus <= NODES[entry.home] for cpus in exclusive[entry.name])
        entries = {
            uid.removeprefix("uid-"): sorted(map(tuple, map(parse_cpulist, sets.values())))
            for uid, sets in cpu_entries(self.node.root).items()
        }
        assert entries == {name: sorted(tuple(sorted(one)) for one in sets) for name, sets in exclusive.items() if sets}

    def those_who_wait_hold_nothing(self, waiting: dict[str, Entry], state: api.StateResponse, listed: Any) -> None:
        assert not {one.name for one in listed} & set(waiting)
        memory = json.loads((self.node.root / "memory_manager_state").read_text()).get("entries", {})
        assert not {f"uid-{name}" for name in waiting} & (set(memory) | set(cpu_entries(self.node.root)))
        for one in state.pending:
            assert not one.containers
            assert not one.binding.cpuset_cpus
        # They count for the node as a whole, though.
        assert sum(one.cpu for one in self.books.pods.values()) <= 15_000
        assert sum(one.memory for one in self.books.pods.values()) <= 127 * GI

    def every_node_adds_up(self, running: dict[str, Entry], listed: Any, status: api.NodeStatusResponse) -> None:
        allocated = {node: {"cpu": 0, "memory": 0} for node in NODES}
        wide = False  # whether a block of memory is of both nodes
        for one in listed:
            entry = running[one.name]
            own = frozenset(cpu for container in one.containers for cpu in container.cpu_ids)
            blocks = [block for container in one.containers for block in container.memory]
            for node, cpus in NODES.items():
                count = 1000 * len(own & cpus)
                # Of its home a pod is promised what it asks for, and something if that is nothing.
                allocated[node]["cpu"] += max(count, entry.cpu, 1) if entry.home == node else count
            for block in blocks:
                wide |= len(block.topology.nodes) > 1
                allocated[block.topology.nodes[0].ID]["memory"] += block.size
            if entry.kind == "strict" and entry.home is not None:
                assert all([node.ID for node in block.topology.nodes] == [entry.home] for block in blocks)
                if not blocks:  # nobody pins it, and it is promised
                    allocated[entry.home]["memory"] += entry.memory
        left = {
            int(one.numa_node_id): {key: parse_quantity(one.available[key]) for key in ("cpu", "memory")}
            for one in status.numa_nodes
        }
        for node, amounts in ALLOCATABLE.items():
            assert left[node]["cpu"] >= 0
            assert allocated[node]["cpu"] + left[node]["cpu"] * 1000 == amounts["cpu"]
            assert left[node]["memory"] >= 0
            if not wide:
                assert allocated[node]["memory"] + left[node]["memory"] == amounts["memory"]
        total = sum(amounts["memory"] for amounts in ALLOCATABLE.values())
        assert sum(one["memory"] for one in allocated.values()) + sum(one["memory"] for one in left.values()) == total


Affinity.TestCase.settings = settings(
    max_examples=32,
    stateful_step_count=20,
    phases=(Phase.generate,),  # a failure tells its steps; to shorten them would take minutes
)
TestAffinity = Affinity.TestCase
