"""The predicate beside the managers: what it says fits is admitted, what it says does not fit is refused."""

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from numaproof.harness.affinity.alignment import ALIGNING
from numaproof.harness.affinity.machine_kind import MachineKind
from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.predicate import homes, misfit
from numaproof.harness.affinity.targets import MachineTarget
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.worlds import (
    DEDICATED,
    GIB,
    MEMORY_STRICT,
    NUMA_STRICT,
    container,
    kind,
    pod,
    tolerating,
)

EXAMPLES = 400


@st.composite
def kinds(draw: st.DrawFn, policies: tuple[str, ...] = ("single-numa-node", "restricted")) -> MachineKind:
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
        memory_policy=draw(st.sampled_from(["None", "Static"])),
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
            st.sampled_from([(DEDICATED,), (NUMA_STRICT,), (DEDICATED, NUMA_STRICT), (NUMA_STRICT, MEMORY_STRICT)])
        )
        one = pod(f"p{number}", container("c", data.draw(st.sampled_from(SMALL))), tolerations=tolerating(*names))
        needs = needs_of(one)
        found = homes(one, needs, target.topology) if misfit(one, needs, target.topology) is None else ()
        for zone in {zone.id for zone in target.topology.zones}.difference(found):
            assert not target.send(target.bound(one, zone), needs).verdict.admitted, (one, zone)
        if found:
            decision = target.send(target.bound(one, found[0]), needs)
            assert decision.verdict.admitted, (one, found, decision.verdict)
            assert decision.zones == found[:1]


def test_memory_of_several_numa_nodes() -> None:
    """8 GiB a NUMA node: 12 need two. The first that is asked for leaves no two that serve nobody."""
    for nodes, admitted in ((3, True), (2, False)):
        target = MachineTarget("node", kind(*[8] * nodes, topology_policy="restricted", memory_policy="Static"))
        agree(target, pod("small", container("c", "1", "1Gi")))
        before = target.version
        agree(target, pod("large", container("c", "10", "12Gi")))
        assert (target.version > before) == admitted
