"""Distributed picking: an even share of every NUMA node, over as few nodes as can give it."""

import math
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.providers.cpu.distributed import pick_distributed
from numaproof.harness.providers.cpu.sets import ids_of, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology
from numaproof.harness.topology.provider import AllocationError
from tests.harness.providers.cpu.machines import machine

FOUR_NODES = machine(sockets=4, cores=4)  # node n: CPUs 4n to 4n+3 and, as second threads, 16 more


def by_node(topology: CpuTopology, free: set[int], count: int, group: int = 1) -> dict[int, int]:
    taken = ids_of(pick_distributed(topology, set_of(free), count, group=group))
    assert taken <= free
    assert len(taken) == count
    return dict(Counter(topology.node_of[cpu] for cpu in sorted(taken)))


EVERYTHING = set(range(32))


@pytest.mark.parametrize(
    ("why", "count", "group", "expected"),
    [
        ("one node is enough", 6, 1, {0: 6}),
        ("two nodes share evenly", 12, 1, {0: 6, 1: 6}),
        ("the remainder goes to the first nodes", 13, 1, {0: 7, 1: 6}),
        ("whole cores only: 14 are 7 cores", 14, 2, {0: 8, 1: 6}),
        ("no whole cores: packed", 13, 2, {0: 8, 1: 5}),
        ("all nodes", 32, 1, {0: 8, 1: 8, 2: 8, 3: 8}),
    ],
)
def test_shares_on_an_empty_machine(why: str, count: int, group: int, expected: dict[int, int]) -> None:
    assert by_node(FOUR_NODES, EVERYTHING, count, group) == expected, why


def test_more_nodes_are_taken_when_fewer_cannot_share_evenly() -> None:
    # 12 CPUs would fit on two nodes, but no two nodes have 6 free ones each: three give 4.
    free = EVERYTHING - {3, 18, 19} - {7, 22, 23} - {11, 26, 27} - {12, 13, 14, 15}
    assert by_node(FOUR_NODES, free, 12) == {0: 4, 1: 4, 2: 4}


def test_nodes_are_chosen_so_that_the_rest_lies_evenly() -> None:
    # Node 3 alone has 8 free CPUs, the others 5: taking 3 of it leaves 5 everywhere.
    free = EVERYTHING - {0, 1, 2} - {4, 5, 6} - {8, 9, 10}
    assert by_node(FOUR_NODES, free, 3) == {3: 3}


@pytest.mark.parametrize(
    ("free_by_node", "expected"),
    [
        # One CPU each; three more from node 3 (twice) and node 4 are as even as three from node 4, but more nodes give.
        ([1, 1, 1, 3, 4], {0: 1, 1: 1, 2: 1, 3: 3, 4: 2}),
        # The same, and any of nodes 0 to 3 may be left out: the last, since the first choice wins.
        ([1, 1, 1, 1, 3, 4], {0: 1, 1: 1, 2: 1, 4: 3, 5: 2}),
    ],
)
def test_among_equals_the_first_wins_and_more_givers_come_first(
    free_by_node: list[int], expected: dict[int, int]
) -> None:
    topology = machine(sockets=len(free_by_node), cores=4, threads=1)
    free = {4 * node + cpu for node, number in enumerate(free_by_node) for cpu in range(number)}
    assert by_node(topology, free, 8) == expected


def test_without_an_even_share_cpus_are_packed() -> None:
    free = set(range(4, 8)) | {0}
    assert by_node(FOUR_NODES, free, 5) == {0: 1, 1: 4}


