"""The draft GetPreferredAllocations, on the machine of its proposal: a DGX-1, eight GPUs, four on each NUMA node."""

from itertools import combinations

import pytest

from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import DeviceManager
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.provider import AllocationError
from tests.harness.providers.devices.asking import GPU, NOWHERE, Plugin, asks, flags, gpus, held, on, pod_of

DGX_1 = gpus(*[(0,)] * 4, *[(1,)] * 4)
# All pairs with two NVLinks, as the feedback document lists them.
TWO_LINKS = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 7), (5, 6), (6, 7)]


def well_linked(available: list[str], must_include: list[str], size: int) -> list[list[str]]:
    pairs = [[f"g{one}", f"g{other}"] for one, other in TWO_LINKS]
    return [pair for pair in pairs if size == 2 and set(must_include) <= set(pair) <= set(available)]


def lowest(available: list[str], must_include: list[str], size: int) -> list[str]:
    return sorted(available)[:size]


def dgx_1(plugin: Plugin | None, *taken: str) -> DeviceManager:
    manager = DeviceManager(range(2), plugin)
    manager.update(GPU, DGX_1)
    if taken:
        manager.restore({("other", "c"): {GPU: frozenset(taken)}})
    return manager


def test_hints_are_preferred_where_a_preferred_allocation_lies() -> None:
    pod = pod_of(asks("c", 2))
    plugin = Plugin(plural=well_linked)
    hints = dgx_1(plugin).get_topology_hints(pod, pod.containers[0])[GPU]
    assert flags(hints) == {0b01: True, 0b10: True, 0b11: True}, "(0, 4) lies on both nodes"
    assert plugin.calls == [
        {"call": "plural", "available": [f"g{index}" for index in range(8)], "must_include": [], "size": 2}
    ]
    by_default = dgx_1(Plugin()).get_topology_hints(pod, pod.containers[0])[GPU]
    assert flags(by_default) == {0b01: True, 0b10: True, 0b11: False}


def test_a_node_without_a_good_pair_is_no_longer_preferred() -> None:
    pod = pod_of(asks("c", 2))
    manager = dgx_1(Plugin(plural=well_linked), "g2", "g3", "g4", "g5")
    hints = manager.get_pod_topology_hints(pod)[GPU]
    assert flags(hints) == {0b01: False, 0b10: True, 0b11: False}, "of node 0 only 0 and 1 are left: one link"


def test_a_plugin_that_prefers_nothing_leaves_no_hint_preferred() -> None:
    pod = pod_of(asks("c", 3))
    hints = dgx_1(Plugin(plural=well_linked)).get_topology_hints(pod, pod.containers[0])[GPU]
    assert flags(hints) == {0b01: False, 0b10: False, 0b11: False}


def test_answers_that_were_not_asked_for_do_not_count() -> None:
    pod = pod_of(asks("c", 2))
    answers = [["g3"], ["g3", "g3"], ["g1", "g9"], ["g0", "g4", "g7"], ["g2", "g5"]]
    manager = dgx_1(Plugin(plural=lambda available, must_include, size: answers), "g5")
    assert not any(flags(manager.get_topology_hints(pod, pod.containers[0])[GPU]).values())
    manager.allocate(pod, pod.containers[0], on(0))
    assert held(manager) == {"g0", "g1"}


def test_what_is_held_already_needs_no_preference() -> None:
    plugin = Plugin(plural=lambda available, must_include, size: [])
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2))
    manager.restore({("p", "c"): {GPU: frozenset({"g0", "g1"})}})
    assert flags(manager.get_topology_hints(pod, pod.containers[0])[GPU]) == {0b01: True, 0b11: False}
    assert plugin.calls == []


