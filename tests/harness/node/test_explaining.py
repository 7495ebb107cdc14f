"""Explaining is an admission that is taken back: whatever takes part in the one takes part in the other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.trace import Trace
from numaproof.harness.node.node import Node
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology import AllocationError, Decision, Hints, TopologyHint, mask_of, policies
from tests.harness.node.running import GPU, STATIC, client, pod, running_node


class Seats:
    """A provider of a test's own: so many seats on each of two nodes, one for every container of a pod."""

    name = "seats"

    def __init__(self, free: Mapping[int, int]) -> None:
        self.free = dict(free)
        self.taken: dict[tuple[str, str], int] = {}  # pod uid and container -> node

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        return {"seat": [TopologyHint(mask_of([node]), True) for node, free in self.free.items() if free]}

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        needed = len(pod.all_containers())
        return {"seat": [TopologyHint(mask_of([node]), True) for node, free in self.free.items() if free >= needed]}

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        node = next((node for node, free in self.free.items() if free and affinity.affinity == mask_of([node])), None)
        if node is None:
            raise AllocationError("all seats are taken")
        self.free[node] -= 1
        self.taken[pod.uid, container.name] = node

    def remove(self, uid: str) -> None:
        for key in [key for key in self.taken if key[0] == uid]:
            self.free[self.taken.pop(key)] += 1

    def checkpoint(self) -> Any:
        return self.free.copy(), self.taken.copy()

    def rollback(self, checkpoint: Any) -> None:
        self.free, self.taken = checkpoint


def both(node: Node, manifest: Mapping[str, Any]) -> tuple[Trace, Trace]:
    """What is explained about a pod, and what then happens to it."""
    explained = node.explain(manifest).trace
    admitted = node.admit_pod(manifest).trace
    assert admitted is not None
    return explained, admitted


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_a_provider_that_was_added_takes_part_in_admission_and_explanation(scope: str) -> None:
    config = STATIC | {"topologyManagerPolicy": "restricted", "topologyManagerScope": scope}
    made: list[Seats] = []

    def providers() -> list[Seats]:
        made.append(Seats({0: 0, 1: 2}))
        return made[-1:]

    with running_node(config, providers=providers) as node, client(node.root) as control:
        (seats,) = made
        manifest = pod("p", {"cpu": 2, "memory": "1Gi"})
        told = control.explain(manifest)
        (decision,) = told.decisions
        assert [one.provider for one in decision.providers] == ["devices", "cpu", "memory", "seats"]
        (hint,) = decision.providers[3].resources[0].hints
        assert (decision.providers[3].resources[0].resource, list(hint.affinity.nodes)) == ("seat", [1])
        assert (decision.rule, decision.admitted) == ("preferred", True)
        assert (seats.free, seats.taken) == ({0: 0, 1: 2}, {})  # it was taken back
        explained, admitted = both(node, manifest)
        assert explained == admitted
        assert admitted.steps[0].hints["seats"] == {"seat": [TopologyHint(mask_of([1]), True)]}
        # Node 0 has CPUs and memory enough, and comes first: it is the seats that decide.
        assert min(admitted.given["c0"].cpus) == 8
        assert seats.taken == {("uid-p", "c0"): 1}
        assert node.admit(pod("q", {"cpu": 2, "memory": "1Gi"})).admitted
        explained, refused = both(node, pod("r", {"cpu": 2, "memory": "1Gi"}))
        assert explained == refused
        assert refused.verdict.reason == "TopologyAffinityError"
        # A node that starts again has new ones, which are told what the pods had.
        node.restart()
        assert made[1] is not seats
        assert made[1].taken == {("uid-p", "c0"): 1, ("uid-q", "c0"): 1}
        node.remove("uid-p")
        assert made[1].free == {0: 0, 1: 1}


def test_a_node_does_not_start_if_an_added_provider_cannot_give_again_what_pods_had() -> None:
    config = STATIC | {"topologyManagerPolicy": "restricted"}
    free = [2, 0]
    with running_node(config, providers=lambda: [Seats({0: free.pop(0)})]) as node:
        assert node.admit(pod("p", {"cpu": 2, "memory": "1Gi"})).admitted
        with pytest.raises(UserError, match=r'pod p: container c0: the hint provider "seats" cannot .* \(all seats'):
            node.restart()


