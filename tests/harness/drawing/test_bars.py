"""Lengths of the pieces of bars, and rows that are easily counted."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.drawing.bars import row_length, shares

AMOUNTS = st.lists(st.integers(1, 1 << 50), min_size=1, max_size=30)


@given(AMOUNTS, st.integers(0, 200))
def test_the_pieces_fill_the_bar(amounts: list[int], room: int) -> None:
    found = shares(amounts, room)
    assert sum(found) == room
    assert all(size >= 0 for size in found)


@given(AMOUNTS, st.integers(0, 200))
def test_none_is_lost_where_there_is_room_for_all(amounts: list[int], room: int) -> None:
    if len(amounts) <= room:
        assert min(shares(amounts, room)) >= 1


@given(AMOUNTS, st.integers(0, 200))
def test_what_is_more_is_not_drawn_shorter(amounts: list[int], room: int) -> None:
    found = shares(amounts, room)
    sizes = sorted(zip(amounts, found, strict=True))
    assert all(a[1] <= b[1] + 1 for a, b in pairwise(sizes) if a[0] < b[0])


@pytest.mark.parametrize(("fitting", "row"), [(0, 1), (1, 1), (3, 3), (4, 4), (7, 4), (8, 8), (15, 8), (25, 24)])
def test_rows_are_round_numbers(fitting: int, row: int) -> None:
    assert row_length(fitting) == row
