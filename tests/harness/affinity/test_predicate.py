"""NUMATopologyPredicate, by hand: each rule with a node that fits and one that does not, and the reason in words."""

from collections.abc import Mapping
from typing import Any

import pytest

from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.predicate import Fit, Nearness, predicate
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import Taint
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


def zone(number: int, left: int, whole: int = 8, **more: tuple[int, int]) -> ZoneStatus:
    """A zone with so many of its CPUs left; `gpu` and `gibs` are pairs, too: left, whole."""
    names = {"gpu": (GPU, 1), "gibs": ("memory", GIB)}
    pairs = {"cpu": (1000 * left, 1000 * whole)}
    for word, (some, all_) in more.items():
        name, unit = names[word]
        pairs[name] = (unit * some, unit * all_)
    everything = {name: pair[1] for name, pair in pairs.items()}
    cpus = frozenset(range(whole * number, whole * (number + 1)))
    return ZoneStatus(number, cpus, everything, everything, {name: pair[0] for name, pair in pairs.items()}, {})


def node(*zones: ZoneStatus, name: str = "n", policy: str = "single-numa-node", **more: Any) -> NodeTopology:
    return NodeTopology(name, policy, more.pop("scope", "container"), zones, **more)


def why_not(one: Pod, where: NodeTopology) -> str:
    """The reason of a pod that does not fit."""
    answer = predicate(one, [where])
    assert answer.fitting == ()
    [misfit] = answer.misfits
    assert misfit.node == where.name
    return misfit.reason


def homes(one: Pod, where: NodeTopology) -> tuple[int, ...]:
    """The NUMA nodes of a pod that fits."""
    answer = predicate(one, [where])
    assert answer.misfits == ()
    return answer.fitting[0].zones


def cpus(count: str, **more: Any) -> Pod:
    return pod("p", container("c", count, **more))


def bound(count: str, *names: Taint, **spec: Any) -> Pod:
    return pod("p", container("c", count), tolerations=tolerating(*names), **spec)


def test_the_tightest_numa_node_comes_first() -> None:
    assert homes(cpus("2"), node(zone(0, 8), zone(1, 2), zone(2, 4), zone(3, 1))) == (1, 2, 0)


def test_among_equal_numa_nodes_less_memory_left_then_the_lower_id() -> None:
    zones = (zone(0, 4, gibs=(8, 8)), zone(1, 4, gibs=(2, 8)), zone(2, 4, gibs=(2, 8)))
    assert homes(cpus("2"), node(*zones)) == (1, 2, 0)


def test_a_reason_tells_what_every_numa_node_has_left() -> None:
    assert why_not(cpus("7"), node(zone(0, 6), zone(1, 2))) == (
        "single-numa-node: container c wants 7 CPUs of one NUMA node; left: node-0: 6 of 8 CPUs; node-1: 2 of 8 CPUs"
    )


def test_a_reason_names_all_that_is_wanted_together() -> None:
    where = node(zone(0, 6, gpu=(0, 2)), zone(1, 2, gpu=(2, 2)))
    assert why_not(cpus("4", gpu=1), where) == (
        "single-numa-node: container c wants 4 CPUs, 1 x.io/gpu of one NUMA node; "
        "left: node-0: 6 of 8 CPUs, 0 of 2 x.io/gpu; node-1: 2 of 8 CPUs, 2 of 2 x.io/gpu"
    )


@pytest.mark.parametrize("policy", ["none", "best-effort"])
def test_where_nothing_has_to_be_aligned_the_whole_node_counts(policy: str) -> None:
    where = node(zone(0, 6), zone(1, 2), policy=policy)
    assert homes(cpus("7"), where) == ()
    assert why_not(cpus("9"), where) == "9 CPUs wanted, 8 CPUs left on the whole node"


def test_the_whole_node_may_have_less_left_than_its_numa_nodes() -> None:
    """Pods without CPUs of their own take from the node, and from no NUMA node."""
    left = {"cpu": 3000, "memory": 8 * GIB, "pods": 1}
    assert why_not(cpus("4"), node(zone(0, 8), left=left)) == "4 CPUs wanted, 3 CPUs left on the whole node"
    assert homes(cpus("3"), node(zone(0, 8), left=left)) == (0,)
    assert why_not(cpus("1"), node(zone(0, 8), left={**left, "pods": 0})) == "it has as many pods as it may"


def test_a_device_that_the_node_does_not_have_is_lacking() -> None:
    assert why_not(cpus("1", gpu=1), node(zone(0, 8))) == "it has no x.io/gpu"


def test_what_is_not_told_is_not_looked_at() -> None:
    """These zones tell no memory: there may be enough of it."""
    assert homes(cpus("1", memory="900Gi"), node(zone(0, 8))) == (0,)


