"""Lists and masks as the kernel writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.fake_sysfs.lists import format_cpulist, format_mask, parse_cpulist, parse_mask


@pytest.mark.parametrize(
    ("text", "ids"),
    [("0-3,8\n", (0, 1, 2, 3, 8)), ("\n", ()), ("", ()), ("5", (5,)), ("8,0-1", (0, 1, 8)), ("0-1\0\n", (0, 1))],
)
def test_a_list_is_read_as_the_kernel_writes_it(text: str, ids: tuple[int, ...]) -> None:
    assert parse_cpulist(text) == ids


@pytest.mark.parametrize(
    "text", ["0-", "a", "3-1", "1,,2", "0x3", "-1", "0-99999999", "1 2", ",", "99999999999999999999"]
)
def test_a_bad_list_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="write a list such as 0-3,8") as caught:
        parse_cpulist(text)
    assert repr(text) in str(caught.value)


def test_a_list_is_written_with_ranges() -> None:
    assert format_cpulist([8, 0, 1, 3, 2, 10, 11]) == "0-3,8,10-11"
    assert format_cpulist([]) == ""


@pytest.mark.parametrize(
    ("ids", "width", "text"),
    [
        (range(80), 80, "ffff,ffffffff,ffffffff"),
        (range(0, 80, 4), 80, "1111,11111111,11111111"),
        ((0, 1), 2, "3"),
        ((), 1, "0"),
        ((), 65, "0,00000000,00000000"),
        ((32,), 33, "1,00000000"),
        (range(64), 64, "ffffffff,ffffffff"),
    ],
)
def test_a_mask_has_groups_of_32_bits_and_a_top_only_as_wide_as_needed(
    ids: tuple[int, ...], width: int, text: str
) -> None:
    assert format_mask(ids, width) == text
    assert parse_mask(text + "\n") == tuple(ids)


@pytest.mark.parametrize("text", ["", "x", "1,fffffffff", "1,,2"])
def test_a_bad_mask_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a mask"):
        parse_mask(text)


@given(st.sets(st.integers(0, 300)))
def test_both_ways_of_writing_come_back(ids: set[int]) -> None:
    assert parse_cpulist(format_cpulist(ids)) == tuple(sorted(ids))
    assert parse_mask(format_mask(ids, 301)) == tuple(sorted(ids))
