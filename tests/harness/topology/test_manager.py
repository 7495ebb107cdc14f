"""The manager with providers of our own: who is asked for what, in which order, and what is remembered."""

from fractions import Fraction

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology import (
    AllocationError,
    Failure,
    Hints,
    Manager,
    NumaInfo,
    SMTAlignmentError,
    TopologyHint,
    Verdict,
)
from numaproof.harness.topology.bitmask import mask_of


class Slots:
    """A provider with so many slots a node; a container takes one for each `slots` it asks for."""

    def __init__(self, free: dict[int, int], calls: list[str], name: str = "slots") -> None:
        self.free = free
        self.calls = calls
        self.name = name
        self.error: AllocationError | None = None

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        self.calls.append(f"{self.name} hints {container.name}")
        return self._hints(int(container.requests.get(self.name, 0)))

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        self.calls.append(f"{self.name} hints pod {pod.name}")
        return self._hints(sum(int(container.requests.get(self.name, 0)) for container in pod.containers))

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        self.calls.append(f"{self.name} allocate {container.name}")
        if self.error is not None:
            raise self.error
        for node in self.free:
            if affinity.affinity == mask_of([node]):
                self.free[node] -= int(container.requests.get(self.name, 0))

    def remove(self, uid: str) -> None:
        self.calls.append(f"{self.name} remove {uid}")

    def checkpoint(self) -> dict[int, int]:
        return self.free.copy()

    def rollback(self, checkpoint: dict[int, int]) -> None:
        self.free = checkpoint

    def _hints(self, request: int) -> Hints:
        if not request:
            return {}
        return {self.name: [TopologyHint(mask_of([node]), True) for node, free in self.free.items() if free >= request]}


def pod_of(*requests: int, init: int | None = None) -> Pod:
    containers = tuple(Container(f"c{i}", {"slots": Fraction(ask)}) for i, ask in enumerate(requests))
    first = () if init is None else (Container("i0", {"slots": Fraction(init)}),)
    return Pod("p", "uid-p", first, containers)


def manager_of(policy: str, scope: str, *providers: Slots) -> Manager:
    manager = Manager(NumaInfo((0, 1)), policy, scope)
    for provider in providers:
        manager.add_hint_provider(provider)
    return manager


def test_container_scope_places_each_after_the_one_before_is_allocated() -> None:
    calls: list[str] = []
    manager = manager_of("single-numa-node", "container", Slots({0: 2, 1: 3}, calls), Slots({}, calls, "others"))
    assert manager.admit(pod_of(2, 3)).verdict == Verdict(True, "", "")
    assert manager.get_affinity("uid-p", "c0") == TopologyHint(mask_of([0]), True)
    assert manager.get_affinity("uid-p", "c1") == TopologyHint(mask_of([1]), True)
    steps = ["slots hints", "others hints", "slots allocate", "others allocate"]
    assert calls == [f"{step} {container}" for container in ("c0", "c1") for step in steps]


def test_pod_scope_places_all_containers_once_init_first() -> None:
    calls: list[str] = []
    manager = manager_of("single-numa-node", "pod", Slots({0: 4, 1: 5}, calls))
    assert manager.admit(pod_of(2, 3, init=1)).verdict.admitted
    assert calls == ["slots hints pod p", "slots allocate i0", "slots allocate c0", "slots allocate c1"]
    assert manager.get_affinity("uid-p", "i0") == TopologyHint(mask_of([1]), True)


def test_what_fits_no_node_is_refused_with_the_kubelets_words() -> None:
    manager = manager_of("single-numa-node", "pod", Slots({0: 2, 1: 2}, []))
    refused = Verdict(False, "TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    assert manager.admit(pod_of(2, 2)).verdict == refused


def test_policy_none_asks_nobody_and_stores_nothing() -> None:
    calls: list[str] = []
    manager = manager_of("none", "pod", Slots({0: 1}, calls))
    assert manager.admit(pod_of(7)).verdict.admitted
    assert calls == ["slots allocate c0"]
    assert manager.get_affinity("uid-p", "c0") == TopologyHint(None, False)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (
            AllocationError("no slots"),
            Verdict(False, "UnexpectedAdmissionError", "Allocate failed due to no slots, which is unexpected"),
        ),
        (SMTAlignmentError("SMT Alignment Error: x"), Verdict(False, "SMTAlignmentError", "SMT Alignment Error: x")),
    ],
)
def test_a_failing_allocation_refuses_the_pod(error: AllocationError, verdict: Verdict) -> None:
    slots = Slots({0: 9}, [])
    slots.error = error
    placement = manager_of("best-effort", "container", Slots({}, [], "others"), slots).admit(pod_of(1))
    assert placement.verdict == verdict
    assert placement.failure == Failure("c0", "slots", verdict.reason)


