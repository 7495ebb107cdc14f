"""Amounts in words."""

import pytest

from numaproof.harness.explain.amounts import amount_text, quantity, short_amount

GIB = 1 << 30


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (85 * GIB, "85 GiB"),
        (94 * GIB - (10340 << 20), "85916 MiB"),
        (15 * 10**9, "15 GB"),
        (14_100_000_000, "14.1 GB"),
        # What machines have: 78483636224 / 2^30 = 73.0936..., 87445463040 / 2^30 = 81.4399...
        (78_483_636_224, "73.094 GiB"),
        (87_445_463_040, "81.440 GiB"),
        (GIB - 1, f"{GIB - 1} B"),
        (0, "0 B"),
    ],
)
def test_memory_is_told_as_people_can_read_it(amount: int, text: str) -> None:
    assert short_amount("memory", amount) == text
    assert amount_text("hugepages-1Gi", amount) == f"{text} of hugepages-1Gi"


def test_a_manifest_has_memory_in_whole_units() -> None:
    assert quantity(GIB) == "1024Mi"
    assert quantity(GIB + 1) == str(GIB + 1)
    assert quantity(0) == "0Mi"


def test_pieces_are_counted() -> None:
    assert amount_text("cpu", 1) == "1 CPU"
    assert amount_text("cpu", 2) == "2 CPUs"
    assert amount_text("nvidia.com/gpu", 1) == "1 nvidia.com/gpu"
    assert short_amount("nvidia.com/gpu", 3) == "3"
