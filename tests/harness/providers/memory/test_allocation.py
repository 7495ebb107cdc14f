"""Which nodes a container's memory comes from, how it is given back, and how it survives a restart."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.harness.pods.pod import Container, Pod, PodResources
from numaproof.harness.providers.memory import Block, MemoryManager, MemoryNode
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.provider import AllocationError
from tests.harness.providers.memory.asking import GI, NOWHERE, PAGES, asks, free, held, manager_of, on, pod_of


def test_memory_comes_from_the_affinity_node_after_node() -> None:
    manager = manager_of(4, 4, 4, pages=2)
    pod = pod_of(asks("c", 5, pages=1))
    manager.allocate(pod, pod.containers[0], on(0, 2))
    assert held(manager) == {"memory": ((0, 2), 5), PAGES: ((0, 2), 1)}
    assert free(manager) == [0, 4, 3]
    assert [(node.assignments, node.cells) for node in manager.state.values()] == [(2, (0, 2)), (0, (1,)), (2, (0, 2))]
    assert [node.free(PAGES) // GI for node in manager.state.values()] == [1, 2, 2]


def test_the_policy_none_and_other_pods_pin_nothing() -> None:
    lax = MemoryManager([MemoryNode(0, 8 * GI)], "None", {})
    pod = pod_of(asks("c", 1))
    assert lax.get_topology_hints(pod, pod.containers[0]) == {}
    assert lax.get_pod_topology_hints(pod) == {}
    lax.allocate(pod, pod.containers[0], on(0))
    assert lax.blocks == {}
    manager = manager_of(4)
    best_effort = pod_of(Container("c"))
    manager.allocate(best_effort, best_effort.containers[0], NOWHERE)
    assert manager.blocks == {}


@pytest.mark.parametrize("asked", [{}, {"cpu": Fraction(4), "memory": Fraction(4 * GI)}])
def test_a_guaranteed_pod_with_resources_as_a_whole_pins_nothing(asked: dict[str, Fraction]) -> None:
    # Recorded: the kubelet v1.36 has no hints for its containers, nor blocks.
    manager = manager_of(4)
    pod = replace(pod_of(asks("c", 1)), resources=PodResources(asked, asked))
    assert manager.get_topology_hints(pod, pod.containers[0]) == {}
    assert manager.get_pod_topology_hints(pod) == {}
    manager.allocate(pod, pod.containers[0], on(0))
    assert manager.blocks == {}


def test_without_an_affinity_the_best_group_is_taken() -> None:
    manager = manager_of(2, 4, 4)
    pod = pod_of(asks("c", 3))
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert held(manager) == {"memory": ((1,), 3)}


def test_an_affinity_that_is_too_small_is_extended_by_the_narrowest_group_that_contains_it() -> None:
    manager = manager_of(2, 2, 4, 4)
    pod = pod_of(asks("c", 5))
    manager.allocate(pod, pod.containers[0], on(1, preferred=False))
    assert held(manager) == {"memory": ((1, 2), 5)}


def refusal(manager: MemoryManager, pod: Pod, affinity: TopologyHint) -> str:
    before = manager.state, dict(manager.blocks)
    with pytest.raises(AllocationError) as error:
        manager.allocate(pod, pod.containers[0], affinity)
    assert (manager.state, manager.blocks) == before
    assert error.value.reason == "UnexpectedAdmissionError"
    return str(error.value).removeprefix("[memorymanager] ")


def test_refusals_speak_the_kubelets_language() -> None:
    manager = manager_of(4, 4, 4)
    assert refusal(manager, pod_of(asks("c", 13)), NOWHERE) == (
        "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    )
    assert refusal(manager, pod_of(asks("c", 13)), on(0)) == (
        "failed to find NUMA nodes to extend the current topology hint"
    )
    small = pod_of(asks("c", 3), uid="small")
    manager.allocate(small, small.containers[0], on(0))
    assert refusal(manager, pod_of(asks("c", 2)), on(0, 1)) == "preferred hint violates NUMA node allocation"
    for number in (1, 2):
        more = pod_of(asks("c", 3), uid=f"small {number}")
        manager.allocate(more, more.containers[0], on(number))
    assert refusal(manager, pod_of(asks("c", 2)), NOWHERE).startswith("failed to get the default NUMA affinity")
    for bytes_ in (Fraction(3, 2), Fraction(2**63)):
        odd = {"cpu": Fraction(1), "memory": bytes_}
        pod = pod_of(Container("c", odd, odd))
        assert manager.get_topology_hints(pod, pod.containers[0]) == manager.get_pod_topology_hints(pod) == {}
        assert refusal(manager, pod, NOWHERE) == "failed to represent quantity as int64"


def test_a_preferred_affinity_does_not_settle_for_less() -> None:
    manager = manager_of(4, 4, 4)
    small = pod_of(asks("c", 3), uid="small")
    manager.allocate(small, small.containers[0], on(0))
    wide = pod_of(asks("c", 5), uid="wide")
    manager.allocate(wide, wide.containers[0], on(1, 2))
    # One node would do on an empty machine, but all that is left lies on two.
    asked = pod_of(asks("c", 3))
    assert refusal(manager, asked, TopologyHint(None, True)) == "failed to find the default preferred hint"
    assert refusal(manager, asked, on(1)) == "failed to find the extended preferred hint"
    manager.allocate(asked, asked.containers[0], on(1, preferred=False))
    assert held(manager) == {"memory": ((1, 2), 3)}


def test_later_containers_take_over_init_memory_and_its_blocks_shrink() -> None:
    manager = manager_of(6)
    pod = pod_of(asks("a", 3), asks("b", 2), init=(asks("init", 4),))
    for container in pod.all_containers():
        manager.allocate(pod, container, NOWHERE)
    assert free(manager) == [1], "4 for the init container, all of it taken over, and 1 more"
    assert held(manager, "a") == {"memory": ((0,), 3)}
    assert held(manager, "b") == {"memory": ((0,), 2)}
    assert held(manager, "init") == {"memory": ((0,), 0)}


def test_init_containers_share_their_memory_one_after_another() -> None:
    manager = manager_of(9)
    pod = pod_of(asks("a", 2), asks("b", 5), init=(asks("one", 3), asks("two", 1), asks("three", 4)))
    one, two, three = pod.init_containers
    manager.allocate(pod, one, NOWHERE)
    manager.allocate(pod, two, NOWHERE)
    assert (held(manager, "one"), held(manager, "two")) == ({"memory": ((0,), 2)}, {"memory": ((0,), 1)})
    manager.allocate(pod, three, NOWHERE)
    assert (held(manager, "one"), held(manager, "two")) == ({"memory": ((0,), 0)}, {"memory": ((0,), 0)})
    assert free(manager) == [5], "4 is the most that an init container needs"
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert (held(manager, "three"), free(manager)) == ({"memory": ((0,), 2)}, [5])
    manager.allocate(pod, pod.containers[1], NOWHERE)
    assert (held(manager, "three"), free(manager)) == ({"memory": ((0,), 0)}, [2])


def test_init_memory_is_taken_over_from_its_own_block_first() -> None:
    manager = manager_of(9)
    pod = pod_of(asks("c", 2), init=(asks("one", 3), asks("two", 1)))
    for container in pod.all_containers():
        manager.allocate(pod, container, NOWHERE)
    assert (held(manager, "one"), held(manager, "two")) == ({"memory": ((0,), 0)}, {"memory": ((0,), 1)})


def test_after_a_restart_init_memory_can_still_be_taken_over() -> None:
    manager = manager_of(4)
    pod = pod_of(asks("c", 4), init=(asks("init", 3),))
    manager.restore({("p", "init"): (Block((0,), "memory", 3 * GI),)})
    manager.allocate(pod, pod.init_containers[0], NOWHERE)
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert free(manager) == [0]


def test_an_affinity_to_a_single_node_breaks_no_group_and_nodes_without_memory_do_not_count() -> None:
    manager = manager_of(4, 4)
    wide, small = pod_of(asks("c", 5), uid="wide"), pod_of(asks("c", 1))
    manager.allocate(wide, wide.containers[0], on(0, 1))
    manager.allocate(small, small.containers[0], on(1, 7))
    assert held(manager) == {"memory": ((1,), 1)}
    assert [node.cells for node in manager.state.values()] == [(0, 1), (1,)]


def test_a_sidecars_memory_is_its_own_and_init_memory_elsewhere_is_not_taken_over() -> None:
    manager = manager_of(6, 6)
    pod = pod_of(asks("c", 2), init=(asks("init", 1), asks("sidecar", 2, restartable=True)))
    init, sidecar = pod.init_containers
    manager.allocate(pod, init, on(0))
    manager.allocate(pod, sidecar, on(1))
    manager.allocate(pod, pod.containers[0], on(1))
    assert free(manager) == [5, 2]
    assert held(manager, "init") == {"memory": ((0,), 1)}
    assert held(manager, "sidecar") == {"memory": ((1,), 2)}
    manager.release_init("p", "init")
    assert free(manager) == [6, 2]
    assert held(manager, "init") == {}
    manager.remove("p")
    assert free(manager) == [6, 6]
    assert manager.blocks == {}


def test_allocating_again_changes_nothing() -> None:
    manager = manager_of(4, 4)
    pod = pod_of(asks("c", 3))
    manager.allocate(pod, pod.containers[0], on(1))
    before = manager.state, dict(manager.blocks)
    manager.allocate(pod, pod.containers[0], on(0))
    assert (manager.state, manager.blocks) == before


def test_a_pod_that_was_removed_leaves_nothing_to_take_over() -> None:
    manager = manager_of(4)
    pod = pod_of(asks("c", 3), init=(asks("init", 2),))
    manager.allocate(pod, pod.init_containers[0], NOWHERE)
    manager.remove("p")
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert free(manager) == [1]


def test_memory_of_pods_that_are_gone_is_collected_when_the_next_one_asks() -> None:
    active = {"old", "p"}
    manager = manager_of(4, active=lambda: active)
    old, new = pod_of(asks("c", 4), uid="old"), pod_of(asks("c", 4))
    manager.allocate(old, old.containers[0], NOWHERE)
    assert manager.get_topology_hints(new, new.containers[0]) == {}
    active.remove("old")
    assert manager.get_topology_hints(new, new.containers[0]) == {"memory": [on(0)]}
    assert manager.blocks == {}


def test_saved_assignments_are_taken_over() -> None:
    before, after = manager_of(4, 4, pages=2), manager_of(4, 4, pages=2)
    pod = pod_of(asks("c", 5, pages=1))
    before.allocate(pod, pod.containers[0], on(0, 1))
    after.restore(before.blocks)
    assert (after.blocks, after.state) == (before.blocks, before.state)
    saved = manager_of(4, 4, pages=2)
    saved.restore(before.blocks, before.state)
    assert (saved.blocks, saved.state) == (before.blocks, before.state)
    saved.remove("p")
    assert saved.state == manager_of(4, 4, pages=2).state


def test_a_saved_state_in_which_groups_were_split_otherwise_is_as_good() -> None:
    manager = manager_of(4, 4)
    first, second = pod_of(asks("c", 3), uid="first"), pod_of(asks("c", 3), uid="second")
    for pod in (first, second):
        manager.allocate(pod, pod.containers[0], on(0, 1))
    manager.remove("first")
    assert free(manager) == [3, 2], "3 came back to node 0, 2 of the rest lie on node 1"
    again = manager_of(4, 4)
    again.restore(manager.blocks, manager.state)
    assert free(again) == [3, 2]


def test_a_saved_state_of_another_machine_is_refused() -> None:
    manager = manager_of(4, 4)
    pod = pod_of(asks("c", 3))
    manager.allocate(pod, pod.containers[0], on(1))
    for other in (manager_of(5, 4), manager_of(4, 4, 4), manager_of(4, 4, reserved=2 * GI)):
        with pytest.raises(UserError, match="memory_manager_state: the expected machine state is different"):
            other.restore(manager.blocks, manager.state)
        assert other.blocks == {}
    with pytest.raises(UserError, match="the expected machine state is different"):
        manager_of(4, 4).restore({}, manager.state)
    with pytest.raises(UserError, match="the expected machine state is different"):
        manager_of(4, 4).restore({("p", "c"): (Block((1,), "memory", 2 * GI),)}, manager.state)
    with pytest.raises(UserError, match=r"pod p, container c: .* NUMA node 1 that does not exist"):
        manager_of(4).restore(manager.blocks)
    with pytest.raises(UserError, match="memory resource hugepages-2Mi that does not exist"):
        manager_of(4).restore({("p", "c"): (Block((0,), "hugepages-2Mi", GI),)})


@pytest.mark.parametrize(
    ("policy", "reserved", "complaint"),
    [
        ("BestEffort", {0: {"memory": GI}}, 'unknown policy: "BestEffort"'),
        ("Static", {}, "you should specify the system reserved memory"),
        ("Static", {0: {PAGES: GI}}, "you should specify the system reserved memory"),
        ("Static", {0: {"memory": GI}, 3: {"memory": GI}}, "NUMA node 3 that does not exist"),
    ],
)
def test_a_bad_configuration_is_refused_at_the_start(
    policy: str, reserved: dict[int, dict[str, int]], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        MemoryManager([MemoryNode(0, 10 * GI, {PAGES: 2 * GI})], policy, reserved)  # type: ignore[arg-type]


def test_more_reserved_than_there_is_counts_as_endless_memory_as_in_the_kubelet() -> None:
    nodes = [MemoryNode(node, 4 * GI) for node in range(2)]
    manager = MemoryManager(nodes, "Static", {0: {"memory": 5 * GI}})
    assert manager.state[0].allocatable("memory") == 2**64 - GI
    pod = pod_of(asks("c", 100))
    # Alone it is endless; with node 1 the sum runs over and is 3 Gi.
    assert manager.get_topology_hints(pod, pod.containers[0]) == {"memory": [on(0)]}
    assert refusal(manager, pod, on(1)) == "failed to find NUMA nodes to extend the current topology hint"
    manager.allocate(pod, pod.containers[0], NOWHERE)
    assert held(manager) == {"memory": ((0,), 100)}
    with pytest.raises(UserError, match="reservedMemory: more is reserved than a NUMA node has"):
        MemoryManager([MemoryNode(node, 4 * GI) for node in range(9)], "Static", {0: {"memory": 5 * GI}})


def test_huge_pages_of_a_size_that_the_machine_lacks_fit_nowhere() -> None:
    manager = manager_of(4)
    request = {"cpu": Fraction(1), "memory": Fraction(GI), "hugepages-64Ki": Fraction(2**16)}
    pod = pod_of(Container("c", request, request))
    assert manager.get_topology_hints(pod, pod.containers[0]) == {}
    assert refusal(manager, pod, on(0)) == "failed to find NUMA nodes to extend the current topology hint"


def test_allocatable_memory_is_what_is_not_set_aside() -> None:
    assert manager_of(4, 3, pages=2).allocatable == (
        Block((0,), PAGES, 2 * GI),
        Block((0,), "memory", 4 * GI),
        Block((1,), PAGES, 2 * GI),
        Block((1,), "memory", 3 * GI),
    )


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9), st.integers(0, 3), st.integers(0, 20)), max_size=25))
def test_nothing_is_lost_or_given_twice(steps: list[tuple[int, int, int, int]]) -> None:
    """Pods come and go, each placed on one of its hints; bytes are conserved, and in the end all is free again."""
    manager = manager_of(6, 4, 4, pages=3)
    empty = manager.state
    for number, memory, pages, choice in steps:
        uid = str(number)
        if any(owner == uid for owner, _ in manager.blocks):
            manager.remove(uid)
            continue
        pod = pod_of(asks("c", memory, pages=pages), init=(asks("init", memory % 4 + 1),), uid=uid)
        for container in pod.all_containers():
            hints = manager.get_topology_hints(pod, container).get("memory")
            if not hints:
                break
            assert isinstance(hints, list)
            manager.allocate(pod, container, hints[choice % len(hints)])
        for kind in ("memory", PAGES):
            tables = [node.tables[kind] for node in manager.state.values()]
            assert all(table.free + table.reserved == table.allocatable and table.free >= 0 for table in tables)
            blocks = [block for held in manager.blocks.values() for block in held if block.resource == kind]
            assert sum(table.reserved for table in tables) == sum(block.size for block in blocks)
    for uid in {owner for owner, _ in manager.blocks}:
        manager.remove(uid)
    assert manager.state == empty