def test_removed_containers_are_forgotten() -> None:
    manager = manager_of("best-effort", "container", Slots({0: 9}, []))
    pod = pod_of(1, 1)
    manager.admit(pod)
    manager.add_container(pod, pod.containers[0], "id-0")
    manager.remove_container("id-0")
    manager.remove_container("id-0")
    nothing = TopologyHint(None, False)
    assert manager.get_affinity("uid-p", "c0") == nothing
    assert manager.get_affinity("uid-p", "c1") != nothing
    manager.remove_pod("uid-p")
    assert manager.get_affinity("uid-p", "c1") == nothing


def test_a_container_that_runs_again_keeps_its_affinity() -> None:
    """As in the kubelet: the end of an earlier run, told late, does not concern the one that runs now."""
    manager = manager_of("best-effort", "container", Slots({0: 9}, []))
    pod = pod_of(1)
    manager.admit(pod)
    decided = manager.get_affinity("uid-p", "c0")
    assert decided == TopologyHint(mask_of([0]), True)
    manager.add_container(pod, pod.containers[0], "first")
    manager.add_container(pod, pod.containers[0], "second")
    manager.remove_container("first")
    assert manager.get_affinity("uid-p", "c0") == decided
    assert manager.containers() == {"second": ("uid-p", "c0")}


@pytest.mark.parametrize(("scope", "asked"), [("container", ["c0", "c1"]), ("pod", [""])])
def test_a_placement_tells_who_said_what_and_what_came_of_it(scope: str, asked: list[str]) -> None:
    placement = manager_of("restricted", scope, Slots({0: 2, 1: 2}, []), Slots({}, [], "others")).admit(pod_of(1, 1))
    assert (placement.policy, placement.scope) == ("restricted", scope)
    assert [step.container for step in placement.steps] == asked
    for step in placement.steps:
        either = [TopologyHint(mask_of([node]), True) for node in (0, 1)]
        assert list(step.hints.items()) == [("slots", {"slots": either}), ("others", {})]
        assert step.decision.hint == TopologyHint(mask_of([0]), True)
        assert (step.decision.admit, step.decision.rule) == (True, "preferred")
    assert placement.affinities == dict.fromkeys(("c0", "c1"), TopologyHint(mask_of([0]), True))
    assert placement.failure is None


def test_a_placement_of_a_refused_pod_ends_where_it_was_refused() -> None:
    placement = manager_of("single-numa-node", "container", Slots({0: 2, 1: 2}, [])).admit(pod_of(2, 3, 1))
    assert [(step.container, step.decision.admit) for step in placement.steps] == [("c0", True), ("c1", False)]
    assert list(placement.affinities) == ["c0"]


def test_rolling_back_goes_by_provider_and_forgets_affinities() -> None:
    slots, others = Slots({0: 2, 1: 2}, []), Slots({0: 5}, [], "others")
    manager = manager_of("single-numa-node", "container", slots, others)
    checkpoint = manager.checkpoint()
    pod = pod_of(2, 1)
    assert manager.admit(pod).verdict.admitted
    manager.add_container(pod, pod.containers[0], "id-0")
    assert slots.free == {0: 0, 1: 1}
    manager.rollback(checkpoint)
    assert (slots.free, others.free) == ({0: 2, 1: 2}, {0: 5})
    assert manager.get_affinity("uid-p", "c0") == TopologyHint(None, False)
    assert manager.containers() == {}


def test_no_two_providers_have_the_same_name() -> None:
    manager = manager_of("none", "pod", Slots({}, []))
    with pytest.raises(UserError, match='hint provider "slots": there is one of this name already'):
        manager.add_hint_provider(Slots({}, []))
