"""Amounts of memory, in words."""

import pytest

from numaproof.fake_sysfs.sizes import format_bytes


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1280 << 10, "1.25 MiB"),
        (3 << 30, "3 GiB"),
        (5 << 50, "5120 TiB"),
    ],
)
def test_sizes_are_said_as_people_say_them(size: int, text: str) -> None:
    assert format_bytes(size) == text
