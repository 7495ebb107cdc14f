"""Whole pods under the policy cost: init containers, scopes, restarts; exactly what is chosen is allocated."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof import fake_sysfs
from numaproof.harness.cost.costs import UNLISTED, Entry, Unlisted
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.solve import solve
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import ManagerConfig, Managers
from numaproof.harness.decision.selection import CostSelector
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.policies import PolicyOptions
from numaproof.harness.topology.selection import Choice
from numaproof.harness.topology.verdict import NO_COMMON_AFFINITY
from tests.harness.decision.choosing import (
    GIB,
    GPU,
    NIC,
    NODES,
    account,
    container,
    description,
    ids,
    linked,
    managers_of,
    pod,
    pod_of,
)


def test_outside_of_an_admission_nothing_is_chosen() -> None:
    managers = managers_of()
    assert managers.admit(pod("p", cpu=2)).verdict.admitted
    assert managers.topology.choice == Choice()


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


def test_what_init_containers_leave_is_taken_even_where_others_are_nearer() -> None:
    """The init container gets x, which is far from all others, and leaves the linked pair whole."""
    managers = managers_of()
    managers.devices.update(GPU, [Device(name, None) for name in "abx"])
    managers.update_costs(GPU, linked([("a", "b")], "abx"))
    trace = managers.admit(pod_of("p", container("c", gpu=2), first=[container("init", gpu=1)]))
    assert ids(trace, "init") == {"x"}
    assert "x" in ids(trace)


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


def test_scope_pod_keeps_containers_within_its_choice() -> None:
    """Four CPUs of one node are those of node 1; a container by itself leaves that whole, and takes 2 and 3."""
    settings_of = {"memory_policy": "None", "reserved_memory": {}}
    two = [container(name, cpu=2, memory="1Gi") for name in "ab"]
    assert managers_of(**settings_of).admit(pod_of("p", *two)).given["a"].cpus == {2, 3}
    trace = managers_of(**settings_of, topology_scope="pod").admit(pod_of("p", *two))
    assert trace.given["a"].cpus | trace.given["b"].cpus == {4, 5, 6, 7}


def test_a_choice_within_another_goes_beyond_it_where_it_must_and_is_never_refused() -> None:
    managers = managers_of()
    machine = description()
    options = PolicyOptions(cost_maximum=Fraction(0))
    selector = CostSelector(
        managers.cpu, managers.memory, managers.devices, machine.system, mask_of(NODES), options, dict
    )
    asked = pod("p", cpu=2, gpu=2)
    within = Choice(frozenset({6}), mask_of([0]), {GPU: frozenset({"g0", "g2"})})
    selection = selector.select(asked, asked.containers[0], within)
    assert selection.choice.cpus == frozenset({6, 7})
    assert selection.choice.memory == mask_of([0])
    assert selection.choice.devices == {GPU: {"g0", "g2"}}
    assert selection.admit
    assert not selector.select(asked, asked.containers[0], None).admit


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

        def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
            raise AssertionError("nobody is asked for hints")

        def get_pod_topology_hints(self, pod: Pod) -> Hints:
            raise AssertionError("nobody is asked for hints")

        def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
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


@settings(max_examples=60)
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


ASKED = st.tuples(st.sampled_from(["init", "sidecar", "app"]), st.integers(0, 3), st.integers(0, 2))


@settings(max_examples=80)
@given(st.lists(st.lists(ASKED, min_size=1, max_size=4), min_size=1, max_size=4))
def test_in_scope_pod_every_container_is_served_from_the_pods_choice(pods: list[list[tuple[str, int, int]]]) -> None:
    """And no two that run at a time have anything in common, of one pod or of two."""
    managers = managers_of(topology_scope="pod")
    taken: set[object] = set()
    for number, rows in enumerate(pods):
        made = {
            f"{kind}{i}": container(
                f"{kind}{i}",
                cpu=cpus or "500m",
                memory="64Mi",
                gpu=gpus,
                **({"restartPolicy": "Always"} if kind == "sidecar" else {}),
            )
            for i, (kind, cpus, gpus) in enumerate(rows)
        }
        first = [one for name, one in made.items() if not name.startswith("app")]
        apps = [one for name, one in made.items() if name.startswith("app")]
        trace = managers.admit(pod_of(f"p{number}", *apps, container("last", cpu=1, memory="64Mi"), first=first))
        if not trace.verdict.admitted:
            assert trace.verdict.reason == "UnexpectedAdmissionError"
            managers.remove(f"p{number}")
            continue
        chosen = account(trace).solution.chosen
        running: set[object] = set()
        for i, (kind, cpus, gpus) in enumerate(rows):
            held = trace.given[f"{kind}{i}"]
            assert (len(held.cpus), len(ids(trace, f"{kind}{i}"))) == (cpus, gpus)
            assert {f"cpu{cpu}" for cpu in held.cpus} <= set(chosen["cpu"])
            assert ids(trace, f"{kind}{i}") <= set(chosen.get(GPU, ()))
            assert {"+".join(f"node{node}" for node in block.nodes) for block in held.memory} == set(chosen["memory"])
            things = {*held.cpus, *ids(trace, f"{kind}{i}")}
            assert not things & taken
            if kind != "init":
                assert not things & running
                running |= things
        for name, held in trace.given.items():
            taken |= {*held.cpus, *ids(trace, name)}


@settings(max_examples=40)
@given(
    st.sampled_from(["dgx-a100", "dgx1-v100", "xeon-6248-snc2", "epyc-7742-nps4", "dgx2"]),
    st.integers(1, 24),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from(UNLISTED),
)
def test_node_and_command_choose_the_same(preset: str, cpus: int, gpus: int, cards: int, unlisted: Unlisted) -> None:
    """With plugins that all tell the costs of the PCI tree, and one CPU less, which the node reserves."""
    machine = fake_sysfs.preset(preset)
    costs = machine_costs(machine, unlisted)
    reserved = min(machine.cpu_ids)
    options = {"cost-unlisted": unlisted}
    config = ManagerConfig("cost", topology_options=options, cpu_policy="static", reserved_cpus=frozenset({reserved}))
    managers = Managers(describe(machine), config)
    for report in costs.reports:
        managers.devices.update(report.reporter, [Device(one, None) for one in costs.instances[report.reporter]])
        managers.update_costs(report.reporter, report.entries)
    wanted = {"nvidia.com/gpu": gpus, "rdma/hca": cards}
    request = {name: min(count, len(costs.instances.get(name, ()))) for name, count in wanted.items()}
    asked = {name: str(count) for name, count in request.items() if count}
    limits = {"cpu": str(cpus), "memory": "1Gi", **asked}
    trace = managers.admit(pod_of("p", {"name": "c", "resources": {"limits": limits}}))
    available = {**costs.instances, "cpu": [one for one in costs.instances["cpu"] if one != f"cpu{reserved}"]}
    solution = solve(costs, {"cpu": cpus, **{name: int(count) for name, count in asked.items()}}, available=available)
    given = trace.given["c"]
    assert given.cpus == {int(one.removeprefix("cpu")) for one in solution.chosen["cpu"]}
    assert given.device_ids() == {name: frozenset(solution.chosen[name]) for name in asked}
    assert account(trace).solution.cost == solution.cost
