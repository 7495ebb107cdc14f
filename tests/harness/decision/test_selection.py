"""What the policy cost chooses, with real managers: from what, by which costs, and when it refuses."""

from fractions import Fraction
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.cost.costs import UNLISTED, Entry
from numaproof.harness.cost.system import CpuGroup, System
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MemoryNode
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY
from numaproof.harness.vocabulary import SEMANTICS, Semantics
from tests.harness.decision.choosing import (
    GIB,
    GPU,
    NIC,
    NODES,
    account,
    container,
    ids,
    linked,
    managers_of,
    pod,
    pod_of,
)


def test_cpus_memory_and_devices_come_from_one_node() -> None:
    """Node 0 has three CPUs left, so that four of one node are those of node 1; its GPU and memory are nearest."""
    trace = managers_of().admit(pod("p", cpu=4, gpu=1))
    given = trace.given["c"]
    assert given.cpus == {4, 5, 6, 7}
    assert given.memory == (Block((1,), "memory", GIB),)
    assert ids(trace) in ({"g2"}, {"g3"})
    assert given.affinity == TopologyHint(mask_of([1]), True)


def test_threads_of_a_core_come_before_other_cores() -> None:
    assert managers_of().admit(pod("p", cpu=2)).given["c"].cpus in ({2, 3}, {4, 5}, {6, 7})


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_pod_that_fits_on_no_node_is_admitted_across_nodes(semantics: Semantics) -> None:
    trace = managers_of(semantics=semantics).admit(pod("p", cpu=7, gpu=3))
    assert trace.verdict.admitted
    assert trace.given["c"].cpus == {1, 2, 3, 4, 5, 6, 7}
    assert trace.given["c"].affinity == TopologyHint(mask_of(NODES), False)


def test_the_number_of_numa_nodes_is_not_limited() -> None:
    """All other policies refuse more than eight nodes unless an option allows them."""
    nodes = tuple(range(16))
    distances = {node: {other: 10 if node == other else 20 for other in nodes} for node in nodes}
    system = System({node: CpuGroup(10, cpus=(node,)) for node in nodes}, nodes, distances)
    rows = [(node, node, node, node, node) for node in nodes]
    machine = NodeDescription(rows, tuple(MemoryNode(node, GIB) for node in nodes), nodes, distances, system)
    config = ManagerConfig("cost", cpu_policy="static", reserved_cpus=frozenset({0}))
    assert Managers(machine, config).admit(pod("p", cpu=15)).given["c"].cpus == set(range(1, 16))


def test_a_pod_that_asks_for_nothing_is_admitted_without_a_choice() -> None:
    trace = managers_of().admit(pod_of("p", container("c")))
    [step] = trace.steps
    assert trace.verdict.admitted
    assert step.selection is not None
    assert step.selection.account is None
    assert trace.given["c"].affinity == TopologyHint(None, True)


def test_only_what_the_managers_would_give_is_chosen_from() -> None:
    """A pod that is not Guaranteed gets no CPUs of its own, and a policy None pins no memory."""
    burstable = pod_of("p", container("c", gpu=2))
    trace = managers_of().admit(burstable)
    assert account(trace).request == {GPU: 2}
    assert not trace.given["c"].cpus
    trace = managers_of(memory_policy="None", reserved_memory={}).admit(pod("p", gpu=1))
    assert account(trace).request == {"cpu": 1, GPU: 1}