def asking_for(resource: str, amount: str) -> Pod:
    limits = {"cpu": "1", "memory": "1Gi", resource: amount}
    return pod("p", {"name": "c", "resources": {"limits": limits}})


def test_no_node_tells_its_disk() -> None:
    """Exporters of zones do not, and pods that ask for some of it are placed all the same."""
    assert homes(asking_for("ephemeral-storage", "1Gi"), node(zone(0, 8, gibs=(4, 4)))) == (0,)


def test_huge_pages_are_there_to_be_told_where_memory_is() -> None:
    wanting = asking_for("hugepages-2Mi", "4Mi")
    assert homes(wanting, node(zone(0, 8))) == (0,)
    assert why_not(wanting, node(zone(0, 8, gibs=(4, 4)))) == "it has no hugepages-2Mi"


def test_cpus_are_aligned_for_guaranteed_pods_with_whole_cpus_only() -> None:
    where = node(zone(0, 2), zone(1, 2))
    assert why_not(cpus("3"), where).startswith("single-numa-node: container c wants 3 CPUs")
    assert homes(cpus("2500m"), where) == ()  # it fits, by the shared pool of both
    burstable = {"name": "c", "resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "3", "memory": "1Gi"}}}
    assert homes(pod("p", burstable), where) == ()
    assert homes(cpus("3"), node(zone(0, 2), zone(1, 2), unaligned=frozenset({"cpu"}))) == ()


def test_memory_is_aligned_where_zones_tell_it() -> None:
    where = (zone(0, 8, gibs=(1, 8)), zone(1, 2, gibs=(8, 8)))
    assert why_not(cpus("4", memory="2Gi"), node(*where)) == (
        "single-numa-node: container c wants 4 CPUs, 2 GiB memory of one NUMA node; "
        "left: node-0: 8 of 8 CPUs, 1 GiB of 8 GiB memory; node-1: 2 of 8 CPUs, 8 GiB of 8 GiB memory"
    )
    assert homes(cpus("2", memory="2Gi"), node(*where)) == (1,)
    assert predicate(cpus("4", memory="2Gi"), [node(*where, unaligned=frozenset({"memory"}))]).fitting


def test_containers_take_one_after_another() -> None:
    """The first takes the lowest NUMA node that has it, as the kubelet's merge does."""
    two = pod("p", container("a", "4"), container("b", "4"))
    assert homes(two, node(zone(0, 4), zone(1, 4))) == ()
    assert why_not(two, node(zone(0, 6), zone(1, 3))) == (
        "single-numa-node: container b wants 4 CPUs of one NUMA node; left: node-0: 2 of 8 CPUs; node-1: 3 of 8 CPUs"
    )


def test_the_scope_pod_wants_all_containers_together() -> None:
    two = pod("p", container("a", "4"), container("b", "4"))
    assert why_not(two, node(zone(0, 4), zone(1, 4), scope="pod")) == (
        "single-numa-node: the pod wants 8 CPUs of one NUMA node; left: node-0: 4 of 8 CPUs; node-1: 4 of 8 CPUs"
    )
    assert homes(two, node(zone(0, 4), zone(1, 8), scope="pod")) == (1,)


def test_an_init_container_ends_before_the_others_start() -> None:
    one = pod("p", container("c", "4"), init=(container("i", "4"),))
    assert homes(one, node(zone(0, 4), zone(1, 2))) == (0,)


def test_what_an_init_container_leaves_keeps_the_next_on_its_numa_node() -> None:
    """Node 0 is the lowest with 2 CPUs; the hints of the next must hold these, and it has no 4."""
    one = pod("p", container("c", "4"), init=(container("i", "2"),))
    assert "container c wants 4 CPUs" in why_not(one, node(zone(0, 3), zone(1, 8)))


def test_restricted_takes_as_few_numa_nodes_as_the_request_needs() -> None:
    """12 CPUs need two NUMA nodes of 8, so any two that have them will do; 7 need one."""
    where = node(zone(0, 2), zone(1, 6), zone(2, 6), policy="restricted")
    assert homes(cpus("12"), where) == ()
    assert why_not(cpus("7"), where) == (
        "restricted: container c wants 7 CPUs of as few NUMA nodes as can be; "
        "left: node-0: 2 of 8 CPUs; node-1: 6 of 8 CPUs; node-2: 6 of 8 CPUs"
    )
    assert "wants 13 CPUs" in why_not(cpus("13"), where)


def test_restricted_wants_the_same_number_for_all_resources() -> None:
    """12 CPUs need two NUMA nodes, one GPU needs one: no set is preferred by both."""
    where = node(zone(0, 8, gpu=(2, 2)), zone(1, 8, gpu=(2, 2)), policy="restricted")
    assert "wants 12 CPUs, 1 x.io/gpu" in why_not(cpus("12", gpu=1), where)
    assert homes(cpus("12", gpu=3), where) == ()  # three need two of them, too


def test_memory_of_several_numa_nodes_is_pinned_to_those_that_have_given_none() -> None:
    """The memory manager makes a group of NUMA nodes only of those that serve nobody yet."""
    zones = (zone(0, 8, gibs=(7, 8)), zone(1, 8, gibs=(8, 8)), zone(2, 8, gibs=(8, 8)))
    assert homes(cpus("12", memory="12Gi"), node(*zones, policy="restricted")) == ()
    assert "wants 12 CPUs, 12 GiB memory" in why_not(cpus("12", memory="12Gi"), node(*zones[:2], policy="restricted"))


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute", "NoScheduleNoAdmitNoExecute"])
def test_a_taint_has_to_be_tolerated(effect: str) -> None:
    taint = DEDICATED if effect.startswith("NoScheduleNo") else Taint("gpu", "", effect)
    where = node(zone(0, 8), taints=(taint,))
    assert why_not(cpus("1"), where) == f"spec.tolerations has none for the taint {taint}"
    assert homes(pod("p", container("c"), tolerations=[{"operator": "Exists"}]), where) == (0,)


def test_a_taint_that_is_only_preferred_keeps_nobody_out() -> None:
    assert homes(cpus("1"), node(zone(0, 8), taints=(Taint("gpu", "", "PreferNoSchedule"),))) == (0,)


def test_a_pod_may_name_its_node() -> None:
    named = pod("p", container("c"), nodeName="n")
    assert homes(named, node(zone(0, 8))) == (0,)
    assert why_not(named, node(zone(0, 8), name="m")) == "spec.nodeName is n"


@pytest.mark.parametrize("policy", ["none", "single-numa-node"])
@pytest.mark.parametrize("names", [(DEDICATED,), (NUMA_STRICT,)])
def test_who_names_a_cpu_taint_has_to_fit_one_numa_node(names: tuple[Taint, ...], policy: str) -> None:
    where = node(zone(0, 6), zone(1, 3), policy=policy)
    assert homes(bound("3", *names), where) == (1, 0)
    assert why_not(bound("7", *names), where) == (
        "one NUMA node has to have 7 CPUs; left: node-0: 6 of 8 CPUs; node-1: 3 of 8 CPUs"
    )


def test_dedicated_cpus_are_whole() -> None:
    assert why_not(bound("1500m", DEDICATED), node(zone(0, 6))) == (
        "spec: the containers ask for 1.5 CPUs together; ask for a whole number"
    )
    assert homes(bound("1500m", NUMA_STRICT), node(zone(0, 6))) == (0,)


def test_memory_has_to_be_there_if_the_policy_is_strict() -> None:
    where = node(zone(0, 8, gibs=(0, 8)), zone(1, 8, gibs=(4, 8)), policy="none")
    assert homes(bound("2", NUMA_STRICT, MEMORY_STRICT), where) == (1,)
    assert homes(bound("2", NUMA_STRICT), where) == (0, 1)


def test_memory_that_is_only_preferred_there_may_be_elsewhere() -> None:
    preferred = Taint("NUMAMemoryPolicy", "preferred", "NoScheduleNoAdmitNoExecute")
    where = node(zone(0, 8, gibs=(0, 8)), zone(1, 8, gibs=(4, 8)))
    assert homes(bound("2", NUMA_STRICT, preferred), where) == (0, 1)
    assert homes(bound("2", NUMA_STRICT), where) == (1,)  # by the Topology Manager, where memory is pinned


def test_a_numa_node_that_is_given_is_judged_alone() -> None:
    where = node(zone(0, 8), zone(1, 3))
    assert homes(bound("2", NUMA_STRICT, numaNodeID="0"), where) == (0,)
    assert why_not(bound("4", NUMA_STRICT, numaNodeID="1"), where) == (
        "one NUMA node has to have 4 CPUs; left: node-1: 3 of 8 CPUs"
    )
    assert why_not(bound("1", NUMA_STRICT, numaNodeID="5"), where) == "spec.numaNodeID: there is no NUMA node 5"


def test_cpus_that_are_given_say_which_numa_node_it_is() -> None:
    where = node(zone(0, 8), zone(1, 8))
    assert homes(bound("2", DEDICATED, cpuAffinity="9-10"), where) == (1,)
    assert why_not(bound("2", DEDICATED, cpuAffinity="7-8"), where) == "spec.cpuAffinity: no NUMA node has these CPUs"


def test_the_devices_of_a_bound_pod_have_to_be_near_where_the_policy_says_so() -> None:
    one = pod("p", container("c", "2", gpu=1), tolerations=tolerating(NUMA_STRICT))
    zones = (zone(0, 2, gpu=(0, 2)), zone(1, 8, gpu=(1, 2)))
    assert homes(one, node(*zones)) == (1,)
    assert homes(one, node(*zones, policy="none")) == (0, 1)


def test_nodes_are_ranked_by_the_share_of_cpus_in_use_then_by_name() -> None:
    """a: 4 of 8 in use, b: 2 of 16, c: 1 of 8, which is as much as b."""
    nodes = [node(zone(0, 4), name="a"), node(zone(0, 7), name="c"), node(zone(0, 14, 16), name="b")]
    answer = predicate(cpus("1"), nodes)
    assert answer.fitting == (Fit("b", (0,)), Fit("c", (0,)), Fit("a", (0,)))


def test_how_near_a_misfit_is() -> None:
    nodes: Mapping[Nearness, NodeTopology] = {
        Nearness.ZONES: node(zone(0, 2), zone(1, 2)),
        Nearness.AMOUNT: node(zone(0, 2)),
        Nearness.UNWANTED: node(zone(0, 8), taints=(DEDICATED,)),
    }
    answer = predicate(cpus("3"), nodes.values())
    assert [misfit.nearness for misfit in answer.misfits] == list(nodes)


def test_many_numa_nodes_are_not_all_listed() -> None:
    reason = why_not(cpus("5"), node(*(zone(number, 2) for number in range(9))))
    assert reason.endswith("node-3: 2 of 8 CPUs; and 5 more")


def test_dedicated_cpus_are_as_many_as_the_pod_asks_for() -> None:
    where = node(zone(0, 8))
    assert homes(bound("4", DEDICATED, cpuAffinity="1-4"), where) == (0,)
    assert why_not(bound("4", DEDICATED, cpuAffinity="5"), where) == (
        "spec.cpuAffinity: 1 CPUs, the pod asks for 4; give as many as it asks for"
    )
    assert "1000000 CPUs, the pod asks for 4" in why_not(bound("4", DEDICATED, cpuAffinity="1-1000000"), where)
    assert homes(bound("1", NUMA_STRICT, cpuAffinity="1-4"), where) == (0,)  # shared ones may be more
    assert "give enough of them" in why_not(bound("3", NUMA_STRICT, cpuAffinity="1-2"), where)


def test_a_byte_too_much_is_seen() -> None:
    where = node(zone(0, 8, gibs=(32, 32)))
    assert why_not(cpus("1", memory=str(32 * GIB + 1)), where) == (
        "34359738369 B memory wanted, 32 GiB memory left on the whole node"
    )


def test_preferred_memory_is_looked_for_everywhere() -> None:
    """20 GiB fit no NUMA node, and only one of them serves nobody yet."""
    where = node(zone(0, 8, gibs=(8, 16)), zone(1, 8, gibs=(16, 16)))
    one = pod("p", container("c", "2", "20Gi"), tolerations=tolerating(NUMA_STRICT, MEMORY_PREFERRED))
    assert why_not(one, where) == (
        "single-numa-node: container c wants 20 GiB memory of one NUMA node, or of several that serve nobody yet; "
        "left: node-0: 8 GiB of 16 GiB memory; node-1: 16 GiB of 16 GiB memory"
    )
    assert homes(one, node(zone(0, 8, gibs=(16, 16)), zone(1, 8, gibs=(16, 16)))) == (0, 1)


def test_cpus_of_its_own_have_to_be_left_where_nothing_is_aligned() -> None:
    """The whole node has 3 CPUs left by what pods ask for; an init container's are nobody's to have."""
    where = node(zone(0, 1), zone(1, 0), policy="none", left={"cpu": 3000})
    assert why_not(cpus("2"), where) == (
        "none: container c wants 2 CPUs of any NUMA nodes; left: node-0: 1 of 8 CPUs; node-1: 0 of 8 CPUs"
    )
    assert homes(cpus("1500m"), where) == ()


def test_a_bound_pod_that_asks_for_no_cpu_needs_some_to_run_on() -> None:
    idle = pod("p", {"name": "c"}, tolerations=tolerating(NUMA_STRICT))
    assert homes(idle, node(zone(0, 0), zone(1, 1))) == (1,)
    assert why_not(idle, node(zone(0, 0))) == "one NUMA node has to have some CPU to run on; left: node-0: 0 of 8 CPUs"


def test_amounts_are_told_without_exponents() -> None:
    where = node(zone(0, 8, gibs=(8, 8)))
    assert why_not(cpus("1234567"), where) == "1234567 CPUs wanted, 8 CPUs left on the whole node"
    assert why_not(cpus("1", memory="20000Gi"), where) == "20000 GiB memory wanted, 8 GiB memory left on the whole node"
