"""Quantities as Kubernetes writes them."""

from fractions import Fraction

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.quantity import milli_value, parse_quantity, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500m", Fraction(1, 2)),
        ("1.5Gi", Fraction(3 * 2**29)),
        ("2e3", Fraction(2000)),
        ("2E3", Fraction(2000)),
        ("1E", Fraction(10**18)),
        ("1Ei", Fraction(2**60)),
        ("12e-1", Fraction(6, 5)),
        ("1k", Fraction(1000)),
        ("3n", Fraction(3, 10**9)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("+7u", Fraction(7, 10**6)),
        ("-1", Fraction(-1)),
        (4, Fraction(4)),
        (0.1, Fraction(1, 10)),
    ],
)
def test_quantities_are_exact(text: str | int | float, expected: Fraction) -> None:
    assert parse_quantity(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1 Gi", "1gi", "1.2.3", "Gi", "e3", "0x10", "1KiB", "\u0661", "9" * 70, True, "inf", "1e9999"]
)
def test_anything_else_is_named(text: str) -> None:
    with pytest.raises(UserError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e400", "-1e99", "8Ei", str(2**63), 2**63])
def test_more_than_the_api_has_is_named(text: str) -> None:
    with pytest.raises(UserError, match=f"^{text} is more than a quantity can be"):
        parse_quantity(text)
    assert parse_quantity(2**63 - 1) == 2**63 - 1


def test_whole_numbers_round_up() -> None:
    assert value(Fraction(1, 1000)) == 1
    assert value(Fraction(2)) == 2
    assert milli_value(Fraction(1, 3)) == 334
