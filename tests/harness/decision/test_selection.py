"""The policy cost with real managers: exactly what the solver chooses is allocated, and nothing else."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.harness.cost.costs import UNLISTED, Entry
from numaproof.harness.cost.system import CpuGroup, System
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.decision.selection import Account
from numaproof.harness.decision.trace import Trace
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MemoryNode
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY
from numaproof.harness.vocabulary import SEMANTICS, Semantics

GIB = 1 << 30
GPU, NIC = "x.io/gpu", "x.io/nic"
NODES = (0, 1)


def description() -> NodeDescription:
    """Two nodes of two cores of two threads: CPUs 0 and 1 are a core, 2 and 3, and on node 1 so on."""
    rows = [(cpu, cpu // 2, cpu // 4, cpu // 4, cpu // 4) for cpu in range(8)]
    groups = {
        node: CpuGroup(10, tuple(CpuGroup(1, cpus=(first, first + 1)) for first in (4 * node, 4 * node + 2)))
        for node in NODES
    }
    distances = {node: {other: 10 if node == other else 20 for other in NODES} for node in NODES}
    memory = tuple(MemoryNode(node, 8 * GIB) for node in NODES)
    return NodeDescription(rows, memory, NODES, distances, System(groups, NODES, distances))


def managers_of(**changes: Any) -> Managers:
    """With two old GPUs on each node: g0 and g1 on node 0, g2 and g3 on node 1."""
    config: dict[str, Any] = {
        "topology_policy": "cost",
        "cpu_policy": "static",
        "reserved_cpus": frozenset({0}),
        "memory_policy": "Static",
        "reserved_memory": {0: {"memory": GIB}},
    }
    managers = Managers(description(), ManagerConfig(**{**config, **changes}))
    managers.devices.update(GPU, [Device(f"g{number}", (number // 2,)) for number in range(4)])
    return managers


def container(name: str, **more: Any) -> dict[str, Any]:
    limits = {"gpu": GPU, "nic": NIC}
    asked = {limits.get(key, key): str(amount) for key, amount in more.items() if key != "restartPolicy"}
    policy = {"restartPolicy": more["restartPolicy"]} if "restartPolicy" in more else {}
    return {"name": name, "resources": {"limits": asked}, **policy}


def pod_of(name: str, *containers: dict[str, Any], first: Iterable[dict[str, Any]] = ()) -> Pod:
    spec = {"initContainers": list(first), "containers": list(containers)}
    return pod_from({"metadata": {"name": name, "uid": name}, "spec": spec})


def pod(name: str, **asked: Any) -> Pod:
    return pod_of(name, container("c", **{"cpu": 1, "memory": "1Gi", **asked}))


def linked(pairs: Iterable[tuple[str, str]], ids: Iterable[str], far: int = 10) -> tuple[Entry, ...]:
    """What a plugin reports of devices in linked pairs: 1 within a pair, `far` to all others."""
    partner = dict(pairs) | {other: one for one, other in pairs}
    everybody = tuple(ids)
    found = [Entry(GPU, (one,), GPU, (partner[one],), Fraction(1)) for one in everybody if one in partner]
    for one in everybody:
        others = tuple(other for other in everybody if other not in (one, partner.get(one)))
        found.append(Entry(GPU, (one,), GPU, others, Fraction(far)))
    return tuple(found)


def ids(trace: Trace, name: str = "c", resource: str = GPU) -> set[str]:
    return {one.id for one in trace.given[name].devices.get(resource, ())}


def account(trace: Trace, step: int = 0) -> Account:
    selection = trace.steps[step].selection
    assert selection is not None
    assert isinstance(selection.account, Account)
    return selection.account


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
    assert ids(managers.admit(pod_of("p", container("c", gpu=2)))) == {"g0", "g3"}
    managers.remove("p")
    managers.update_costs(GPU, ())
    assert ids(managers.admit(pod("q", gpu=2))) in ({"g0", "g1"}, {"g2", "g3"})


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
    """CPU 0 is reserved, and so is 1 then; a GPU that is near to CPUs 3 and 5 does not split their cores."""
    managers = managers_of(cpu_options={"full-pcpus-only": True})
    far = tuple(f"cpu{cpu}" for cpu in (1, 2, 4, 6, 7))
    managers.update_costs(
        GPU,
        (
            Entry(GPU, ("g0",), "cpu", ("cpu3", "cpu5"), Fraction(1)),
            Entry(GPU, ("g0",), "cpu", far, Fraction(100)),
        ),
    )
    managers.devices.update(GPU, [Device("g0", None)])
    assert managers.admit(pod("p", cpu=2, gpu=1)).given["c"].cpus in ({2, 3}, {4, 5})
    odd = managers.admit(pod("q", cpu=1)).verdict
    assert odd.reason == "SMTAlignmentError"
    assert managers.admit(pod("r", cpu=4)).verdict.admitted
    assert managers.admit(pod("s", cpu=2)).verdict.reason == "SMTAlignmentError"


def test_strict_reservation_works() -> None:
    managers = managers_of(cpu_options={"strict-cpu-reservation": True})
    managers.admit(pod("p", cpu=3))
    assert 0 not in managers.cpu.shared_pool


def test_what_init_containers_leave_is_taken_first() -> None:
    """The first container has two GPUs; of the second's three they are two, of the third's one it is one of them."""
    managers = managers_of()
    init = container("init", cpu=2, memory="1Gi", gpu=2)
    trace = managers.admit(pod_of("p", container("more", cpu=3, memory="1Gi", gpu=3), first=[init]))
    assert trace.given["init"].cpus < trace.given["more"].cpus
    assert ids(trace, "init") < ids(trace, "more")
    trace = managers_of().admit(pod_of("p", container("less", cpu=1, memory="1Gi", gpu=1), first=[init]))
    assert trace.given["less"].cpus < trace.given["init"].cpus
    assert ids(trace, "less") < ids(trace, "init")


def test_scope_pod_chooses_once_and_serves_all_containers_from_it() -> None:
    managers = managers_of(topology_scope="pod")
    asked = pod_of("p", *(container(name, cpu=2, memory="1Gi", gpu=1) for name in "ab"))
    trace = managers.admit(asked)
    [step] = trace.steps
    assert (step.container, step.decision.rule) == ("", "cost")
    assert account(trace).request == {"cpu": 4, "memory": 1, GPU: 2}
    # Four CPUs of one node, its memory and both its GPUs: node 0 has but three left.
    assert [one.cpus for one in trace.given.values()] in ([{4, 5}, {6, 7}], [{6, 7}, {4, 5}])
    assert ids(trace, "a") | ids(trace, "b") == {"g2", "g3"}
    assert {one.affinity for one in trace.given.values()} == {TopologyHint(mask_of([1]), True)}


def test_scope_pod_reuses_what_init_containers_leave() -> None:
    init = container("init", cpu=3, memory="1Gi", gpu=1)
    sidecar = container("sidecar", cpu=1, memory="1Gi", restartPolicy="Always")
    asked = pod_of("p", *(container(name, cpu=1, memory="1Gi", gpu=1) for name in "ab"), first=[sidecar, init])
    trace = managers_of(topology_scope="pod").admit(asked)
    assert trace.verdict.admitted
    # At most four CPUs at a time, sidecar and init, and two GPUs.
    assert account(trace).request == {"cpu": 4, "memory": 1, GPU: 2}
    lasting = [trace.given[name].cpus for name in ("sidecar", "a", "b")]
    assert frozenset().union(*lasting) < {4, 5, 6, 7}
    assert sum(map(len, lasting)) == 3
    assert trace.given["a"].cpus | trace.given["b"].cpus < trace.given["init"].cpus
    assert ids(trace, "init") == ids(trace, "a")


def test_scope_pod_keeps_memory_in_one_group() -> None:
    """12Gi need both nodes, and each container's 6Gi come from the group, though they would fit on a single node."""
    asked = pod_of("p", *(container(name, cpu=1, memory="6Gi") for name in "ab"))
    trace = managers_of(topology_scope="pod").admit(asked)
    assert [one.memory for one in trace.given.values()] == [(Block((0, 1), "memory", 6 * GIB),)] * 2


