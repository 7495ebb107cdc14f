"""Memory hints: the traps one by one, and the rule against a naive twin."""

from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.memory import MachineState, MemoryManager, MemoryTable, NodeState
from numaproof.harness.providers.memory.hints import Reusable, best_hint, listed, memory_family
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, is_subset, mask_of, masks_over
from numaproof.harness.topology.hints import HintFamily
from tests.harness.providers.memory.asking import GI, PAGES, asks, manager_of, on, pod_of

MANY = settings(max_examples=200)


def hints_for(manager: MemoryManager, pod: Pod, container: Container | None = None) -> dict[NodeMask, bool]:
    hints = manager.get_topology_hints(pod, container or pod.containers[0])
    assert hints, "the request fits nowhere"
    first, *others = hints.values()
    assert isinstance(first, list)
    assert all(other == first for other in others), "hints are the same for every kind of memory"
    return {hint.affinity: hint.preferred for hint in first}


def test_the_smallest_groups_are_preferred() -> None:
    manager = manager_of(4, 4)
    assert hints_for(manager, pod_of(asks("c", 3))) == {0b01: True, 0b10: True, 0b11: False}
    assert hints_for(manager, pod_of(asks("c", 5))) == {0b11: True}


def test_all_kinds_of_memory_must_fit_together() -> None:
    manager = manager_of(4, 4, pages=2)
    assert hints_for(manager, pod_of(asks("c", 3, pages=3))) == {0b11: True}


def test_what_fits_nowhere_gives_no_opinion_instead_of_impossible() -> None:
    manager = manager_of(4, 4)
    pod = pod_of(asks("c", 9))
    assert manager.get_topology_hints(pod, pod.containers[0]) == {}
    assert manager.get_pod_topology_hints(pod) == {}


def test_only_guaranteed_pods_are_hinted_whole_cpus_or_not() -> None:
    manager = manager_of(4)
    assert hints_for(manager, pod_of(asks("c", 3, cpu="1/2"))) == {0b1: True}
    burstable = pod_of(asks("c", 1), Container("free"))
    assert manager.get_topology_hints(burstable, burstable.containers[0]) == {}
    assert manager.get_pod_topology_hints(burstable) == {}


def test_a_node_in_use_joins_no_group_and_a_group_serves_no_single_node() -> None:
    manager = manager_of(4, 4, 4)
    small = pod_of(asks("c", 1), uid="small")
    manager.allocate(small, small.containers[0], on(0))
    assert hints_for(manager, pod_of(asks("c", 3))) == {0b001: True, 0b010: True, 0b100: True, 0b110: False}
    wide = pod_of(asks("c", 5), uid="wide")
    manager.allocate(wide, wide.containers[0], on(1, 2))
    assert hints_for(manager, pod_of(asks("c", 3))) == {0b001: True, 0b110: False}


def test_init_memory_counts_on_its_exact_nodes_only() -> None:
    manager = manager_of(4, 4)
    pod = pod_of(asks("c", 4), init=(asks("init", 3),))
    manager.allocate(pod, pod.init_containers[0], on(0))
    other = pod_of(asks("c", 1), uid="other")
    assert hints_for(manager, pod) == {0b01: True, 0b10: True}
    manager.allocate(other, other.containers[0], on(1))
    assert manager.get_topology_hints(pod, pod.containers[0]) == {}, "reuse ends when another pod is served"


def test_pod_hints_leave_out_what_only_init_containers_ask_for() -> None:
    manager = manager_of(8, 4, pages=2)
    init = (asks("init", 1, pages=2), asks("sidecar", 2, restartable=True), asks("late", 4))
    pod = pod_of(asks("a", 1), asks("b", 2), init=init)  # at most 2 + 4 at any one time
    hints = manager.get_pod_topology_hints(pod)
    assert set(hints) == {"memory"}
    assert hints["memory"] == [on(0), on(0, 1, preferred=False)]


def test_what_a_container_holds_already_is_hinted_again() -> None:
    manager = manager_of(4, 4, pages=2)
    pod = pod_of(asks("c", 3, pages=1))
    manager.allocate(pod, pod.containers[0], on(1))
    assert hints_for(manager, pod) == {0b10: True}
    assert manager.get_pod_topology_hints(pod) == {"memory": [on(1)], PAGES: [on(1)]}
    changed = pod_of(asks("c", 2, pages=1))
    assert manager.get_topology_hints(changed, changed.containers[0]) == {}


