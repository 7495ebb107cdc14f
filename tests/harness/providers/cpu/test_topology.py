"""CPU topology: the groups of CPUs, and the order in which levels are walked."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.sets import cpu_list, ids_of, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from tests.harness.providers.cpu.machines import machine


def test_rows_become_groups_at_every_level() -> None:
    topology = machine(sockets=2, nodes=2, cores=2)
    assert topology.nodes == (0, 1, 2, 3)
    assert ids_of(topology.groups[Level.NODE][1]) == {2, 3, 10, 11}
    assert ids_of(topology.groups[Level.SOCKET][1]) == {4, 5, 6, 7, 12, 13, 14, 15}
    assert ids_of(topology.groups[Level.CORE][7]) == {7, 15}
    assert topology.cpus_per_core == 2


def test_nodes_come_before_sockets_unless_sockets_are_fewer() -> None:
    assert machine(sockets=2, nodes=1).path(Level.CORE) == (Level.NODE, Level.SOCKET, Level.CORE)
    assert machine(sockets=2, nodes=2).path(Level.CORE) == (Level.SOCKET, Level.NODE, Level.CORE)


def test_unequal_cores_are_whole_by_the_average_and_nodes_by_their_own_size() -> None:
    # Two cores with two threads, one with one: 5 CPUs / 3 cores is 1.
    hybrid = CpuTopology.of([(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (2, 2, 0, 0, 0), (3, 2, 0, 0, 0), (4, 4, 0, 1, 0)])
    assert hybrid.whole_size(Level.CORE, 0) == 1
    assert hybrid.whole_size(Level.NODE, 0) == 4


@pytest.mark.parametrize(
    ("rows", "text"),
    [([], "no CPU is online"), ([(0, 0, 0, 0, 0), (0, 0, 0, 1, 0)], "CPU 0 is given twice")],
)
def test_rows_that_make_no_machine_are_refused(rows: list[tuple[int, ...]], text: str) -> None:
    with pytest.raises(UserError, match=text):
        CpuTopology.of(rows)


def test_sets_are_written_as_lists_of_ranges() -> None:
    assert cpu_list(set_of([8, 0, 1, 2, 3, 10, 11])) == "0-3,8,10-11"
    assert cpu_list(0) == ""
