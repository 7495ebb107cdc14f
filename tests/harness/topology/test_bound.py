"""A pod that is bound to NUMA nodes: its place is a fixed hint, and it stays there whatever the providers want."""

import pytest

from numaproof.harness.topology import Manager, NumaInfo, TopologyHint
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.manager import BINDING
from tests.harness.topology.test_manager import Slots, pod_of

SECOND = mask_of([1])
ADMITTING = ("none", "best-effort")
DEMANDING = ("restricted", "single-numa-node", "strict")


def manager_of(policy: str, scope: str, free: dict[int, int], nodes: tuple[int, ...] = (0, 1)) -> Manager:
    """A manager for which every pod is bound to the last of the nodes."""
    manager = Manager(NumaInfo(nodes), policy, scope, bound=lambda _pod: mask_of([nodes[-1]]))
    manager.add_hint_provider(Slots(free, []))
    return manager


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("policy", [*ADMITTING, *DEMANDING])
def test_others_follow_where_they_can(policy: str, scope: str) -> None:
    placement = manager_of(policy, scope, {0: 4, 1: 4}).admit(pod_of(2))
    assert placement.verdict.admitted
    # Unbound it would be the first node, the lowest of two that are equally good.
    assert placement.affinities["c0"].affinity == SECOND


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("policy", DEMANDING)
def test_a_conflict_is_refused_by_policies_that_demand_alignment(policy: str, scope: str) -> None:
    placement = manager_of(policy, scope, {0: 4, 1: 0}).admit(pod_of(2))
    assert placement.verdict.reason == "TopologyAffinityError"


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("policy", ADMITTING)
def test_a_conflict_leaves_the_pod_where_it_is_bound_under_the_others(policy: str, scope: str) -> None:
    placement = manager_of(policy, scope, {0: 4, 1: 0}).admit(pod_of(2))
    assert placement.verdict.admitted
    assert placement.affinities["c0"] == TopologyHint(SECOND, False)


def test_what_decided_is_told_by_name() -> None:
    (step,) = manager_of("restricted", "container", {0: 4, 1: 4}).admit(pod_of(2)).steps
    assert step.hints[BINDING] == {BINDING: [TopologyHint(SECOND, True)]}


def test_on_one_node_the_place_is_that_node_though_any_would_do() -> None:
    placement = manager_of("single-numa-node", "container", {0: 4}, nodes=(0,)).admit(pod_of(2))
    assert placement.affinities["c0"] == TopologyHint(mask_of([0]), True)
