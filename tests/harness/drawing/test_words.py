"""Foreign texts made harmless, counts and lists."""

from unicodedata import category, east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.drawing.words import clean, count, cut, ids_text, nodes_text


@given(st.text(max_size=80), st.integers(1, 60))
def test_a_clean_text_is_one_line_of_characters_of_one_column(text: str, longest: int) -> None:
    found = clean(text, longest)
    assert len(found) <= longest
    assert found.isprintable()
    assert not any(east_asian_width(one) in "WF" or category(one) in {"Mn", "Me"} for one in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("default/web", "default/web"),
        ("two\nlines\tand  blanks ", "two lines and blanks"),
        ("\x1b[31mred\x07", "[31mred"),
        ("\u202eleft", "left"),
        ("\u6f22\u5b57", "??"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "cafe?"),
    ],
)
def test_what_is_harmless_stays(text: str, expected: str) -> None:
    assert clean(text, 40) == expected


def test_a_longer_text_ends_in_an_ellipsis() -> None:
    assert clean("x" * 10_000_000, 5) == "xxxx…"
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcd", 4) == "abcd"


def test_counts_and_lists() -> None:
    assert (count(1, "CPU"), count(0, "CPU"), count(2, "CPU")) == ("1 CPU", "0 CPUs", "2 CPUs")
    assert nodes_text([3]) == "NUMA node 3"
    assert nodes_text([5, 4, 9]) == "NUMA nodes 4-5,9"
    assert ids_text(range(0, 100, 2), 11) == "0,2,4,6,8,…"
    assert ids_text(range(100)) == "0-99"
