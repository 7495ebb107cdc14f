"""Packed picking: what fits best goes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.providers.cpu.packed import pick_packed
from numaproof.harness.providers.cpu.sets import ids_of, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.provider import AllocationError
from tests.harness.providers.cpu.machines import machine

TWO_SOCKETS = machine(sockets=2, cores=4)  # socket 0: CPUs 0-3 and 8-11, socket 1: 4-7 and 12-15


def picked(topology: CpuTopology, free: set[int], count: int, **how: bool) -> list[int]:
    return sorted(ids_of(pick_packed(topology, set_of(free), count, **how)))


@pytest.mark.parametrize(
    ("why", "free", "count", "expected"),
    [
        (
            "a whole socket, since it is entirely free",
            {0, 1, 8, *range(4, 8), *range(12, 16)},
            8,
            [4, 5, 6, 7, *range(12, 16)],
        ),
        ("whole cores of the socket with fewer free CPUs", {0, 1, 8, 9, *range(4, 8), *range(12, 16)}, 2, [0, 8]),
        ("a core of the socket with fewer free CPUs, then a broken one", {0, 8, 1, 4, 12}, 3, [1, 4, 12]),
        ("one thread: of a core that is broken already", {0, 1, 8}, 1, [1]),
        ("three threads: a core, then the broken one", {0, 8, 1, 4, 12, 5}, 3, [0, 1, 8]),
        ("across sockets when one does not do", {0, 4, 5}, 3, [0, 4, 5]),
        ("nothing", {0, 4, 5}, 0, []),
    ],
)
def test_best_fit(why: str, free: set[int], count: int, expected: list[int]) -> None:
    assert picked(TWO_SOCKETS, free, count) == expected, why


def test_too_few_free_cpus_are_an_error_in_the_kubelets_words() -> None:
    expected = "^not enough cpus available to satisfy request: requested=3, available=2$"
    with pytest.raises(AllocationError, match=expected):
        pick_packed(TWO_SOCKETS, set_of({1, 2}), 3)


def test_spread_over_cores_follows_the_numbers_within_a_socket() -> None:
    assert picked(TWO_SOCKETS, set(range(16)), 3, spread_cores=True) == [0, 1, 2]
    assert picked(TWO_SOCKETS, set(range(16)), 3) == [0, 1, 8]


class TestCaches:
    # One socket, three caches of three cores. First threads: 0-2, 3-5, 6-8; second ones: 9-11, 12-14, 15-17.
    topology = machine(sockets=1, caches=3, cores=3)
    second_and_third = set(range(3, 9)) | set(range(12, 18))

    def test_whole_caches_rather_than_the_lowest_cores(self) -> None:
        free = {0, 1, 9, 10} | self.second_and_third
        assert picked(self.topology, free, 12, align_by_cache=True) == sorted(self.second_and_third)
        assert picked(self.topology, free, 12) == [0, 1, 3, 4, 5, 6, 9, 10, 12, 13, 14, 15]

    def test_one_cache_that_has_enough_rather_than_cores_of_two(self) -> None:
        free = {0, 9} | {3, 4, 12, 13}
        assert picked(self.topology, free, 4, align_by_cache=True) == [3, 4, 12, 13]
        assert picked(self.topology, free, 4) == [0, 3, 9, 12]

    def test_an_odd_request_leaves_one_thread_of_its_last_core(self) -> None:
        free = {0, 9} | {3, 4, 12, 13}
        assert picked(self.topology, free, 3, align_by_cache=True) == [3, 4, 12]
        assert picked(self.topology, free, 3) == [0, 3, 9]


def test_unequal_cores_give_cpus_that_are_not_free() -> None:
    # Recorded behaviour of the kubelet: with an average of one thread a core, core 0 counts as whole when one of its
    # two threads is free, and then both are taken.
    hybrid = CpuTopology.of([(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (2, 2, 0, 0, 0), (3, 3, 0, 0, 0)])
    assert picked(hybrid, {1, 2, 3}, 2) == [0, 1]


@st.composite
def pickings(draw: st.DrawFn) -> tuple[CpuTopology, set[int], int]:
    size = st.integers(1, 3)
    topology = machine(sockets=draw(size), nodes=draw(size), cores=draw(size), threads=draw(size), caches=draw(size))
    free = {cpu for cpu in topology.node_of if draw(st.booleans())}
    return topology, free, draw(st.integers(0, len(free)))


@given(picking=pickings(), spread=st.booleans(), by_cache=st.booleans())
def test_on_regular_machines_exactly_as_many_free_cpus_are_taken(
    picking: tuple[CpuTopology, set[int], int], spread: bool, by_cache: bool
) -> None:
    topology, free, count = picking
    taken = picked(topology, free, count, spread_cores=spread, align_by_cache=by_cache)
    assert len(taken) == count
    assert set(taken) <= free


@given(picking=pickings())
def test_a_request_of_whole_cores_breaks_no_core_that_need_not_be_broken(
    picking: tuple[CpuTopology, set[int], int],
) -> None:
    topology, free, count = picking
    cores = [ids_of(core) for core in topology.groups[Level.CORE].values()]
    whole = sum(len(core) for core in cores if core <= free)
    threads = topology.cpus_per_core
    if count % threads or count > whole:
        return
    taken = set(picked(topology, free, count))
    assert all(core <= taken or not core & taken for core in cores)
