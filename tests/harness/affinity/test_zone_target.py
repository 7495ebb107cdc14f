"""Nodes that are known by their zones only: what pods take of these, who waits there, and where pods are said to be."""

from typing import Any

import pytest

from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.schedule import schedule
from numaproof.harness.affinity.targets import Decision, ZoneTarget
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.test_predicate import node, zone
from tests.harness.affinity.worlds import (
    DEDICATED,
    GIB,
    GPU,
    MEMORY_PREFERRED,
    MEMORY_STRICT,
    NUMA_STRICT,
    container,
    pod,
    tolerating,
)

BOTH = tolerating(DEDICATED, NUMA_STRICT)


def send(target: ZoneTarget, one: Pod, **how: bool) -> Decision:
    return target.send(one, needs_of(one), **how)


def left(target: ZoneTarget, resource: str = "cpu", unit: int = 1000) -> list[float]:
    return [one.available.get(resource, 0) / unit for one in target.topology.zones]


def shared(name: str, cpu: str = "1", memory: str = "1Gi") -> Pod:
    """A Burstable pod."""
    return pod(name, {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}})


def test_containers_take_from_zones_one_by_one() -> None:
    """8 and 8: containers of 5 and 5 leave 3 and 3, so that 6 fit nowhere."""
    target = ZoneTarget(node(zone(0, 8), zone(1, 8)))
    assert send(target, pod("a", container("c", "5"), container("d", "5"))).zones == (0, 1)
    assert left(target) == [3, 3]
    assert send(target, pod("b", container("c", "6"))).verdict.reason == "TopologyAffinityError"


def test_a_pod_that_is_not_bound_takes_the_lowest_zone_that_has_it() -> None:
    """And not the tightest, for that is not what a Topology Manager does: 48 are left nowhere after a pod of 46."""
    target = ZoneTarget(node(zone(0, 48, 48), zone(1, 46, 48)))
    assert send(target, pod("a", container("c", "46"))).zones == (0,)
    assert not send(target, pod("b", container("c", "48"))).verdict.admitted


def test_under_the_scope_pod_all_containers_take_from_one_zone() -> None:
    target = ZoneTarget(node(zone(0, 8), zone(1, 8, 12), zone(2, 12, 12), scope="pod"))
    assert send(target, pod("a", container("c", "5"), container("d", "5"))).zones == (2,)
    assert left(target) == [8, 8, 2]


def test_memory_of_burstable_pods_is_of_no_zone() -> None:
    target = ZoneTarget(node(zone(0, 8, gibs=(16, 16)), zone(1, 8, gibs=(16, 16))))
    for name in ("a", "b"):
        assert send(target, shared(name, memory="12Gi")).verdict.admitted
    assert left(target, "memory", GIB) == [16, 16]
    assert target.topology.left == {"cpu": 14000, "memory": 8 * GIB}
    assert send(target, pod("g", container("c", "2", "6Gi"))).zones == (0,)


def test_the_shared_part_of_a_pod_is_of_no_zone() -> None:
    """1 CPU of its own, and half a CPU of the shared pool: 6 of 8 are left after two of them."""
    target = ZoneTarget(node(zone(0, 8), zone(1, 8)))
    for name in ("a", "b"):
        assert send(target, pod(name, container("c", "1"), container("d", "500m"))).zones == (0,)
    assert left(target) == [6, 8]
    assert target.topology.left == {"cpu": 13000}


def test_what_holds_nothing_aligned_is_on_no_numa_node() -> None:
    """Node 0 has no CPUs at all."""
    target = ZoneTarget(node(zone(0, 0, 0), zone(1, 8)))
    assert send(target, shared("a")) == Decision(send(target, shared("b")).verdict, (), frozenset())
    assert left(target) == [0, 8]


def test_what_init_containers_had_is_there_for_the_next() -> None:
    """4 CPUs for the init container, 3 of them for the other; the memory of the init container is given back."""
    target = ZoneTarget(node(zone(0, 8, gibs=(8, 8))))
    assert send(target, pod("a", container("c", "3", "2Gi"), init=(container("i", "4", "6Gi"),))).zones == (0,)
    assert (left(target), left(target, "memory", GIB)) == ([4], [6])


def test_where_nothing_is_aligned_a_pod_may_take_of_several_zones() -> None:
    target = ZoneTarget(node(zone(0, 6, gpu=(1, 2)), zone(1, 2, gpu=(2, 2)), policy="none"))
    assert send(target, pod("a", container("c", "7", gpu=1))).zones == (0, 1)
    assert (left(target), left(target, GPU, 1)) == ([0, 1], [0, 2])


def test_a_bound_pod_takes_what_it_is_promised() -> None:
    """Shared CPUs too, and memory where that has to be there, though it is no Guaranteed pod's."""
    target = ZoneTarget(node(zone(0, 8, gibs=(8, 8)), zone(1, 8, gibs=(8, 8))))
    bound: dict[str, Any] = {"tolerations": tolerating(NUMA_STRICT, MEMORY_STRICT), "numaNodeID": "1"}
    resources = {"requests": {"cpu": "500m", "memory": "3Gi"}}
    assert send(target, pod("a", {"name": "c", "resources": resources}, **bound)).zones == (1,)
    assert (left(target), left(target, "memory", GIB)) == ([8, 7.5], [8, 5])
    assert send(target, pod("b", container("c", "2", "1Gi"), **bound)).zones == (1,)
    assert (left(target), left(target, "memory", GIB)) == ([8, 5.5], [8, 4])


def test_memory_that_is_only_preferred_near_a_bound_pod_is_taken_elsewhere() -> None:
    target = ZoneTarget(node(zone(0, 8, gibs=(1, 8)), zone(1, 8, gibs=(8, 8))))
    one = pod("a", container("c", "2", "3Gi"), tolerations=tolerating(NUMA_STRICT, MEMORY_PREFERRED), numaNodeID="0")
    assert send(target, one).zones == (0, 1)
    assert (left(target), left(target, "memory", GIB)) == ([6, 8], [1, 5])


@pytest.mark.parametrize("fields", [{}, {"numaNodeID": "0"}, {"cpuAffinity": "1-2"}])
def test_a_pod_waits_for_every_field_that_it_lacks(fields: dict[str, Any]) -> None:
    """By the plain way nobody fills it; by the predicate's, its NUMA node is all that can be told."""
    one = pod("p", container("c", "2"), tolerations=BOTH, **fields)
    target = ZoneTarget(node(zone(0, 8), zone(1, 8)))
    [plain] = schedule([one], [target], "plain")
    assert plain.decision.verdict.reason == "Pending"
    assert (left(target), target.topology.left, target.version) == ([8, 8], {"cpu": 14000}, 1)
    [better] = schedule([one], [ZoneTarget(node(zone(0, 8), zone(1, 8)))], "predicate")
    assert (better.decision.verdict.admitted, better.decision.zones) == (True, (0,))


def test_a_pod_that_waits_needs_room_on_the_node() -> None:
    target = ZoneTarget(node(zone(0, 8)))
    waiting = [pod(f"p{number}", container("c", "5"), tolerations=BOTH) for number in range(2)]
    assert [send(target, one).verdict.reason for one in waiting] == ["Pending", "NotFitting"]


def test_the_cpus_that_a_pod_brings_are_told() -> None:
    one = pod("p", container("c", "4"), tolerations=BOTH, numaNodeID="0", cpuAffinity="1-4")
    assert send(ZoneTarget(node(zone(0, 8))), one).cpus == frozenset({1, 2, 3, 4})
