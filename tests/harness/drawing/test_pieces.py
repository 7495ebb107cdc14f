"""Too many pieces of a bar."""

from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.drawing.blocks import Piece
from numaproof.harness.drawing.marks import FREE, MIXED, RESERVED, Mark
from numaproof.harness.drawing.pieces import at_most


def bar(*amounts: int) -> list[Piece]:
    """Reserved, pods with these amounts, free."""
    pods = [Piece(Mark("pod", pod), amount, str(amount), "") for pod, amount in enumerate(amounts)]
    return [Piece(RESERVED, 1, "1", ""), *pods, Piece(FREE, 9, "9", "")]


def test_the_smallest_become_one() -> None:
    found = at_most(bar(5, 1, 7, 2, 3), 5, str)
    assert [(piece.mark, piece.amount) for piece in found] == [
        (RESERVED, 1),
        (Mark("pod", 0), 5),
        (Mark("pod", 2), 7),
        (MIXED, 6),
        (FREE, 9),
    ]
    assert found[3].tip == "6: 3 pods with the least"


def test_few_stay_as_they_are() -> None:
    assert at_most(bar(5, 1, 7), 5, str) == tuple(bar(5, 1, 7))
    assert at_most(bar(5), 2, str) == tuple(bar(5))


@given(st.lists(st.integers(1, 100), max_size=40), st.integers(4, 12))
def test_nothing_is_lost(amounts: list[int], most: int) -> None:
    found = at_most(bar(*amounts), most, str)
    assert len(found) <= most
    assert sum(piece.amount for piece in found) == 10 + sum(amounts)
