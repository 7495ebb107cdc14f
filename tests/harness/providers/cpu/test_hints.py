"""CPU hints: every set of nodes that has the CPUs, the smallest on an empty machine preferred."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.providers.cpu.hints import cpu_hints
from numaproof.harness.providers.cpu.sets import set_of
from numaproof.harness.providers.cpu.topology import CpuTopology
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.hints import HintFamily
from tests.harness.providers.cpu.machines import machine


def hints(
    topology: CpuTopology, free: set[int], count: int, reusable: frozenset[int] = frozenset(), *, sockets: bool = False
) -> dict[tuple[int, ...], bool]:
    found = cpu_hints(topology, set_of(free), set_of(reusable), count, align_by_socket=sockets)
    listed = list(found.hints()) if isinstance(found, HintFamily) else list(found)
    result = {ids_of(hint.affinity): hint.preferred for hint in listed if hint.affinity is not None}
    assert len(result) == len(listed)
    return result


TWO_NODES = machine(sockets=2, cores=2)  # node 0: 0 1 4 5, node 1: 2 3 6 7


@pytest.mark.parametrize(
    ("why", "free", "count", "expected"),
    [
        ("fits on each", set(range(8)), 4, {(0,): True, (1,): True, (0, 1): False}),
        ("fits on one", {2, 3, 6, 7, 0}, 4, {(1,): True, (0, 1): False}),
        ("fits on none, but would on an empty machine", {0, 1, 2, 3}, 3, {(0, 1): False}),
        ("would not fit on one node either way", set(range(8)), 5, {(0, 1): True}),
        ("fits nowhere", {0, 1, 2, 3}, 5, {}),
        ("more than there are at all", set(range(8)), 9, {}),
    ],
)
def test_two_nodes(why: str, free: set[int], count: int, expected: dict[tuple[int, ...], bool]) -> None:
    assert hints(TWO_NODES, free, count) == expected, why


def test_all_reusable_cpus_must_be_covered_even_if_not_needed() -> None:
    assert hints(TWO_NODES, {2, 3, 6, 7}, 2, frozenset({0})) == {(0, 1): False}
    assert hints(TWO_NODES, {1, 4, 2, 3, 6, 7}, 3, frozenset({0})) == {(0,): True, (0, 1): False}


def test_aligned_by_socket_whole_sockets_are_as_good_as_single_nodes() -> None:
    topology = machine(sockets=2, nodes=2, cores=1)
    plain = hints(topology, set(range(8)), 2)
    aligned = hints(topology, set(range(8)), 2, sockets=True)
    assert [mask for mask, preferred in plain.items() if preferred] == [(0,), (1,), (2,), (3,)]
    assert [mask for mask, preferred in aligned.items() if preferred] == [(0,), (1,), (2,), (3,), (0, 1), (2, 3)]


def test_many_nodes_get_a_rule_instead_of_a_list() -> None:
    topology = machine(sockets=16, nodes=4, cores=32)
    family = cpu_hints(topology, topology.cpus, set_of({0}), 65)
    assert isinstance(family, HintFamily)
    assert family.preferred_size == 2
    assert cpu_hints(topology, topology.cpus, 0, 4097) == []


@given(st.data())
def test_hints_are_what_counting_cpus_says(data: st.DataObject) -> None:
    """Against a count by hand over every set of nodes, on both sides of the border between list and rule."""
    nodes = data.draw(st.sampled_from([1, 2, 3, 9]))
    topology = machine(sockets=nodes, cores=2)
    where = {cpu: data.draw(st.sampled_from(["free", "taken", "reusable"])) for cpu in topology.node_of}
    free = {cpu for cpu, what in where.items() if what == "free"}
    reusable = frozenset(cpu for cpu, what in where.items() if what == "reusable")
    count = data.draw(st.integers(1, 4 * nodes + 1))
    expected = {}
    for mask in range(1, 1 << nodes):
        inside = [cpu for cpu in where if mask >> topology.node_of[cpu] & 1]
        usable = sum(1 for cpu in inside if cpu in free or cpu in reusable)
        if usable >= count and reusable <= set(inside):
            chosen = tuple(node for node in range(nodes) if mask >> node & 1)
            expected[chosen] = len(chosen) == -(-count // 4)
    assert hints(topology, free, count, reusable) == expected