def test_a_failed_allocation_says_whose_it_was() -> None:
    config = STATIC | {"topologyManagerPolicy": "best-effort"}
    with (
        running_node(config, providers=lambda: [Seats({0: 0, 1: 0})]) as node,
        client(node.root) as control,
    ):
        told = control.explain(pod("p", {"cpu": 2, "memory": "1Gi"}))
        assert told.failure == api.Failure(container="c0", provider="seats", reason="UnexpectedAdmissionError")
        explained, refused = both(node, pod("p", {"cpu": 2, "memory": "1Gi"}))
        assert explained == refused
        assert refused.failure is not None
        assert (refused.failure.provider, refused.failure.container) == ("seats", "c0")
        assert refused.given["c0"].cpus  # what it got before; it does not keep it
        assert node.snapshot().shared_cpus == frozenset(range(16))


def test_another_rule_of_the_policy_changes_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = policies.POLICIES["current"]["restricted"]

    def flipped(*asked: Any) -> Decision:
        decision = rule(*asked)
        return replace(decision, admit=not decision.admit)

    table = {**policies.POLICIES, "current": {**policies.POLICIES["current"], "restricted": flipped}}
    manifest = pod("p", {"cpu": 2, "memory": "1Gi"})
    config = STATIC | {"topologyManagerPolicy": "restricted"}
    with running_node(config) as node:
        explained, decided = both(node, manifest)
        assert explained == decided
        assert decided.verdict.admitted
    monkeypatch.setattr(policies, "POLICIES", table)
    with running_node(config) as node:
        explained, decided = both(node, manifest)
        assert explained == decided
        assert decided.verdict.reason == "TopologyAffinityError"


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node", "strict"])
@pytest.mark.parametrize("enabled", [True, False])
def test_policy_and_feature_gate_are_the_same_in_both(policy: str, enabled: bool) -> None:
    config = STATIC | {"topologyManagerPolicy": policy, "featureGates": {"TopologyManager": enabled}}
    with running_node(config) as node:
        explained, decided = both(node, pod("p", {"cpu": 9, "memory": "1Gi"}))
        assert explained == decided
        assert decided.policy == (policy if enabled else "none")
        assert len(decided.steps) == (1 if enabled and policy != "none" else 0)


def test_the_fit_is_part_of_both() -> None:
    with running_node(STATIC) as node, client(node.root) as control:
        shared = {"requests": {"cpu": "8"}}
        node.admit({"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "resources": shared}]}})
        explained, decided = both(node, pod("p", {"cpu": 8, "memory": "1Gi", GPU: 1}))
        assert explained == decided
        assert decided.shortage is not None
        assert (decided.shortage.resource, decided.shortage.used) == ("cpu", 8000)
        assert decided.verdict.reason == "OutOfcpu"
        assert decided.is_aligned
        told = control.explain(pod("p", {"cpu": 8, "memory": "1Gi", GPU: 1}))
        assert told.shortage == api.Shortage(resource="cpu", requested=8000, used=8000, capacity=15000)
        assert not told.HasField("failure")


def test_the_containers_that_run_are_known_by_ids() -> None:
    with running_node(STATIC) as node:
        manifest = pod(
            "p", {"cpu": 1, "memory": "1Gi"}, init=({"cpu": 1, "memory": "1Gi"}, {"cpu": 1, "sidecar": True})
        )
        assert node.admit(manifest).admitted
        first = node.snapshot().running
        assert sorted(first.values()) == [("uid-p", "c0"), ("uid-p", "i1")]  # i0 has ended
        node.start_container("default/p", "c0")
        again = node.snapshot().running
        assert sorted(again.values()) == sorted(first.values())
        assert len(again.keys() & first.keys()) == 1  # the container that was started again has a new id
        node.restart()
        assert sorted(node.snapshot().running.values()) == sorted(first.values())
        node.remove("uid-p")
        assert node.snapshot().running == {}