def test_the_maximum_counts_for_the_whole_pod_in_scope_pod() -> None:
    settings_of = {"topology_options": {"cost-maximum": "10"}, "memory_policy": "None", "reserved_memory": {}}
    asked = pod_of("p", *(container(name, cpu=2, memory="1Gi") for name in "ab"))
    assert managers_of(**settings_of).admit(asked).verdict.admitted
    assert managers_of(**settings_of, topology_scope="pod").admit(asked).verdict == NO_COMMON_AFFINITY


@pytest.mark.parametrize("scope", ["container", "pod"])
def test_a_pod_that_is_admitted_again_keeps_what_it_has(scope: str) -> None:
    asked = pod_of("p", *(container(name, cpu=1, memory="1Gi", gpu=1) for name in "ab"))
    before = managers_of(topology_scope=scope)
    given = before.admit(asked).given
    again = managers_of(topology_scope=scope)
    again.restore([(asked, given)])
    trace = again.admit(asked)
    assert trace.verdict.admitted
    assert trace.given == given
    assert again.cpu.shared_pool == before.cpu.shared_pool


def test_a_provider_of_somebody_else_is_given_the_hint() -> None:
    class Provider:
        name = "other"

        def __init__(self) -> None:
            self.seen: list[TopologyHint] = []

        def get_topology_hints(self, _pod: Pod, _container: object) -> Mapping[str, Any]:
            raise AssertionError("nobody is asked for hints")

        get_pod_topology_hints = get_topology_hints

        def allocate(self, _pod: Pod, _container: object, affinity: TopologyHint) -> None:
            self.seen.append(affinity)

        def remove(self, uid: str) -> None: ...

        def checkpoint(self) -> None: ...

        def rollback(self, checkpoint: None) -> None: ...

    provider = Provider()
    config = ManagerConfig("cost", cpu_policy="static", reserved_cpus=frozenset({0}))
    Managers(description(), config, providers=[provider]).admit(pod("p", cpu=4))
    assert provider.seen == [TopologyHint(mask_of([1]), True)]


