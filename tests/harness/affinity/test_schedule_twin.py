"""The scheduler passes over most nodes unseen: it has to say what one says that looks at every node for every pod."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.affinity.needs import needs_of
from numaproof.harness.affinity.node_topology import NodeTopology
from numaproof.harness.affinity.predicate import Misfit, Nearness, load, misfit, plain_misfit, predicate
from numaproof.harness.affinity.schedule import NEAREST, Placement, Way, schedule
from numaproof.harness.affinity.targets import MachineTarget, Target, ZoneTarget
from numaproof.harness.pods.affinity import missing_fields
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.test_predicate import node, zone
from tests.harness.affinity.worlds import DEDICATED, GPU, NUMA_STRICT, container, kind, pod, tolerating

KINDS = (
    kind(4, 4),
    kind(8, gpus=(1,)),
    kind(4, 4, gpus=(2, 0), topology_policy="restricted"),
    kind(2, 6, topology_policy="best-effort", memory_policy="Static"),
    kind(4, 4, gpus=(1, 1), topology_scope="pod", max_pods=3),
    kind(4, 4, taints=(DEDICATED,)),
    kind(4, 4, cpu_policy="none"),
    kind(8, threads=2, cpu_options={"full-pcpus-only": True}),  # refuses what fits by amount
)
ZONES = node(zone(0, 6), zone(1, 3)), replace(node(zone(0, 5)), policy="restricted"), node()
NODES = st.lists(st.sampled_from([*KINDS, *ZONES]), min_size=1, max_size=6)
CPUS, MEMORY = st.sampled_from(["500m", "1", "2", "3", "5"]), st.sampled_from(["1Gi", "3Gi"])
AMOUNTS = st.tuples(CPUS, MEMORY, st.sampled_from([0, 0, 0, 0, 1, 2]))
SPECS = st.fixed_dictionaries(
    {
        "containers": st.lists(AMOUNTS, min_size=1, max_size=2),
        "init": st.lists(AMOUNTS, max_size=1),
        "taints": st.sampled_from([(), (), (), (DEDICATED,), (NUMA_STRICT,), (DEDICATED, NUMA_STRICT)]),
        "node": st.sampled_from([*[""] * 8, "n1", "nobody"]),
        "home": st.sampled_from(["", "", "0", "1"]),  # of a pod that may have one; its CPUs nobody has chosen
        "odd": st.sampled_from([*[""] * 9, "x.io/unheard-of", "hugepages-2Mi", "ephemeral-storage"]),
    }
)


def pod_of(number: int, spec: dict[str, Any]) -> Pod:
    containers = [container(f"c{at}", *amounts) for at, amounts in enumerate(spec["containers"])]
    if spec["odd"]:
        containers[0]["resources"]["limits"][spec["odd"]] = "4Mi" if spec["odd"].startswith("huge") else "1"
    init = tuple(container(f"i{at}", *amounts) for at, amounts in enumerate(spec["init"]))
    more = {"nodeName": spec["node"]} if spec["node"] else {}
    if spec["home"] and spec["taints"]:
        more["numaNodeID"] = spec["home"]
    return pod(f"p{number}", *containers, init=init, tolerations=tolerating(*spec["taints"]), **more)


def targets_of(nodes: Sequence[Any]) -> list[Target]:
    return [
        ZoneTarget(replace(one, name=f"n{at}")) if isinstance(one, NodeTopology) else MachineTarget(f"n{at}", one)
        for at, one in enumerate(nodes)
    ]


def placed_by_looking_at_all(pods: Sequence[Pod], targets: Sequence[Target], way: Way) -> list[Any]:
    """The node of every pod and what it said; of a pod that fits none, why it does not fit the nearest.

    By the predicate's way, a node that refused a pod does not get another that asks for the same until it has changed.
    """
    found: list[Any] = []
    refusals: list[tuple[Pod, str, int, Misfit]] = []
    for one in pods:
        needs = needs_of(one)
        order = sorted(targets, key=lambda target: (load(target.topology), target.topology.name))
        rule = misfit if way == "predicate" else plain_misfit
        shape = replace(one, name="", uid="")
        misfits = [
            rule(one, needs, target.topology)
            or next((why for *key, why in refusals if key == [shape, target.topology.name, target.version]), None)
            for target in order
        ]
        if None not in misfits:
            nearest = sorted((why for why in misfits if why is not None), key=lambda why: why.nearness)
            found.append(("", tuple(nearest[:NEAREST])))
            continue
        first = order[misfits.index(None)]
        sent, name, version = one, first.topology.name, first.version
        chosen = way == "predicate" and missing_fields(one) != ()
        if chosen:
            [best, *_] = predicate(one, [first.topology]).fitting[0].zones
            sent = first.bound(one, best)
        decision = first.send(sent, needs, chosen=chosen)
        found.append((name, decision))
        if way == "predicate" and not decision.verdict.admitted:
            why = f"it refused a pod like this: {decision.verdict.reason}: {decision.verdict.message}"
            refusals.append((shape, name, version, Misfit(name, Nearness.ZONES, why)))
    return found


def told(placement: Placement) -> Any:
    return (placement.node, placement.decision) if placement.node else ("", placement.misfits)


@pytest.mark.parametrize("way", ["plain", "predicate"])
@settings(max_examples=400)
@given(NODES, st.lists(SPECS, min_size=1, max_size=12), st.booleans())
def test_as_one_that_looks_at_every_node(way: Way, nodes: list[Any], specs: list[dict[str, Any]], twice: bool) -> None:
    pods = [pod_of(number, spec) for number, spec in enumerate(specs)]
    if twice:  # copies share what is known of their shape
        pods += [replace(one, name=f"{one.name}-again", uid=f"{one.uid}-again") for one in pods]
    expected = placed_by_looking_at_all(pods, targets_of(nodes), way)
    assert [told(one) for one in schedule(pods, targets_of(nodes), way)] == expected


@pytest.mark.parametrize("way", ["plain", "predicate"])
def test_of_many_nodes_the_nearest_are_told(way: Way) -> None:
    """More nodes than are told of: 12 too small as a whole, 12 with no NUMA node large enough, 12 not for the pod, and
    the emptiest, a node that has as many pods as it may.
    """
    kinds = kind(4), kind(4, 4), kind(4, 4, taints=(DEDICATED,))
    nodes = [one for _ in range(12) for one in kinds] + [kind(32, 32, max_pods=1)]
    pods = [pod("first", container("c", "8"), nodeName="n36")]
    pods += [pod("p", container("c", "6")), pod("q", container("c", "9")), pod("r", container("c", "1", gpu=1))]
    expected = placed_by_looking_at_all(pods, targets_of(nodes), way)
    found = schedule(pods, targets_of(nodes), way)
    assert [told(one) for one in found] == expected
    unplaced = [one for one in found if not one.node]
    assert [len(one.misfits) for one in unplaced] == [NEAREST] * len(unplaced)
    assert len(unplaced) == (2 if way == "plain" else 3)


def test_a_resource_that_no_node_tells_of_is_nowhere() -> None:
    [one] = schedule([pod("p", container("c", gpu=1))], targets_of([KINDS[0]]), "predicate")
    assert [why.reason for why in one.misfits] == [f"it has no {GPU}"]


def test_a_pod_may_fit_after_another_took_what_kept_it_out() -> None:
    """8 GiB a NUMA node, 1 of node 0 reserved. The first container takes the lowest NUMA node that has 5 GiB.

    On an empty machine that is node 0, and leaves too few CPUs for the second, whose GPU is there. Once another pod has
    3 GiB of node 0, the first container goes to node 1.
    """
    machine = kind(5, 5, gpus=(1, 0), memory_policy="Static")
    two = pod("two", container("a", "2", "5Gi"), container("b", "3", "1Gi", gpu=1))
    again = replace(two, name="again", uid="again")
    nodes = [
        placed.node
        for placed in schedule(
            [two, pod("other", container("c", "1", "3Gi")), again], targets_of([machine]), "predicate"
        )
    ]
    assert nodes == ["", "n0", "n0"]