def twin(state: MachineState, request: dict[str, int], reusable: Reusable) -> list[tuple[NodeMask, bool]]:
    """Every mask judged on its own, as the documents of the memory manager tell it."""
    smallest, found = len(state), []
    for mask in masks_over(state):
        nodes = [state[node] for node in ids_of(mask)]
        if any(sum(node.allocatable(kind) for node in nodes) % 2**64 < size for kind, size in request.items()):
            continue
        smallest = min(smallest, len(nodes))
        groups = {mask_of(node.cells) for node in nodes if node.assignments or len(nodes) == 1}
        if groups - {mask}:
            continue
        free = {kind: sum(node.free(kind) for node in nodes) + reusable.get((mask, kind), 0) for kind in request}
        if all(free[kind] % 2**64 >= size for kind, size in request.items()):
            found.append(mask)
    return [(mask, mask.bit_count() == smallest) for mask in found]


@st.composite
def situations(draw: st.DrawFn, fewest_nodes: int, most_nodes: int) -> tuple[MachineState, dict[str, int], Reusable]:
    ids = sorted(draw(st.sets(st.integers(0, 12), min_size=fewest_nodes, max_size=most_nodes)))
    unused = list(draw(st.permutations(ids)))
    cells: dict[int, tuple[int, ...]] = {node: (node,) for node in ids}
    used: set[int] = set()
    for size in draw(st.lists(st.integers(1, 3), max_size=4)):
        group = tuple(sorted(unused[:size]))
        del unused[:size]
        cells.update(dict.fromkeys(group, group))
        used.update(group)
    # A single node may be taken out of a group: an affinity to it alone is honoured.
    for node in draw(st.sets(st.sampled_from(ids), max_size=1)):
        cells[node] = (node,)
    kinds = ("memory", PAGES)

    # On some machines a node has less than is reserved there: 64 bits run over.
    least = draw(st.sampled_from([0, 0, -2]))

    def table() -> MemoryTable:
        allocatable = draw(st.integers(least, 8)) % 2**64
        used = draw(st.integers(0, min(allocatable, 8)))
        return MemoryTable(allocatable, 0, allocatable, used, allocatable - used)

    state = {node: NodeState(int(node in used), cells[node], {kind: table() for kind in kinds}) for node in ids}
    request = {kind: draw(st.integers(0, 12)) for kind in kinds[: draw(st.integers(1, 2))]}
    masks = [mask_of(cells[node]) for node in used] + [mask_of(ids[:1]), mask_of(ids[:2])]
    reusable = draw(st.dictionaries(st.tuples(st.sampled_from(masks), st.sampled_from(kinds)), st.integers(0, 6)))
    return state, request, reusable


@MANY
@given(situations(1, 5))
def test_the_rule_means_what_the_enumeration_finds(
    situation: tuple[MachineState, dict[str, int], Reusable],
) -> None:
    family = memory_family(*situation)
    found = [tuple(hint) for hint in listed(family)] if family else []
    assert found == twin(*situation)


@MANY
@given(situations(1, 6), st.data())
def test_the_best_hint_is_found_without_listing(
    situation: tuple[MachineState, dict[str, int], Reusable], data: st.DataObject
) -> None:
    within = mask_of(data.draw(st.sets(st.sampled_from(sorted(situation[0])), max_size=2)))
    candidates = [(mask, preferred) for mask, preferred in twin(*situation) if is_subset(within, mask)]
    expected = min(candidates, key=lambda hint: (not hint[1], hint[0].bit_count(), hint[0]), default=None)
    family = memory_family(*situation)
    assert (best_hint(family, within) if family else None) == expected


def test_over_many_nodes_the_answer_is_the_rule_itself() -> None:
    manager = manager_of(*[4] * 10)
    for number, nodes in enumerate([(0,), (1, 2)]):
        pod = pod_of(asks("c", 3 * len(nodes)), uid=str(number))
        manager.allocate(pod, pod.containers[0], on(*nodes))
    pod = pod_of(asks("c", 2))
    hints = manager.get_topology_hints(pod, pod.containers[0])["memory"]
    assert isinstance(hints, HintFamily)
    assert [tuple(hint) for hint in listed(hints)] == twin(manager.state, {"memory": 2 * GI}, {})
    # 7 unused nodes form any group, node 0 has too little left, and its group is what 1 and 2 are good for.
    assert hints.also == (on(1, 2, preferred=False),)
    assert set(chain.from_iterable(ids_of(hint.affinity or EMPTY) for hint in hints.hints())) == set(range(1, 10))
