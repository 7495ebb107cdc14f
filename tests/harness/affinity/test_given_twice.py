"""What the CPU manager chose may not be a bound pod's."""

from numaproof.harness.affinity.ledger import Holding
from numaproof.harness.affinity.rules import given_twice
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.pods.pod import Pod


def holding(name: str, cpus: set[int], bound: set[int] | None = None, node: int | None = None) -> Holding:
    affinity = None if bound is None else frozenset(bound)
    pod = Pod(name, f"uid-{name}", cpu_affinity=affinity, numa_node_id=node)
    return Holding(pod, {"app": Assignment(cpus=frozenset(cpus))})


def test_cpus_of_a_bound_pod_are_its_own() -> None:
    chosen = holding("p", {2, 3, 4})
    refused = given_twice(chosen, [holding("a", {7}, {7}), holding("b", {4, 5}, {4, 5})])
    assert refused is not None
    assert (refused.reason, refused.admitted) == ("CPUAffinityError", False)
    assert refused.message == "the CPU manager chose the CPUs 4, those of pod default/b"
    assert given_twice(chosen, [holding("c", set(), {3})]) is not None  # which it shares with other bound pods alone
    assert given_twice(chosen, [holding("a", {7}, {7})]) is None


def test_nor_those_of_a_pod_that_is_bound_to_a_numa_node() -> None:
    at_home, elsewhere = holding("p", {2, 3}, node=0), holding("q", {3, 4})
    assert given_twice(elsewhere, [at_home]) is not None
    assert given_twice(at_home, [elsewhere]) is not None
    assert given_twice(at_home, [holding("r", {3}, node=0)]) is not None
    assert given_twice(at_home, [holding("r", {4}, node=0)]) is None


def test_what_the_cpu_manager_gave_twice_itself_is_its_own_affair() -> None:
    assert given_twice(holding("p", {2, 3}), [holding("q", {3})]) is None
