"""Names of instances."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.harness.cost.names import format_ids, natural, parse_names


@pytest.mark.parametrize(
    ("text", "resource", "ids"),
    [
        ("cpu/cpu0-2", "cpu", ("cpu0", "cpu1", "cpu2")),
        ("intel.com/fpga/fpga1", "intel.com/fpga", ("fpga1",)),
        ("intel.com/fpga/fpga-2", "intel.com/fpga", ("fpga-2",)),  # no number before the dash: a name, not a range
        ("example.com/gpu/gpu08-10", "example.com/gpu", ("gpu08", "gpu09", "gpu10")),
        ("nvidia.com/gpu/0000:07:00.0", "nvidia.com/gpu", ("0000:07:00.0",)),
        ("example.com/x/7-7", "example.com/x", ("7",)),
    ],
)
def test_a_name_and_a_range(text: str, resource: str, ids: tuple[str, ...]) -> None:
    assert parse_names(text) == (resource, ids)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("cpu", "names no instance"),
        ("cpu/", "names no instance"),
        ("/cpu0", "names no instance"),
        ("20 - cpu/cpu21-30", "names no instance"),
        ("cpu/cpu5-2", "runs backwards; write cpu2-5"),
        ("cpu/cpu0-65536", "a range of 65537 instances; at most 65536"),
    ],
)
def test_what_is_no_name(text: str, part: str) -> None:
    with pytest.raises(UserError, match=part):
        parse_names(text)


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        (["cpu0"], "cpu0"),
        (["cpu8", "cpu2", "cpu0", "cpu1"], "cpu0-2,8"),
        (["a1", "a2", "b3"], "a1-2,b3"),
        (["gpu07", "gpu8", "gpu9"], "gpu07,gpu8-9"),
        (["gpu-0", "gpu-1", "gpu-2", "gpu-4"], "gpu-0-2,4"),
        (["0000:07:00.0", "0000:08:00.0"], "0000:07:00.0,0000:08:00.0"),
    ],
)
def test_ids_in_short(ids: list[str], text: str) -> None:
    assert format_ids(ids) == text


@given(st.sets(st.integers(0, 30), min_size=1))
def test_short_ids_name_the_same_ids(numbers: set[int]) -> None:
    words = format_ids(f"x{number}" for number in numbers).split(",")
    found = [one for word in words for one in parse_names(f"r/{'x' if word[0] != 'x' else ''}{word}")[1]]
    assert found == [f"x{number}" for number in sorted(numbers)]


def test_natural_order() -> None:
    assert sorted(["card10", "card2", "card", "1card"], key=natural) == ["1card", "card", "card2", "card10"]
    addresses = ["0000:0a:00.0", "0000:10:00.0", "0000:07:00.1", "0000:07:00.0"]
    assert sorted(addresses, key=natural) == ["0000:07:00.0", "0000:07:00.1", "0000:0a:00.0", "0000:10:00.0"]
