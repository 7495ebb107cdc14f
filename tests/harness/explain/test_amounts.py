"""Amounts in words."""

import pytest

from numaproof.harness.explain.amounts import amount_text, quantity, short_amount, short_amounts

MIB, GIB = 1 << 20, 1 << 30


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


@pytest.mark.parametrize(
    ("amounts", "texts"),
    [
        ((252 * GIB, 258041 * MIB), ("258048 MiB", "258041 MiB")),
        ((64010 * MIB, 62 * GIB), ("64010 MiB", "63488 MiB")),
        ((126 * GIB, 61 * GIB), ("126 GiB", "61 GiB")),
        ((300 * MIB, 100 * MIB), ("300 MiB", "100 MiB")),
        # 78483636224 bytes are no whole MiB.
        ((85916 * MIB, 78_483_636_224), ("83.902 GiB", "73.094 GiB")),
        ((80 * GIB, 0), ("80 GiB", "0 B")),
    ],
)
def test_memory_that_is_compared_is_in_one_unit(amounts: tuple[int, int], texts: tuple[str, str]) -> None:
    assert short_amounts("memory", *amounts) == texts


def test_a_manifest_has_memory_in_whole_units() -> None:
    assert quantity(GIB) == "1024Mi"
    assert quantity(GIB + 1) == str(GIB + 1)
    assert quantity(0) == "0Mi"


def test_pieces_are_counted() -> None:
    assert amount_text("cpu", 1) == "1 CPU"
    assert amount_text("cpu", 2) == "2 CPUs"
    assert amount_text("nvidia.com/gpu", 1) == "1 nvidia.com/gpu"
    assert short_amount("nvidia.com/gpu", 3) == "3"
    assert short_amounts("cpu", 5, 3) == ("5", "3")
