"""The predicate beside the managers: what it says fits is admitted, what it says does not fit is refused."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from numaproof.harness.affinity.alignment import ALIGNING
from numaproof.harness.affinity.machine_kind import MachineKind
from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.predicate import homes, misfit
from numaproof.harness.affinity.targets import MachineTarget
from numaproof.harness.pods.affinity import missing_fields
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.worlds import (
    DEDICATED,
    GIB,
    MEMORY_PREFERRED,
    MEMORY_STRICT,
    NUMA_STRICT,
    PAGES,
    container,
    kind,
    pod,
    tolerating,
)

EXAMPLES = 400


@st.composite
def kinds(
    draw: st.DrawFn,
    policies: tuple[str, ...] = ("single-numa-node", "restricted"),
    memory: tuple[str, ...] = ("None", "Static"),
) -> MachineKind:
    nodes = draw(st.integers(1, 3))
    threads = draw(st.sampled_from([1, 2]))
    cpus = draw(st.lists(st.sampled_from([2, 4, 6]), min_size=nodes, max_size=nodes))
    # At least one: of a resource that it never heard of, the kubelet thinks that it is somebody else's business.
    gpus = draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes).filter(any))
    return kind(
        *cpus,
        gpus=tuple(gpus),
        threads=threads,
        gibs=draw(st.sampled_from([4, 8])),
        topology_policy=draw(st.sampled_from(policies)),
        topology_scope=draw(st.sampled_from(["container", "pod"])),
        memory_policy=draw(st.sampled_from(memory)),
    )


@st.composite
def containers(draw: st.DrawFn, name: str, cpus: tuple[str, ...], most_gibs: int) -> dict[str, Any]:
    gibs = draw(st.integers(1, most_gibs))
    made = container(name, draw(st.sampled_from(cpus)), f"{gibs}Gi", draw(st.integers(0, 2)))
    if draw(st.integers(0, 5)) == 0:  # a Burstable pod: nothing but devices is aligned
        made["resources"]["requests"] = {"cpu": "100m"}
    return made


@st.composite
def pods(draw: st.DrawFn, number: int, cpus: tuple[str, ...], most: int, most_gibs: int, *, with_init: bool) -> Pod:
    apps = [draw(containers(f"c{index}", cpus, most_gibs)) for index in range(draw(st.integers(1, most)))]
    has_init = with_init and draw(st.booleans())
    return pod(f"p{number}", *apps, init=(draw(containers("i", cpus, most_gibs)),) if has_init else ())


def agree(target: MachineTarget, one: Pod) -> None:
    needs = needs_of(one)
    found = misfit(one, needs, target.topology)
    decision = target.send(one, needs)
    if missing_fields(one):  # nobody could choose its place
        assert found is not None, one
        return
    told = f"{one}: predicate {found}, node {decision.verdict}, zones {target.topology.zones}"
    assert decision.verdict.admitted == (found is None), told


SMALL = ("500m", "1", "2", "3", "4")
LARGE = ("1", "2", "4", "6", "8", "10")


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("single-numa-node",)))
def test_single_numa_node_with_several_containers(data: st.DataObject, machine: MachineKind) -> None:
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        agree(target, data.draw(pods(number, SMALL, 3, 4, with_init=False)))


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("single-numa-node",)))
def test_an_init_container_ends_before_the_container_after_it(data: st.DataObject, machine: MachineKind) -> None:
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        agree(target, data.draw(pods(number, SMALL, 1, 4, with_init=True)))


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("restricted", "strict")))
def test_restricted_with_pods_of_several_numa_nodes(data: st.DataObject, machine: MachineKind) -> None:
    """Memory of more than one NUMA node binds these together, which nodes do not tell: not here."""
    target = MachineTarget("node", machine)
    least = min(zone.allocatable["memory"] for zone in machine.zones) // GIB
    for number in range(data.draw(st.integers(1, 6))):
        agree(target, data.draw(pods(number, LARGE, 1, least, with_init=False)))


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("restricted",)))
def test_restricted_with_several_containers_of_one_numa_node_each(data: st.DataObject, machine: MachineKind) -> None:
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        agree(target, data.draw(pods(number, ("500m", "1", "2"), 3, 1, with_init=False)))


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("none", "best-effort", "single-numa-node", "restricted")))
def test_bound_pods_fit_the_numa_nodes_that_the_predicate_says_and_no_others(
    data: st.DataObject, machine: MachineKind
) -> None:
    """Where nothing is aligned, a static memory manager refuses what it cannot put into a group: not here."""
    assume(machine.config.memory_policy == "None" or machine.config.topology_policy in ALIGNING)
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        names = data.draw(
            st.sampled_from(
                [
                    (DEDICATED,),
                    (NUMA_STRICT,),
                    (DEDICATED, NUMA_STRICT),
                    (NUMA_STRICT, MEMORY_STRICT),
                    (NUMA_STRICT, MEMORY_PREFERRED),
                ]
            )
        )
        # Preferred memory of more than one NUMA node binds these together, which nodes do not tell: not here.
        gibs = data.draw(st.integers(1, 3 if MEMORY_PREFERRED in names else 6))
        amounts = data.draw(st.sampled_from(SMALL)), f"{gibs}Gi"
        one = pod(f"p{number}", container("c", *amounts), tolerations=tolerating(*names))
        needs = needs_of(one)
        found = homes(one, needs, target.topology) if misfit(one, needs, target.topology) is None else ()
        for zone in {zone.id for zone in target.topology.zones}.difference(found):
            assert not target.send(target.bound(one, zone), needs).verdict.admitted, (one, zone)
        if found:
            decision = target.send(target.bound(one, found[0]), needs)
            assert decision.verdict.admitted, (one, found, decision.verdict)
            assert found[0] in decision.zones
            assert MEMORY_PREFERRED in names or decision.zones == found[:1]


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("none", "best-effort", "single-numa-node", "restricted"), memory=("None",)))
def test_bound_pods_and_others_side_by_side(data: st.DataObject, machine: MachineKind) -> None:
    """What bound pods were promised is not there for the others, and these know it."""
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        names = data.draw(st.sampled_from([(), (DEDICATED,), (NUMA_STRICT,)]))
        one = pod(f"p{number}", container("c", data.draw(st.sampled_from(SMALL))), tolerations=tolerating(*names))
        found = homes(one, needs_of(one), target.topology) if names else ()
        agree(target, target.bound(one, found[0]) if found else one)


def test_memory_of_several_numa_nodes() -> None:
    """8 GiB a NUMA node: 12 need two. The first that is asked for leaves no two that serve nobody."""
    for nodes, admitted in ((3, True), (2, False)):
        target = MachineTarget("node", kind(*[8] * nodes, topology_policy="restricted", memory_policy="Static"))
        agree(target, pod("small", container("c", "1", "1Gi")))
        before = target.version
        agree(target, pod("large", container("c", "10", "12Gi")))
        assert (target.version > before) == admitted


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("single-numa-node",), memory=("Static",)))
def test_pods_of_which_nothing_but_memory_is_aligned(data: st.DataObject, machine: MachineKind) -> None:
    """Under the scope pod, memory that can be had nowhere has no hints: the containers are placed one by one."""
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 5))):
        apps = [container(f"c{at}", "500m", f"{data.draw(st.integers(1, 4))}Gi") for at in range(3)]
        agree(target, pod(f"p{number}", *apps[: data.draw(st.integers(1, 3))]))


@settings(max_examples=EXAMPLES)
@given(st.data(), kinds(("none", "best-effort"), memory=("None",)))
def test_where_nothing_is_aligned_cpus_have_to_be_left(data: st.DataObject, machine: MachineKind) -> None:
    """What an init container had and the next does not take over is not left, though nobody asks for it."""
    target = MachineTarget("node", machine)
    for number in range(data.draw(st.integers(1, 6))):
        agree(target, data.draw(pods(number, LARGE, 1, 1, with_init=True)))


def huge(name: str, pages: str, **more: Any) -> dict[str, Any]:
    made = container(name, "1", "1Gi", **more)
    made["resources"]["limits"][PAGES] = pages
    return made


@pytest.mark.parametrize("more", [{}, {"restartPolicy": "Always"}])
def test_huge_pages_that_only_an_init_container_asks_for(more: dict[str, str]) -> None:
    """The hints of the pod do not know of them; the lowest NUMA node that has the rest has none, and that is all."""
    for pages, admitted in (((0, 2), False), ((2, 2), True)):
        target = MachineTarget("n", kind(4, 4, pages=pages, topology_scope="pod", memory_policy="Static"))
        agree(target, pod("p", container("c", "1"), init=(huge("i", "1Gi", **more),)))
        assert (target.version > 0) == admitted


def test_preferred_memory_has_to_be_somewhere() -> None:
    """8 GiB a NUMA node, 1 of node 0 reserved: 10 need both, and one of them serves another."""
    preferred = tolerating(NUMA_STRICT, MEMORY_PREFERRED)
    large = pod("p", container("c", "2", "10Gi"), tolerations=preferred, numaNodeID="0")
    target = MachineTarget("n", kind(4, 4, memory_policy="Static"))
    agree(target, pod("first", container("c", "500m", "4Gi")))
    agree(target, large)
    assert target.version == 1
    target = MachineTarget("n", kind(4, 4, memory_policy="Static"))
    agree(target, large)
    assert target.version == 1


@pytest.mark.parametrize("fields", [{}, {"tolerations": tolerating(NUMA_STRICT), "numaNodeID": "0"}])
def test_memory_that_is_no_whole_number_of_bytes(fields: dict[str, Any]) -> None:
    target = MachineTarget("n", kind(4, 4, memory_policy="Static"))
    agree(target, pod("p", container("c", "2", "1500m"), **fields))
    assert target.version == 0


@pytest.mark.parametrize(("given_", "admitted"), [("1", False), ("1-3", False), ("1-4", True), ("1-5", False)])
def test_the_number_of_cpus_that_a_pod_brings(given_: str, admitted: bool) -> None:
    target = MachineTarget("n", kind(8))
    agree(target, pod("p", container("c", "4"), tolerations=tolerating(DEDICATED), cpuAffinity=given_))
    assert (target.version > 0) == admitted
