"""The policy cost on a running node: exactly what is chosen is given, kept, listed and explained."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2 as resources_api
from numaproof.harness.rig.explained import decision_lines
from numaproof.plugins_mock import MockCost, MockDevice, MockPlugin
from tests.harness.node.running import (
    GPU,
    NIC,
    STATIC,
    client,
    devices,
    listed_plugins,
    pod,
    pod_resources,
    running_node,
    wait_for_devices,
)

COST = STATIC | {"topologyManagerPolicy": "cost"}


def given(pod: api.Pod) -> dict[str, Any]:
    """What the only container of a pod has."""
    [container] = pod.containers
    return {
        "cpus": list(container.cpus),
        "memory": [list(block.nodes) for block in container.memory],
        **{held.resource: sorted(one.id for one in held.devices) for held in container.devices},
    }


def chosen(selection: api.Selection) -> dict[str, Any]:
    """The same of what was selected."""
    by_resource = {layer.resource: sorted(layer.chosen) for layer in selection.layers}
    cpus = sorted(int(one.removeprefix("cpu")) for one in by_resource.pop("cpu"))
    [memory] = by_resource.pop("memory")
    return {"cpus": cpus, "memory": [[int(one.removeprefix("node")) for one in memory.split("+")]], **by_resource}


def options(**cost: str) -> dict[str, Any]:
    return {"topologyManagerPolicyOptions": {f"cost-{name}": value for name, value in cost.items()}}


def test_what_explain_foretells_is_given_listed_and_kept_over_a_restart() -> None:
    """Four GPUs in turn on two nodes: two of one node, eight CPUs of it (CPU 0 is reserved, so node 1), its memory."""
    asked = pod("p", {"cpu": 8, "memory": "1Gi", GPU: 2, NIC: 1})
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        nics = MockPlugin(NIC, devices("nic", 2), node.device_plugins)
        with listed_plugins(node, gpus, nics):
            before = control.state()
            foretold = control.explain(asked)
            after = control.state()
            assert (after.free_cpus, after.memory, after.plugins) == (before.free_cpus, before.memory, before.plugins)
            answer = control.admit(asked)
            expected = {"cpus": [*range(8, 16)], "memory": [[1]], GPU: ["gpu01", "gpu03"], NIC: ["nic01"]}
            assert given(answer.pod) == given(foretold.pod) == expected
            [decision] = foretold.decisions
            assert chosen(decision.selection) == expected
            assert decision.rule == "cost"
            assert list(decision.merged.affinity.nodes) == [1]
            assert decision.merged.preferred
            assert answer.cost.cost == pytest.approx(decision.selection.cost)
            assert answer.cost.optimal
            with pod_resources(node) as lister:
                [listed] = lister.List(resources_api.ListPodResourcesRequest(), timeout=120).pod_resources
            [container] = listed.containers
            assert sorted(container.cpu_ids) == expected["cpus"]
            assert sorted(one for held in container.devices for one in held.device_ids) == ["gpu01", "gpu03", "nic01"]
            node.restart()
            wait_for_devices(node, gpus, nics)
            [kept] = control.state().pods
            assert given(kept) == expected
            # What is kept is not chosen again.
            assert given(control.admit(pod("q", {"cpu": 1, "memory": "1Gi", GPU: 2})).pod)[GPU] == ["gpu00", "gpu02"]


def test_no_plugin_is_asked_for_its_preference() -> None:
    """Who names the exact devices has no use for it."""
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins, preferred=lambda ids, _, n: [sorted(ids)[-n:]])
        with listed_plugins(node, gpus):
            assert given(control.admit(pod("p", {"cpu": 8, "memory": "1Gi", GPU: 1})).pod)[GPU] in (
                ["gpu01"],
                ["gpu03"],
            )
            assert not [call for call in gpus.calls if call.name.startswith("GetPreferred")]


def test_a_shortage_is_refused_by_the_manager_and_counted() -> None:
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        with listed_plugins(node, gpus):
            verdict = control.admit(pod("p", {GPU: 5})).verdict
            assert verdict.reason == "UnexpectedAdmissionError"
            assert "requested number of devices unavailable for example.com/gpu" in verdict.message
            assert "kubelet_topology_manager_admission_errors_total 1" in node.metrics()


def test_above_the_maximum_a_pod_is_refused_and_told_why() -> None:
    """Sixteen CPUs are not free, ten of both nodes are dear; a single CPU with nothing else costs nothing."""
    none_pinned = {"memoryManagerPolicy": "None", "reservedMemory": []}
    with running_node(COST | none_pinned | options(maximum="0")) as node, client(node.root) as control:
        assert control.admit(pod("one", {"cpu": 1, "memory": "1Gi"})).verdict.admitted
        wide = pod("wide", {"cpu": 10, "memory": "1Gi"})
        refused = control.admit(wide)
        assert refused.verdict.reason == "TopologyAffinityError"
        assert refused.verdict.message == "Resources cannot be allocated with Topology locality"
        assert not refused.HasField("cost")
        explained = control.explain(wide)
        [first, *_] = decision_lines(explained)
        assert first.startswith("c0: cpu cpu")
        assert "(10 of 14)" in first
        assert first.endswith("cost refuses it (at most 0 is allowed)")
        assert explained.decisions[0].selection.maximum == 0


def test_what_a_selection_tells_adds_up() -> None:
    """Every pair once, the dearest first; nine CPUs and a memory node have 45 pairs, all of which cost something."""
    with running_node(COST | options(seed="5", unlisted="farthest")) as node, client(node.root) as control:
        selection = control.explain(pod("p", {"cpu": 9, "memory": "1Gi"})).decisions[0].selection
        assert len(selection.pairs) == 45
        assert selection.pairs_left_out == 0
        costs = [pair.cost for pair in selection.pairs]
        assert costs == sorted(costs, reverse=True)
        assert sum(costs) == pytest.approx(selection.cost)
        assert sum(pair.there + pair.back for pair in selection.pairs) == pytest.approx(selection.raw_cost)
        assert selection.bound <= selection.cost <= selection.greedy
        assert (selection.seed, selection.unlisted) == (5, "farthest")
        assert not selection.HasField("maximum")


def test_of_many_pairs_the_dearest_are_told() -> None:
    """Fifty CPUs have 1225 pairs."""
    none_pinned = {"memoryManagerPolicy": "None", "reservedMemory": []}
    with (
        running_node(COST | none_pinned, "pack:2 [numa(memory=64GiB)] core:32 pu:2") as node,
        client(node.root) as control,
    ):
        selection = control.explain(pod("p", {"cpu": 50, "memory": "1Gi"})).decisions[0].selection
        assert len(selection.pairs) == 1000
        assert selection.pairs_left_out == 225


def test_a_pod_that_asks_for_nothing_is_explained() -> None:
    with running_node(COST) as node, client(node.root) as control:
        explained = control.explain(pod("p", {}))
        assert not explained.decisions[0].HasField("selection")
        assert list(decision_lines(explained)) == ["c0: there is nothing to choose: cost accepts it"]
        answer = control.admit(pod("p", {}))
        assert answer.verdict.admitted
        assert not answer.HasField("cost")


def test_scope_pod_is_one_decision() -> None:
    with running_node(COST | {"topologyManagerScope": "pod"}) as node, client(node.root) as control:
        two = pod("p", {"cpu": 4, "memory": "1Gi"}, {"cpu": 4, "memory": "1Gi"})
        explained = control.explain(two)
        [decision] = explained.decisions
        assert decision.container == ""
        assert chosen(decision.selection)["cpus"] == [*range(8, 16)]
        assert sorted(cpu for one in explained.pod.containers for cpu in one.cpus) == [*range(8, 16)]
        assert next(iter(decision_lines(explained))).startswith("the pod: cpu cpu8-15 (8 of 15); memory node1 (1 of 2)")


def linked(pairs: Iterable[tuple[str, str]], ids: Sequence[str]) -> list[MockCost]:
    """What a plugin tells of devices in linked pairs: 1 within a pair, 10 to all others."""
    partner = dict(pairs) | {other: one for one, other in pairs}
    return [
        MockCost((one,), GPU, tuple(other for other in ids if other != one and (partner[one] == other) is near), cost)
        for one in ids
        for near, cost in ((True, 1), (False, 10))
    ]


def test_four_single_gpus_leave_two_of_four_linked_pairs_whole() -> None:
    """Then two pods still find a linked pair each, which they get, of two linked GPUs at 1 in each direction of 10."""
    names = [f"gpu{number}" for number in range(8)]
    pairs = [(names[number], names[number + 1]) for number in (0, 2, 4, 6)]
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, [MockDevice(name) for name in names], node.device_plugins, costs=linked(pairs, names))
        with listed_plugins(node, gpus):
            for number in range(4):
                assert control.admit(pod(f"single{number}", {GPU: 1})).verdict.admitted
            for number in range(2):
                answer = control.admit(pod(f"double{number}", {GPU: 2}))
                assert tuple(given(answer.pod)[GPU]) in pairs
                assert answer.cost.cost == pytest.approx(20)


def test_an_old_and_a_new_plugin_in_one_pod() -> None:
    """The GPUs' plugin tells nodes, in turn; the NICs' tells costs: nic1 is near gpu02 alone, though it names no node.

    So the GPU is gpu02, of node 0, and CPUs and memory are of node 0, too.
    """
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, devices("gpu", 4), node.device_plugins)
        far = ("gpu00", "gpu01", "gpu03")
        costs = [
            MockCost(("nic0",), GPU, (*far, "gpu02"), 50),
            MockCost(("nic1",), GPU, far, 50),
            MockCost(("nic1",), GPU, ("gpu02",), 1),
        ]
        nics = MockPlugin(NIC, [MockDevice("nic0"), MockDevice("nic1")], node.device_plugins, costs=costs)
        with listed_plugins(node, gpus, nics):
            got = given(control.admit(pod("p", {"cpu": 2, "memory": "1Gi", GPU: 1, NIC: 1})).pod)
            assert (got[GPU], got[NIC], got["memory"]) == (["gpu02"], ["nic1"], [[0]])
            assert got["cpus"] in ([2, 3], [4, 5], [6, 7])


def test_costs_are_told_again_after_a_restart() -> None:
    names = ["gpu0", "gpu1", "gpu2", "gpu3"]
    costs = linked([("gpu0", "gpu3"), ("gpu1", "gpu2")], names)
    with running_node(COST) as node, client(node.root) as control:
        gpus = MockPlugin(GPU, [MockDevice(name) for name in names], node.device_plugins, costs=costs)
        with listed_plugins(node, gpus):
            first = tuple(given(control.admit(pod("p", {GPU: 2})).pod)[GPU])
            node.restart()
            wait_for_devices(node, gpus)
            second = tuple(given(control.admit(pod("q", {GPU: 2})).pod)[GPU])
            assert {first, second} == {("gpu0", "gpu3"), ("gpu1", "gpu2")}
