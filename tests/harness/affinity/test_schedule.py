"""Placing pods over nodes: the plain way, the predicate's in two phases, and what nodes are left with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.fake_sysfs import preset
from numaproof.harness.affinity.ledger import Holding, used
from numaproof.harness.affinity.machine_kind import MachineKind, default_config, machine_kind
from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.node_topology import DeviceStock, NodeTopology, zone_statuses
from numaproof.harness.affinity.schedule import Placement, Tally, schedule, tally
from numaproof.harness.affinity.targets import MachineTarget, ZoneTarget
from numaproof.harness.decision.discovery import devices_of
from numaproof.harness.decision.managers import Managers
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.test_predicate import node, zone
from tests.harness.affinity.worlds import (
    DEDICATED,
    GIB,
    GPU,
    MEMORY_STRICT,
    NUMA_STRICT,
    container,
    kind,
    pod,
    tolerating,
)

BOTH = tolerating(DEDICATED, NUMA_STRICT)


def placed(pods: Sequence[Pod], way: Any, **kinds: MachineKind) -> list[Placement]:
    return schedule(pods, [MachineTarget(name, one) for name, one in kinds.items()], way)


def wholes(count: int, cpus: str) -> list[Pod]:
    return [pod(f"p{number}", container("c", cpus)) for number in range(count)]


def test_plain_fit_sends_pods_to_a_node_that_refuses_them() -> None:
    """Two NUMA nodes of 4 CPUs, one reserved: after pods of 2 and 3, each has 1 left, and a pod of 2 fits neither."""
    kinds = {"a": kind(4, 4)}
    pods = [pod("p0", container("c", "2")), pod("p1", container("c", "3")), pod("p2", container("c", "2"))]
    plain = placed(pods, "plain", **kinds)
    assert [one.decision.verdict.reason for one in plain] == ["", "", "TopologyAffinityError"]
    assert tally(plain) == Tally(3, 3, 2, 0, {"TopologyAffinityError": 1}, 0, 5000)
    better = placed(pods, "predicate", **kinds)
    assert tally(better) == Tally(3, 2, 2, 0, {}, 1, 5000)
    [lost] = [one for one in better if not one.node]
    assert (lost.pod.name, lost.not_fitting) == ("p2", 1)
    assert [(one.node, one.reason) for one in lost.misfits] == [
        (
            "a",
            "single-numa-node: container c wants 2 CPUs of one NUMA node; "
            "left: node-0: 1 of 3 CPUs; node-1: 1 of 4 CPUs",
        )
    ]


def test_the_predicate_passes_over_a_node_that_would_refuse() -> None:
    """a and b have 2 of 7 CPUs left, a in two NUMA nodes and b in one; a comes first by name. A pod of 2."""
    kinds = {"a": kind(4, 4), "b": kind(8)}
    named = [pod("p0", container("c", "2"), nodeName="a"), pod("p1", container("c", "3"), nodeName="a")]
    named += [pod("p2", container("c", "5"), nodeName="b"), pod("p3", container("c", "2"))]
    assert [one.node for one in placed(named, "plain", **kinds)] == ["a", "a", "b", "a"]
    assert not placed(named, "plain", **kinds)[3].decision.verdict.admitted
    last = placed(named, "predicate", **kinds)[3]
    assert (last.node, last.decision.verdict.admitted) == ("b", True)


def test_a_refused_pod_holds_nothing() -> None:
    kinds = {"a": kind(4, 4)}
    pods = [pod("p0", container("c", "2")), pod("p1", container("c", "3")), pod("p2", container("c", "2"))]
    plain = placed([*pods, pod("p3", container("c", "1")), pod("p4", container("c", "1"))], "plain", **kinds)
    assert [one.decision.verdict.admitted for one in plain] == [True, True, False, True, True]


def test_pods_that_wait_for_their_fields_are_bound_in_the_second_phase() -> None:
    """NUMA node 0 has CPUs 1-3, NUMA node 1 has 4-7: 2 fit both, and 0 is tighter."""
    pods = [pod(f"p{n}", container("c", "2"), tolerations=BOTH) for n in range(4)]
    plain = placed(pods, "plain", a=kind(4, 4))
    assert {one.decision.verdict.message for one in plain if one.node} == {
        "waits to be bound: spec.numaNodeID and spec.cpuAffinity not told yet"
    }
    assert tally(plain) == Tally(4, 3, 0, 3, {}, 1, 0)
    better = placed(pods, "predicate", a=kind(4, 4))
    fields = [(one.pod.numa_node_id, one.pod.cpu_affinity) for one in better]
    assert fields == [(0, {1, 2}), (1, {4, 5}), (1, {6, 7}), (None, None)]
    assert tally(better) == Tally(4, 3, 3, 0, {}, 1, 6000)


def test_whole_cores_come_first_and_a_broken_one_gives_the_rest() -> None:
    """Cores 0-1, 2-3, 4-5, 6-7, 8-9; CPU 0 is reserved, so that core 0-1 is broken."""
    pods = [pod(f"p{n}", container("c", cpus), tolerations=BOTH) for n, cpus in enumerate(["3", "2", "3"])]
    better = placed(pods, "predicate", a=kind(10, threads=2))
    assert [set(one.pod.cpu_affinity or ()) for one in better] == [{2, 3, 1}, {4, 5}, {6, 7, 8}]


def test_fields_that_a_pod_brings_are_kept() -> None:
    given_ = pod("p", container("c", "2"), tolerations=BOTH, numaNodeID="1", cpuAffinity="6-7")
    half = pod("q", container("c", "2"), tolerations=BOTH, numaNodeID="1")
    better = placed([given_, half], "predicate", a=kind(4, 4))
    assert [set(one.pod.cpu_affinity or ()) for one in better] == [{6, 7}, {4, 5}]
    assert all(one.decision.verdict.admitted and one.decision.zones == (1,) for one in better)


def test_a_node_refuses_fields_that_it_cannot_have() -> None:
    odd = pod("p", container("c", "2"), tolerations=BOTH, numaNodeID="1", cpuAffinity="6-8")
    [one] = placed([odd], "plain", a=kind(4, 4))
    assert one.decision.verdict.reason == "Invalid"
    assert "spec.cpuAffinity: CPUs 8 are not online here" in one.decision.verdict.message


def test_devices_near_the_cpus() -> None:
    """The GPU is on NUMA node 1, which has 4 CPUs: a pod of 3 and a GPU fits once."""
    pods = [pod(f"p{n}", container("c", "3", gpu=1)) for n in range(2)]
    better = placed(pods, "predicate", a=kind(8, 4, gpus=(0, 2)))
    assert [one.decision.zones for one in better] == [(1,), ()]
    plain = placed(pods, "plain", a=kind(8, 4, gpus=(0, 2)))
    assert tally(plain).refused == {"TopologyAffinityError": 1}


def test_nodes_known_by_their_zones_decide_by_them() -> None:
    pods = wholes(3, "4")
    for way, expected in (
        ("plain", Tally(3, 3, 2, 0, {"TopologyAffinityError": 1}, 0, 8000)),
        ("predicate", Tally(3, 2, 2, 0, {}, 1, 8000)),
    ):
        target = ZoneTarget(node(zone(0, 6), zone(1, 7)))
        assert tally(schedule(pods, [target], way)) == expected  # type: ignore[arg-type]
        assert [one.available["cpu"] for one in target.topology.zones] == [2000, 3000]


def test_zones_hold_bound_pods_too() -> None:
    pods = [pod(f"p{n}", container("c", "4"), tolerations=BOTH) for n in range(3)]
    better = schedule(pods, [ZoneTarget(node(zone(0, 6), zone(1, 7)))], "predicate")
    assert [one.pod.numa_node_id for one in better] == [0, 1, None]
    plain = schedule(pods, [ZoneTarget(node(zone(0, 6), zone(1, 7)))], "plain")
    assert tally(plain) == Tally(3, 3, 0, 3, {}, 0, 0)  # 12 of 13 CPUs are asked for


def test_the_presets_devices_have_the_names_of_their_usual_plugins() -> None:
    found = devices_of(preset("dgx-a100"))
    assert len(found["nvidia.com/gpu"]) == 8
    assert {one.numa for one in found["nvidia.com/gpu"]} == {(1,), (3,), (5,), (7,)}


def test_without_a_configuration_the_first_core_is_reserved() -> None:
    machine = preset("xeon-2s")
    made = machine_kind(machine, default_config(machine))
    [first] = [core for core in made.cores if 0 in core]
    assert frozenset().union(*(one.reserved_cpus for one in made.zones)) == first


def test_nodes_are_taken_in_turns_as_they_fill() -> None:
    assert [one.node for one in placed(wholes(5, "1"), "plain", a=kind(4), b=kind(4))] == ["a", "b", "a", "b", "a"]


def test_a_pod_that_fitted_nowhere_may_fit_after_another_came() -> None:
    """NUMA node 0: 5 CPUs and the GPU, NUMA node 1: 4 CPUs. `a` (4 CPUs) takes the lowest that has them, node 0, and
    leaves `b` (2 CPUs, a GPU) without. After a pod of 2 on node 0 it has to take node 1, and leaves node 0 to `b`.
    """
    first = pod("p", container("a", "4"), container("b", "2", gpu=1))
    again = replace(first, name="again", uid="again")
    better = placed([first, pod("q", container("c", "2")), again], "predicate", n=kind(6, 4, gpus=(1, 0)))
    assert [one.node for one in better] == ["", "n", "n"]
    assert [one.decision.zones for one in better] == [(), (0,), (0, 1)]
    assert better[2].decision.verdict.admitted


def test_a_node_has_as_many_pods_as_it_may() -> None:
    target = MachineTarget("n", kind(8, max_pods=2))
    pods = [pod(f"p{number}", {"name": "c"}) for number in range(3)]
    reasons = [target.send(one, needs_of(one)).verdict.reason for one in pods]
    assert reasons == ["", "", "OutOfpods"]


def sent(target: MachineTarget, one: Pod) -> str:
    """Why a target refuses a pod; empty: it does not."""
    return target.send(one, needs_of(one)).verdict.reason


def test_memory_that_a_refused_pod_was_given_is_free_for_a_bound_one() -> None:
    """7 GiB are for pods. The second pod gets 6 of them, and is then refused for want of CPU."""
    target = MachineTarget("n", kind(8, memory_policy="Static"))
    assert sent(target, pod("p0", {"name": "c", "resources": {"requests": {"cpu": "6500m"}}})) == ""
    assert sent(target, pod("p1", container("c", "1500m", "6Gi"))) == "OutOfcpu"
    strict = tolerating(NUMA_STRICT, MEMORY_STRICT)
    assert sent(target, pod("p2", container("c", "500m", "6Gi"), tolerations=strict, numaNodeID="0")) == ""


def test_memory_of_an_init_container_is_given_back() -> None:
    target = MachineTarget("n", kind(8, memory_policy="Static"))
    assert sent(target, pod("p", container("c", "1", "1Gi"), init=(container("i", "1", "5Gi"),))) == ""
    assert target.topology.zones[0].available["memory"] == 6 * GIB


def test_cpus_that_a_pod_shares_are_nobody_elses_to_have() -> None:
    shared = pod("p", container("c", "1"), tolerations=tolerating(NUMA_STRICT), numaNodeID="0", cpuAffinity="1-2")
    target = MachineTarget("n", kind(8, 8, topology_policy="none"))
    assert sent(target, shared) == ""
    dedicated = pod("q", container("c", "2"), tolerations=BOTH)
    assert target.bound(dedicated, 0).cpu_affinity == frozenset({3, 4})


def test_a_bound_pod_that_got_cpus_elsewhere_is_refused() -> None:
    """CPUs 1-3 of NUMA node 0 are shared by a pod that asks for 1: 2 are left there by amount, and none to be had."""
    strict = tolerating(NUMA_STRICT)
    target = MachineTarget("n", kind(4, 4, topology_policy="none"))
    assert sent(target, pod("p", container("c", "1"), tolerations=strict, numaNodeID="0", cpuAffinity="1-3")) == ""
    assert sent(target, pod("q", container("c", "2"), tolerations=strict, numaNodeID="0")) == "NUMACPUAffinityError"


def test_a_pod_that_waits_counts_on_the_node_as_a_whole() -> None:
    """7 CPUs are for pods: 3 of them for one that waits, on no NUMA node, so that of two pods of 3 one is sent."""
    waiting = pod("w", container("c", "3"), tolerations=BOTH)
    target = MachineTarget("a", kind(4, 4))
    plain = schedule([waiting, *wholes(2, "3")], [target], "plain")
    assert tally(plain) == Tally(3, 2, 1, 1, {}, 1, 3000)
    assert target.topology.left is not None
    assert (target.topology.left["cpu"], target.topology.left["pods"], target.version) == (1000, 108, 2)
    assert [zone.available["cpu"] for zone in target.topology.zones] == [0, 4000]


def test_pods_that_wait_are_among_those_that_a_node_may_have() -> None:
    target = MachineTarget("n", kind(8, max_pods=2))
    waiting = [pod(f"w{number}", container("c", "1"), tolerations=BOTH) for number in range(3)]
    assert [sent(target, one) for one in waiting] == ["Pending", "Pending", "OutOfpods"]
    assert sent(target, pod("p", container("c", "1"))) == "OutOfpods"


def test_a_pod_that_waits_needs_room_on_the_node() -> None:
    target = MachineTarget("n", kind(4, 4))
    waiting = [pod(f"w{number}", container("c", "3"), tolerations=BOTH) for number in range(3)]
    assert [sent(target, one) for one in waiting] == ["Pending", "Pending", "OutOfcpu"]


def test_a_node_that_refused_a_pod_is_passed_over_for_the_next_like_it() -> None:
    """Whole cores only, which nodes do not tell: `a` refuses 3 CPUs, and is asked again once it changed."""
    whole_cores = kind(32, threads=2, cpu_options={"full-pcpus-only": True})
    copies = [pod(f"p{number}", container("c", "3")) for number in range(3)]
    pods = [*copies[:2], pod("q", container("c", "2"), nodeName="a"), copies[2]]
    plain = placed(pods, "plain", a=whole_cores, b=kind(4))
    assert [one.node for one in plain] == ["a", "a", "a", "b"]
    better = placed(pods, "predicate", a=whole_cores, b=kind(4))
    assert [(one.node, one.decision.verdict.admitted) for one in better] == [
        ("a", False),
        ("b", True),
        ("a", True),
        ("a", False),
    ]


def test_why_a_node_refused_is_told_to_those_that_fit_nowhere() -> None:
    whole_cores = kind(32, threads=2, cpu_options={"full-pcpus-only": True})
    better = placed(wholes(3, "3"), "predicate", a=whole_cores)
    assert tally(better).refused == {"SMTAlignmentError": 1}
    for one in better[1:]:
        [why] = one.misfits
        assert why.node == "a"
        assert why.reason.startswith("it refused a pod like this: SMTAlignmentError: ")


# What a node tells while pods come is what the ledger of the reference node would tell.


def by_the_ledger(kind_: MachineKind, managers: Managers, holdings: list[Holding]) -> Any:
    held: dict[str, set[str]] = {}
    for holding in holdings:
        for given_ in holding.given.values():
            for resource, ids in given_.device_ids().items():
                held.setdefault(resource, set()).update(ids)
    stock = {
        resource: DeviceStock(devices, frozenset(one.id for one in devices), frozenset(held.get(resource, ())))
        for resource, devices in kind_.devices.items()
    }
    return zone_statuses(kind_.zones, used(kind_.zones, holdings, managers.memory.state), stock)


@settings(max_examples=100)
@given(
    st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
    st.sampled_from(["None", "Static"]),
    st.lists(
        st.tuples(
            st.sampled_from(["500m", "1", "2", "3"]), st.integers(1, 4), st.integers(0, 1), st.booleans(), st.booleans()
        ),
        max_size=8,
    ),
)
def test_what_is_left_is_kept_up_to_date(
    policy: str, memory: str, asked: list[tuple[str, int, int, bool, bool]]
) -> None:
    made = kind(4, 4, gpus=(2, 1), topology_policy=policy, memory_policy=memory)
    target = MachineTarget("n", made)
    for number, (cpus, gibs, gpus, is_bound, has_init) in enumerate(asked):
        init = (container("i", "2"),) if has_init else ()
        tolerations = tolerating(NUMA_STRICT, MEMORY_STRICT) if is_bound else []
        one = pod(f"p{number}", container("c", cpus, f"{gibs}Gi", gpus), init=init, tolerations=tolerations)
        before = target.version
        decision = target.send(target.bound(one, number % 2), needs_of(one))
        assert (target.version > before) == decision.verdict.admitted
    topology: NodeTopology = target.topology
    managers, holdings = target._managers, target._holdings
    assert topology.left is not None
    assert topology.left["pods"] == 110 - len(holdings)
    if managers is not None:
        assert topology.zones == by_the_ledger(made, managers, holdings)
        held = sum(
            len(devices)
            for holding in holdings
            for given_ in holding.given.values()
            for devices in given_.device_ids().values()
        )
        assert topology.left[GPU] == 3 - held