REQUESTS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.sampled_from(["container", "pod"]))
def test_every_assignment_is_the_solvers_choice_and_nothing_is_given_twice(
    requests: list[tuple[int, int, int, bool]], scope: str
) -> None:
    managers = managers_of(topology_scope=scope)
    managers.devices.update(NIC, [Device(f"n{number}", None) for number in range(3)])
    managers.update_costs(NIC, tuple(Entry(NIC, (f"n{n}",), GPU, (f"g{n}",), Fraction(n)) for n in range(3)))
    taken: set[tuple[str, object]] = set()
    for number, (cpus, gpus, nics, explained) in enumerate(requests):
        asked = pod(f"p{number}", cpu=cpus or "500m", gpu=gpus, nic=nics)
        if explained:
            before = _everything(managers)
            mark = managers.checkpoint()
            foretold = managers.admit(asked)
            managers.rollback(mark)
            assert _everything(managers) == before
        trace = managers.admit(asked)
        if explained:
            assert (trace.verdict, trace.given) == (foretold.verdict, foretold.given)
        if not trace.verdict.admitted:
            managers.remove(asked.uid)
            continue
        held = trace.given["c"]
        chosen = account(trace).solution.chosen
        assert held.cpus == {int(one.removeprefix("cpu")) for one in chosen.get("cpu", ())}
        assert held.device_ids() == {name: frozenset(chosen[name]) for name in (GPU, NIC) if name in chosen}
        assert "+".join(f"node{node}" for node in held.memory[0].nodes) == chosen["memory"][0]
        assert (len(held.cpus), len(ids(trace)), len(ids(trace, resource=NIC))) == (cpus, gpus, nics)
        things = {("cpu", cpu) for cpu in held.cpus} | {
            (r, one) for r, all_ in held.device_ids().items() for one in all_
        }
        assert not things & taken
        taken |= things


def _everything(managers: Managers) -> tuple[object, ...]:
    return (
        dict(managers.cpu.assignments),
        managers.cpu.shared_pool,
        dict(managers.memory.blocks),
        dict(managers.memory.state),
        {key: dict(held) for key, held in managers.devices.assignments.items()},
    )