def test_a_choice_of_four_nodes_is_overwritten_by_the_next_as_in_the_kubelet() -> None:
    # Recorded. All choices of four of the six free CPUs, one a node, leave the same balance, so the first wins:
    # 2, 3, 4, 5. Its last member lies in memory that the choices 2, 3, 4, 6 and 2, 3, 4, 7 are written to as well.
    topology = CpuTopology.of((cpu, cpu, cpu, cpu, cpu // 4) for cpu in range(8))
    assert by_node(topology, set(range(2, 8)), 4) == {2: 1, 3: 1, 4: 1, 7: 1}


# Inputs on which the kubelet never returns: cores a node, free CPUs, request; four nodes, two threads, whole cores.
ENDLESS = [
    (4, {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, *range(16, 22), *range(23, 32)}, 22),
    (3, {1, 2, 4, 5, 7, 8, 9, 10, *range(12, 23)}, 14),
    (3, {1, 2, 4, 5, 7, 8, 9, *range(12, 22)}, 14),
    (3, {1, 2, 4, 5, 6, 7, 10, 11, *range(12, 20), 21, 22, 23}, 14),
]


@pytest.mark.parametrize(("cores", "free", "count"), ENDLESS)
def test_where_the_kubelet_never_returns_there_is_an_error(cores: int, free: set[int], count: int) -> None:
    if cores == 4:  # neighbouring numbers are siblings on this one
        rows = [(cpu, cpu // 2 * 2, cpu // 8, cpu // 8, cpu // 8) for cpu in range(32)]
        topology = CpuTopology.of(rows)
    else:
        topology = machine(sockets=4, cores=cores)
    with pytest.raises(AllocationError, match="never returns"):
        pick_distributed(topology, set_of(free), count, group=2)


def test_sixty_four_nodes_share_evenly() -> None:
    topology = machine(sockets=16, nodes=4, cores=32)
    assert set(by_node(topology, set(range(4096)), 2048).values()) == {64}
    # Three CPUs are missing on every node: 33 nodes are needed, some of which give one CPU more.
    free = set(range(4096)) - {32 * node + cpu for node in range(64) for cpu in range(3)}
    shares = by_node(topology, free, 2000)
    assert sorted(set(shares.values())) == [60, 61]
    assert len(shares) == 33


class StuckError(Exception):
    """The remainder cannot be given in whole groups."""


def give(left: dict[int, int], givers: tuple[int, ...], remainder: int, group: int) -> dict[int, int]:
    after = dict(left)
    while remainder:
        able = [node for node in givers if after[node] >= group][: remainder // group]
        if not able:
            raise StuckError
        for node in able:
            after[node] -= group
            remainder -= group
    return after


def imbalance(left: dict[int, int]) -> float:
    """The kubelet's measure: a standard deviation with three decimals, around a mean with three decimals."""
    middle = round(sum(left.values()) / len(left), 3)
    return round(math.sqrt(sum((cpus - middle) ** 2 for cpus in left.values()) / len(left)), 3)


def by_trying_everything(
    free: dict[int, int], nodes_per_socket: int, count: int, group: int
) -> tuple[dict[int, int], set[int]] | None:
    """What every node has left after the most even plan over the fewest nodes, and how many nodes share and give.

    None: there is no plan.
    """
    on_socket = Counter[int]()
    for node, cpus in free.items():
        on_socket[node // nodes_per_socket] += cpus
    sockets = sorted(on_socket, key=lambda socket: (on_socket[socket], socket))
    nodes = sorted(
        (node for node in free if free[node]),
        key=lambda node: (sockets.index(node // nodes_per_socket), free[node], node),
    )
    for size in range(1, len(nodes) + 1):
        share = count // size // group * group
        remainder = count - share * size
        plans = []
        for choice in combinations(nodes, size):
            left = {node: cpus - share * (node in choice) for node, cpus in free.items() if cpus}
            if min(left.values()) < 0 or sum(left[node] // group for node in choice) * group < remainder:
                continue
            able = [node for node in choice if left[node] >= group]
            sets = [givers for many in range(len(able), 0, -1) for givers in combinations(able, many)]
            for givers in sets if remainder else [()]:
                if sum(left[node] for node in givers) >= remainder:
                    plans.append((give(left, givers, remainder, group), {len(choice), len(givers)}))
        if plans:
            return min(plans, key=lambda plan: imbalance(plan[0]))
    return None


@given(st.data())
def test_plans_are_those_of_trying_everything(data: st.DataObject) -> None:
    """But for those that the kubelet overwrites (see above): only combinations of 1, 2, 3 or 5 are safe from that."""
    sockets, per_socket = data.draw(st.sampled_from([(3, 1), (6, 1), (3, 2)]))
    group = data.draw(st.sampled_from([1, 2]))
    topology = machine(sockets=sockets, nodes=per_socket, cores=6)
    numbers = {node: data.draw(st.integers(0, 12)) for node in topology.nodes}
    free = {
        cpu
        for node, number in numbers.items()
        for cpu in sorted(cpu for cpu in topology.node_of if topology.node_of[cpu] == node)[:number]
    }
    count = data.draw(st.integers(0, len(free) // group)) * group
    try:
        plan = by_trying_everything(numbers, per_socket, count, group) if count else None
    except StuckError:
        with pytest.raises(AllocationError, match="never returns"):
            by_node(topology, free, count, group)
        return
    if plan is None or plan[1] <= {0, 1, 2, 3, 5}:
        taken = by_node(topology, free, count, group)
        if plan is not None:
            assert {node: numbers[node] - taken.get(node, 0) for node in plan[0]} == plan[0]
