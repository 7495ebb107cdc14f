"""Who holds how much of each NUMA node, worked out by hand on two nodes: CPUs 0-7 and 8-15, of which CPU 0 is kept."""

from dataclasses import replace

import pytest

from numaproof.harness.affinity.ledger import Overdraft, broken_promise, claims, home_of, overdraft, used
from numaproof.harness.pods.pod import MemoryPolicy, Pod
from numaproof.harness.providers.memory import Block, MemoryTable, NodeState
from tests.harness.affinity.sites import DEDICATED, GI, NUMA, holding, pod, zones

HERE = zones()


def strict(one: Pod, policy: MemoryPolicy = "strict") -> Pod:
    return replace(one, numa_memory=policy)


def bound(name: str, cpu: object, memory: object = "1Gi", node: str = "1") -> Pod:
    return pod(name, {"cpu": cpu, "memory": memory}, tolerations=[NUMA], numaNodeID=node)


def test_home_is_the_node_that_is_named_or_that_has_all_cpus() -> None:
    assert home_of(pod(), HERE) is None
    assert home_of(pod(tolerations=[NUMA], numaNodeID="1"), HERE) == 1
    assert home_of(pod(tolerations=[NUMA], numaNodeID="1", cpuAffinity="8-9"), HERE) == 1
    assert home_of(pod(tolerations=[DEDICATED], cpuAffinity="8-9"), HERE) == 1
    assert home_of(pod(tolerations=[DEDICATED], cpuAffinity="7-8"), HERE) is None
    assert home_of(pod(tolerations=[DEDICATED], cpuAffinity="1-2"), HERE) == 0


def test_an_unbound_pod_claims_its_own_cpus_where_they_are() -> None:
    shares = claims(holding(pod(), [6, 7, 8]), HERE)
    assert shares == {0: {"cpu": 2000}, 1: {"cpu": 1000}}


def test_a_bound_pod_claims_its_request_at_home() -> None:
    assert claims(holding(bound("p", "1500m")), HERE) == {0: {"cpu": 0}, 1: {"cpu": 1500}}
    # Its own CPUs are part of that, not on top of it.
    two = pod("p", {"cpu": 2, "memory": "1Gi"}, {"cpu": "500m", "memory": "1Gi"}, tolerations=[NUMA], numaNodeID="1")
    assert claims(holding(two, [8, 9]), HERE)[1] == {"cpu": 2500}
    # Init containers that have ended may have had more than the request that counts is.
    assert claims(holding(bound("p", "1"), [8, 9]), HERE)[1] == {"cpu": 2000}


def test_strict_memory_is_claimed_unless_the_memory_manager_has_pinned_it() -> None:
    pages = {"cpu": 1, "memory": "2Gi", "hugepages-1Gi": "1Gi"}
    one = strict(pod("p", pages, tolerations=[NUMA], numaNodeID="0"))
    assert claims(holding(one), HERE)[0] == {"cpu": 1000, "memory": 2 * GI, "hugepages-1Gi": GI}
    assert claims(holding(one, memory=[Block((0,), "memory", 2 * GI)]), HERE)[0] == {"cpu": 1000}
    assert claims(holding(strict(bound("p", 1), "preferred")), HERE)[1] == {"cpu": 1000}


def test_what_is_used_is_the_sum_of_claims_and_of_pinned_memory() -> None:
    states = {
        node: NodeState(1, (node,), {"memory": MemoryTable(64 * GI, 0, 64 * GI, taken, 64 * GI - taken)})
        for node, taken in ((0, 3 * GI), (1, 0))
    }
    holdings = [holding(pod("a"), [1, 2]), holding(bound("b", "1500m")), holding(strict(bound("c", 1, "4Gi")))]
    found = used(HERE, holdings, states)
    assert found[0] == {"cpu": 2000, "memory": 3 * GI, "hugepages-2Mi": 0, "hugepages-1Gi": 0}
    assert found[1] == {"cpu": 2500, "memory": 4 * GI, "hugepages-2Mi": 0, "hugepages-1Gi": 0}
    assert used(HERE, [], {})[0]["memory"] == 0


def test_a_promise_is_broken_where_more_is_taken_than_pods_may_have() -> None:
    promise = holding(bound("b", "6500m", node="0"))  # of the 7 that node 0 has for pods
    assert broken_promise(HERE, [promise], {}) is None
    assert broken_promise(HERE, [promise, holding(pod("a"), [8, 9])], {}) is None
    found = broken_promise(HERE, [promise, holding(pod("a", {"cpu": 1, "memory": "1Gi"}), [1])], {})
    assert found == Overdraft(0, "cpu", 7500, 7000)


def test_without_a_bound_pod_nothing_is_looked_at() -> None:
    assert broken_promise(HERE, [holding(pod("a"), range(8))], {}) is None
    # One that is bound elsewhere does not care.
    assert broken_promise(HERE, [holding(pod("a"), range(8)), holding(bound("b", 1))], {}) is None


def test_promised_memory_is_not_for_others() -> None:
    state = {1: NodeState(1, (1,), {"memory": MemoryTable(64 * GI, 0, 64 * GI, 61 * GI, 3 * GI)})}
    keeps = holding(strict(bound("b", 1, "4Gi")))
    assert broken_promise(HERE, [keeps], state) == Overdraft(1, "memory", 65 * GI, 64 * GI)
    assert broken_promise(HERE, [holding(strict(bound("b", 1, "3Gi")))], state) is None
    assert broken_promise(HERE, [holding(bound("b", 1, "4Gi"))], state) is None


@pytest.mark.parametrize(
    ("taken", "own", "expected"),
    [
        ({}, {1: {"cpu": 8000}}, None),
        ({}, {1: {"cpu": 8001}}, Overdraft(1, "cpu", 8001, 8000)),
        ({0: {"cpu": 6000}}, {0: {"cpu": 1000}}, None),
        ({0: {"cpu": 6000}}, {0: {"cpu": 1001}}, Overdraft(0, "cpu", 1001, 1000)),
        ({0: {"cpu": 9000}}, {0: {"cpu": 1}}, Overdraft(0, "cpu", 1, 0)),
        ({0: {"cpu": 9000}}, {0: {"cpu": 0}, 1: {"cpu": 1}}, None),
        ({1: {"memory": 63 * GI}}, {1: {"cpu": 1000, "memory": GI + 1}}, Overdraft(1, "memory", GI + 1, GI)),
        ({}, {1: {"hugepages-16Gi": 1}}, Overdraft(1, "hugepages-16Gi", 1, 0)),
    ],
)
def test_the_first_node_with_too_little_left(
    taken: dict[int, dict[str, int]], own: dict[int, dict[str, int]], expected: Overdraft | None
) -> None:
    assert overdraft(HERE, taken, own) == expected
