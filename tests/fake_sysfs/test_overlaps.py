"""A pair that is told twice is found, and nothing else."""

from itertools import combinations, pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from numaproof.fake_sysfs.overlaps import Block, runs, twice

runs_of_few = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda ends: (min(ends), max(ends)))
some_blocks = st.lists(st.tuples(runs_of_few, runs_of_few), max_size=6).map(
    lambda found: [Block(*one, *other, entry) for entry, (one, other) in enumerate(found)]
)


def told(block: Block, *, same: bool) -> set[tuple[int, int]]:
    sources, targets = range(block.first, block.last + 1), range(block.to_first, block.to_last + 1)
    return {(one, other) for one in sources for other in targets if not (same and one == other)}


@given(some_blocks, st.booleans())
@example([Block(0, 6, 0, 6, 0), Block(3, 3, 3, 3, 1)], True)
@example([Block(0, 3, 0, 3, 0), Block(3, 6, 3, 6, 1)], True)
def test_it_finds_what_counting_every_pair_finds(blocks: list[Block], same: bool) -> None:
    meeting = {
        (one.entry, other.entry)
        for one, other in combinations(blocks, 2)
        if told(one, same=same) & told(other, same=same)
    }
    found = twice(blocks, same=same)
    if found is None:
        assert not meeting
    else:
        assert (min(found), max(found)) in meeting


@given(st.sets(st.integers(-9, 9)))
def test_runs_are_the_numbers_again(numbers: set[int]) -> None:
    found = runs(numbers)
    assert {number for first, last in found for number in range(first, last + 1)} == numbers
    assert all(before[1] + 1 < after[0] for before, after in pairwise(found))