def test_init_containers_devices_are_included() -> None:
    plugin = Plugin(plural=well_linked)
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2), init=(asks("init", 1),))
    manager.allocate(pod, pod.init_containers[0], on(1))
    assert held(manager, "init") == {"g4"}
    hints = manager.get_topology_hints(pod, pod.containers[0])[GPU]
    assert plugin.calls[-1]["must_include"] == ["g4"]
    assert flags(hints) == {0b10: True, 0b11: True}, "(4, 7) and (0, 4)"
    manager.allocate(pod, pod.containers[0], on(1))
    assert held(manager) == {"g4", "g7"}


@pytest.mark.parametrize(
    ("affinity", "plugin", "taken"),
    [
        (NOWHERE, Plugin(), {"g0", "g1"}),
        (on(1), Plugin(), {"g4", "g5"}),
        (NOWHERE, Plugin(plural=well_linked), {"g0", "g3"}),
        (on(1), Plugin(plural=well_linked), {"g4", "g7"}),
    ],
    ids=["off, not implemented", "on, not implemented", "off, implemented", "on, implemented"],
)
def test_the_four_cases_of_the_allocation_strategy(affinity: TopologyHint, plugin: Plugin, taken: set[str]) -> None:
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], affinity)
    assert held(manager) == taken


@pytest.mark.parametrize(("affinity", "taken"), [(NOWHERE, {"g0", "g1"}), (on(1), {"g6", "g7"})])
def test_with_no_preferred_allocation_at_hand_the_rest_is_as_ever(affinity: TopologyHint, taken: set[str]) -> None:
    manager = dgx_1(Plugin(plural=lambda available, must_include, size: []), "g4", "g5")
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], affinity)
    assert held(manager) == taken


def test_the_singular_call_stands_in_for_the_plural_one() -> None:
    plugin = Plugin(singular=lowest, plural=lambda available, must_include, size: [])
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], on(1))
    assert [asked["call"] for asked in plugin.calls] == ["plural", "singular"]
    assert held(manager) == {"g4", "g5"}


def test_every_pair_is_taken_once_over_and_over() -> None:
    manager = dgx_1(Plugin(plural=well_linked))
    for number in range(4):
        pod = pod_of(asks("c", 2), uid=str(number))
        manager.allocate(pod, pod.containers[0], on(number % 2))
    taken = [held(manager, "c", str(number)) for number in range(4)]
    assert taken == [{"g0", "g3"}, {"g4", "g7"}, {"g1", "g2"}, {"g5", "g6"}]
    assert all(one.isdisjoint(other) for one, other in combinations(taken, 2))


def test_a_plugin_that_fails_is_heard_in_the_allocation() -> None:
    def fail(available: list[str], must_include: list[str], size: int) -> list[list[str]]:
        raise AllocationError("device plugin GetPreferredAllocation rpc failed with err: gone")

    manager = dgx_1(Plugin(plural=fail))
    pod = pod_of(asks("c", 2))
    hints = manager.get_topology_hints(pod, pod.containers[0])[GPU]
    assert flags(hints) == {0b01: True, 0b10: True, 0b11: False}
    with pytest.raises(AllocationError, match="gone"):
        manager.allocate(pod, pod.containers[0], on(0))
    assert manager.assignments == {}


def test_the_set_that_is_taken_has_the_decided_affinity_also_across_nodes() -> None:
    """Feedback, case 4: "such that they have the desired NUMA affinity"; the document's first such pair is (0, 4)."""
    manager = dgx_1(Plugin(plural=well_linked))
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], on(0, 1))
    assert held(manager) == {"g0", "g4"}


def test_where_no_set_has_the_decided_affinity_one_within_it_will_do() -> None:
    manager = dgx_1(Plugin(plural=well_linked), "g4", "g5", "g6", "g7")
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], on(0, 1))
    assert held(manager) == {"g0", "g3"}


def test_a_device_of_two_nodes_has_the_affinity_of_either() -> None:
    """The sets (a, c), (b, c) have the affinities {0} or {1}: only (a, b) needs both nodes."""
    sets = [["g0", "g2"], ["g1", "g2"], ["g0", "g1"]]
    plugin = Plugin(plural=lambda available, must_include, size: sets)
    manager = DeviceManager(range(2), plugin)
    manager.update(GPU, gpus((0,), (1,), (0, 1)))
    pod = pod_of(asks("c", 2))
    manager.allocate(pod, pod.containers[0], on(0, 1))
    assert held(manager) == {"g0", "g1"}