def test_devices_that_are_sick_or_taken_are_not_chosen() -> None:
    managers = managers_of()
    managers.devices.update(GPU, [Device("g0", (0,), healthy=False), *(Device(f"g{n}", (n // 2,)) for n in (1, 2, 3))])
    first = ids(managers.admit(pod("p", gpu=2)))
    assert first == {"g2", "g3"}  # the only two of one node
    assert ids(managers.admit(pod("q", gpu=1))) == {"g1"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"gpu": 5}, "requested number of devices unavailable for x.io/gpu. Requested: 5, Available: 4"),
        # Memory is on one node; after its CPUs (three of node 0) so many more are missing.
        ({"cpu": 8}, "not enough cpus available to satisfy request: requested=5, available=4"),
        ({"memory": "16Gi"}, "[memorymanager] failed to find NUMA nodes to extend the current topology hint"),
    ],
)
def test_a_shortage_is_told_in_the_managers_words(asked: dict[str, Any], message: str) -> None:
    verdict = managers_of().admit(pod("p", **asked)).verdict
    assert (verdict.admitted, verdict.reason) == (False, "UnexpectedAdmissionError")
    assert verdict.message == f"Allocate failed due to {message}, which is unexpected"


def test_memory_that_needs_both_nodes_is_a_group_of_both() -> None:
    given = managers_of().admit(pod("p", memory="10Gi")).given["c"]
    assert given.memory == (Block((0, 1), "memory", 10 * GIB),)


def test_memory_is_taken_near_the_devices_while_there_is_some() -> None:
    managers = managers_of()
    managers.devices.update(GPU, [Device("g2", (1,)), Device("g3", (1,))])
    assert managers.admit(pod("p", memory="5Gi", gpu=1)).given["c"].memory == (Block((1,), "memory", 5 * GIB),)
    assert managers.admit(pod("q", memory="5Gi", gpu=1)).given["c"].memory == (Block((0,), "memory", 5 * GIB),)


def test_costs_that_a_plugin_reports_count_instead_of_its_numa_nodes() -> None:
    """g0 and g3 are linked, although they are on different nodes."""
    managers = managers_of()
    managers.update_costs(GPU, linked([("g0", "g3")], ["g0", "g1", "g2", "g3"]))
    trace = managers.admit(pod("p", cpu=4, gpu=2))
    assert ids(trace) == {"g0", "g3"}
    assert [report.reporter for report in account(trace).costs.reports if report.entries] == [GPU]
    managers.remove("p")
    managers.update_costs(GPU, ())
    assert ids(managers.admit(pod("q", cpu=4, gpu=2))) == {"g2", "g3"}  # where four CPUs are free


def test_an_old_and_a_new_plugin_in_one_pod() -> None:
    """The NICs' plugin reports that n1 is near the CPUs of node 1 only; the old GPUs' nodes say the rest."""
    managers = managers_of()
    managers.devices.update(NIC, [Device("n0", None), Device("n1", None)])
    near = {"n0": 0, "n1": 1}
    managers.update_costs(
        NIC,
        tuple(
            Entry(NIC, (one,), "cpu", tuple(f"cpu{4 * to + i}" for i in range(4)), Fraction(1 if to == node else 5))
            for one, node in near.items()
            for to in NODES
        ),
    )
    managers.devices.update(
        GPU, [Device("g0", (0,), healthy=False), Device("g1", (0,), healthy=False), Device("g2", (1,))]
    )
    trace = managers.admit(pod("p", cpu=2, gpu=1, nic=1))
    assert ids(trace, resource=NIC) == {"n1"}
    assert trace.given["c"].affinity == TopologyHint(mask_of([1]), True)


def test_a_device_without_topology_costs_nothing() -> None:
    managers = managers_of()
    managers.devices.update(GPU, [Device("a", None), Device("b", (-1,)), Device("c", ())])
    trace = managers.admit(pod("p", gpu=3))
    assert account(trace).costs.reports[-1].entries == ()
    assert ids(trace) == {"a", "b", "c"}


def test_a_device_of_several_nodes_is_as_near_as_the_nearest() -> None:
    """To both nodes 10, where a device of node 0 has 10 and 20; so CPUs of node 1 come with it for free."""
    managers = managers_of()
    managers.devices.update(GPU, [Device("g0", (0,)), Device("both", (0, 1))])
    trace = managers.admit(pod("p", cpu=4, gpu=1))
    assert ids(trace) == {"both"}
    assert trace.given["c"].affinity == TopologyHint(mask_of([1]), True)


def test_four_single_gpus_break_two_of_four_linked_pairs() -> None:
    """The second pod takes the partner of the first one's GPU: nobody else gains by it."""
    managers = managers_of()
    names = [f"g{number}" for number in range(8)]
    pairs = [(names[number], names[number + 1]) for number in (0, 2, 4, 6)]
    managers.devices.update(GPU, [Device(name, None) for name in names])
    managers.update_costs(GPU, linked(pairs, names))
    taken: set[str] = set()
    for number in range(4):
        taken |= ids(managers.admit(pod_of(f"p{number}", container("c", gpu=1))))
    assert sum(1 for one, other in pairs if not {one, other} & taken) == 2


def test_a_device_that_another_resource_is_near_to_is_left_for_who_wants_both() -> None:
    """One GPU costs nothing, whichever it is; the NIC is near to the first, and far from the second."""
    managers = managers_of()
    managers.devices.update(GPU, [Device("a", None), Device("b", None)])
    managers.devices.update(NIC, [Device("n", None)])
    told = ((("a",), 1), (("b",), 100))
    managers.update_costs(NIC, tuple(Entry(NIC, ("n",), GPU, target, Fraction(cost)) for target, cost in told))
    assert ids(managers.admit(pod_of("p", container("c", gpu=1)))) == {"b"}


def test_above_the_maximum_a_pod_is_refused_in_the_kubelets_words() -> None:
    """Two CPUs of a core cost 1 in each direction, of 20 at most: 2 * 1 * 100 / 20 is 10. Of two cores: 100."""
    at_most = {"topology_options": {"cost-maximum": "10"}, "memory_policy": "None", "reserved_memory": {}}
    managers = managers_of(**at_most)
    trace = managers.admit(pod("p", cpu=2))
    assert trace.verdict.admitted
    assert account(trace).solution.cost == account(trace).maximum == 10
    refused = managers.admit(pod("q", cpu=3))
    assert refused.verdict == NO_COMMON_AFFINITY
    assert refused.steps[0].decision.admit is False
    assert managers.assignment("q", "c").cpus == frozenset()


def test_the_seed_is_fixed_unless_it_is_given() -> None:
    assert account(managers_of().admit(pod("p"))).solution.seed == 1
    assert account(managers_of(topology_options={"cost-seed": "7"}).admit(pod("p"))).solution.seed == 7


def test_the_rule_for_unlisted_pairs_is_an_option_and_explained() -> None:
    """a and b are linked at 1, d is at 5 from both, and of c nothing is said: it is free, or as far as can be."""
    costs = {("a", "b"): 1, ("a", "d"): 5, ("b", "d"): 5}
    told = [
        Entry(GPU, (pair[way],), GPU, (pair[1 - way],), Fraction(cost))
        for pair, cost in costs.items()
        for way in (0, 1)
    ]
    chosen = {}
    for rule in UNLISTED:
        managers = managers_of(topology_options={"cost-unlisted": rule})
        managers.devices.update(GPU, [Device(name, None) for name in "abcd"])
        managers.update_costs(GPU, tuple(told))
        mark = managers.checkpoint()
        trace = managers.admit(pod_of("p", container("c", gpu=2)))
        assert account(trace).unlisted_decided()
        chosen[rule] = ids(trace)
        managers.rollback(mark)
        everything = managers.admit(pod_of("q", container("c", gpu=4)))
        assert not account(everything).unlisted_decided()
    assert "c" in chosen["nothing"]
    assert chosen["farthest"] == {"a", "b"}


@pytest.mark.parametrize(
    "option",
    [
        "distribute-cpus-across-numa",
        "distribute-cpus-across-cores",
        "align-by-socket",
        "prefer-align-cpus-by-uncorecache",
    ],
)
def test_cpu_manager_options_that_choose_are_refused(option: str) -> None:
    with pytest.raises(UserError, match=f"cpuManagerPolicyOptions: {option}: chooses CPUs, .*; drop the option"):
        managers_of(cpu_options={option: True})
    assert managers_of(cpu_options={option: False}).admit(pod("p")).verdict.admitted


def test_full_cores_only_gives_whole_cores() -> None:
    """CPU 0 is reserved, and so is 1 then; a GPU that is near to CPUs 4 and 6 does not split their cores.

    Both would cost 100 with each other and 1 with the GPU: 102. A core costs 10, and with the GPU 1 and 100: 111.
    """
    managers = managers_of(cpu_options={"full-pcpus-only": True}, memory_policy="None", reserved_memory={})
    far = tuple(f"cpu{cpu}" for cpu in (1, 2, 3, 5, 7))
    managers.update_costs(
        GPU,
        (
            Entry(GPU, ("g0",), "cpu", ("cpu4", "cpu6"), Fraction(1)),
            Entry(GPU, ("g0",), "cpu", far, Fraction(100)),
        ),
    )
    managers.devices.update(GPU, [Device("g0", None)])
    trace = managers.admit(pod("p", cpu=2, gpu=1))
    assert trace.given["c"].cpus in ({4, 5}, {6, 7})
    assert account(trace).solution.bound == 102
    assert account(trace).solution.cost == 111
    odd = managers.admit(pod("q", cpu=1)).verdict
    assert odd.reason == "SMTAlignmentError"
    assert managers.admit(pod("r", cpu=4)).verdict.admitted
    assert managers.admit(pod("s", cpu=2)).verdict.reason == "SMTAlignmentError"


def test_strict_reservation_works() -> None:
    managers = managers_of(cpu_options={"strict-cpu-reservation": True})
    managers.admit(pod("p", cpu=3))
    assert 0 not in managers.cpu.shared_pool


def test_without_the_feature_gate_nothing_is_chosen() -> None:
    """The options stay allowed: they go with the policy that is configured."""
    trace = managers_of(topology_manager_enabled=False, topology_options={"cost-maximum": "0"}).admit(pod("p", cpu=7))
    assert trace.verdict.admitted
    assert (trace.policy, trace.steps) == ("none", ())
