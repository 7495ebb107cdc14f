"""What instances of a compound vertex cost among themselves, against a look at every set of them."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.cost.inner import Alike, Inner, Nested


@st.composite
def trees(draw: st.DrawFn) -> Inner:
    """Groups of groups of up to three instances, at any costs: nearer ones may well be dearer."""
    numbers = iter(range(100))

    def leaf() -> Alike:
        ids = tuple(f"i{next(numbers)}" for _ in range(draw(st.integers(1, 3))))
        return Alike(ids, draw(st.integers(0, 6)), draw(st.integers(0, 3)))

    def group(depth: int) -> Inner:
        if depth == 0 or draw(st.booleans()):
            return leaf()
        return Nested([group(depth - 1) for _ in range(draw(st.integers(1, 2)))], draw(st.integers(0, 6)))

    return group(2)


def _cost(tree: Inner, taken: frozenset[str]) -> int:
    """The cost of a set by definition: pair by pair."""
    if isinstance(tree, Alike):
        here = len(taken.intersection(tree.ids))
        return tree.each * here + tree.between * (here * (here - 1) // 2)
    parts = tree.parts
    numbers = [len(taken.intersection(part.ids)) for part in parts]
    across = sum(one * other for one, other in combinations(numbers, 2))
    return sum(_cost(part, taken) for part in parts) + tree.between * across


@given(trees())
def test_the_table_is_the_least_of_all_sets_and_taking_gives_such_a_set(tree: Inner) -> None:
    size = len(tree.ids)
    table = tree.table(size)
    for count in range(size + 1):
        least = min(_cost(tree, frozenset(one)) for one in combinations(tree.ids, count))
        taken = tree.take(count)
        assert len(set(taken)) == len(taken) == count
        assert table[count] == least == _cost(tree, frozenset(taken))


@given(trees(), st.integers(0, 6), st.integers(0, 6))
def test_a_table_does_not_depend_on_what_was_asked_before(tree: Inner, first: int, then: int) -> None:
    tree.table(first)
    again = tree.table(then)
    assert again == tree.table(len(tree.ids))[: then + 1]


@pytest.mark.parametrize(
    ("count", "taken"), [(2, {"t0", "t1"}), (3, {"t0", "t1", "t2"}), (4, {"t0", "t1", "t2", "t3"})]
)
def test_threads_of_one_core_come_before_other_cores(count: int, taken: set[str]) -> None:
    cores = [Alike(("t0", "t1"), 1, 0), Alike(("t2", "t3"), 1, 0), Alike(("t4", "t5"), 1, 0)]
    assert set(Nested(cores, 4).take(count)) == taken


def test_of_equal_parts_the_first_is_used() -> None:
    # Two cores of one cache cost 1 + 1 + 4 x 4 = 18, of two caches 1 + 1 + 4 x 5 = 22; any of the caches would do.
    caches = [Nested([Alike((f"c{n}t0", f"c{n}t1"), 1, 0), Alike((f"c{n}t2", f"c{n}t3"), 1, 0)], 4) for n in range(3)]
    assert Nested(caches, 5).take(4) == ("c0t0", "c0t1", "c0t2", "c0t3")
