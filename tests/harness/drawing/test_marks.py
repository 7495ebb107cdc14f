"""Signs of pods, as the columns of a sheet are named."""

import pytest

from numaproof.harness.drawing.marks import FREE, MIXED, OFFLINE, RESERVED, SEVERAL, Mark, letters, owner, sign


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")]
)
def test_letters(number: int, expected: str) -> None:
    assert letters(number) == expected


def test_no_two_signs_are_alike() -> None:
    signs = [sign(mark) for mark in (FREE, MIXED, OFFLINE, RESERVED, SEVERAL, *(Mark("pod", n) for n in range(2000)))]
    assert len(set(signs)) == len(signs)


def test_who_has_a_thing() -> None:
    assert owner([]) is None
    assert owner([3]) == Mark("pod", 3)
    assert owner([3, 5]) == SEVERAL