def decide(manager: DeviceManager, pod: Pod, index: int, affinity: TopologyHint) -> None:
    """What the Topology Manager does about one container in scope container."""
    manager.get_topology_hints(pod, pod.containers[index])
    manager.allocate(pod, pod.containers[index], affinity)


def test_one_call_is_made_for_a_container() -> None:
    """Proposal: "One call will be made per-container for each pod"."""
    plugin = Plugin(plural=well_linked)
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2), asks("d", 2))
    decide(manager, pod, 0, on(0))
    decide(manager, pod, 1, on(0))
    assert [asked["available"] for asked in plugin.calls] == [
        ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"],
        ["g1", "g2", "g4", "g5", "g6", "g7"],
    ]
    assert (held(manager, "c"), held(manager, "d")) == ({"g0", "g3"}, {"g1", "g2"})


def test_in_scope_pod_the_pods_answer_serves_a_container_that_asks_for_the_same() -> None:
    plugin = Plugin(plural=well_linked)
    manager = dgx_1(plugin)
    alone = pod_of(asks("c", 2))
    manager.get_pod_topology_hints(alone)
    manager.allocate(alone, alone.containers[0], on(0))
    assert [asked["size"] for asked in plugin.calls] == [2]


def test_in_scope_pod_containers_with_questions_of_their_own_are_asked_for_once_each() -> None:
    plugin = Plugin(plural=well_linked)
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 1), asks("d", 1))
    manager.get_pod_topology_hints(pod)
    for container in pod.containers:
        manager.allocate(pod, container, on(0))
    assert [asked["size"] for asked in plugin.calls] == [2, 1, 1]


@pytest.mark.parametrize("change", ["health", "list", "other pod"])
def test_an_answer_that_is_out_of_date_is_not_used(change: str) -> None:
    plugin = Plugin(plural=well_linked)
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2))
    manager.get_topology_hints(pod, pod.containers[0])
    if change == "health":
        manager.update(GPU, gpus(*[(0,)] * 4, *[(1,)] * 4, ill=[0]))
    elif change == "list":
        manager.update(GPU, DGX_1[1:])
    else:
        manager.restore({("other", "c"): {GPU: frozenset({"g0"})}})
    manager.allocate(pod, pod.containers[0], on(0))
    assert [len(asked["available"]) for asked in plugin.calls] == [8, 7]  # type: ignore[arg-type]
    assert held(manager) == {"g1", "g2"}


def test_every_decision_asks_anew() -> None:
    """The plugin may have changed its mind: what it said about the same pod the last time does not count."""
    answers = [[["g0", "g3"]], [["g1", "g2"]], []]
    plugin = Plugin(plural=lambda available, must_include, size: answers.pop(0))
    manager = dgx_1(plugin)
    pod = pod_of(asks("c", 2))
    manager.get_topology_hints(pod, pod.containers[0])  # refused by the policy
    decide(manager, pod, 0, on(0))
    assert held(manager) == {"g1", "g2"}
    manager.remove(pod.uid)
    manager.allocate(pod, pod.containers[0], on(0))  # without hints, as under policy none
    assert answers == []


def test_a_call_that_failed_is_no_answer() -> None:
    answers: list[AllocationError | list[list[str]]] = [AllocationError("busy"), [["g1", "g2"]]]

    def answer(available: list[str], must_include: list[str], size: int) -> list[list[str]]:
        told = answers.pop(0)
        if isinstance(told, AllocationError):
            raise told
        return told

    manager = dgx_1(Plugin(plural=answer))
    pod = pod_of(asks("c", 2))
    decide(manager, pod, 0, on(0))
    assert held(manager) == {"g1", "g2"}
