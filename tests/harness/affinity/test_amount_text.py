"""Amounts in words: exact, without exponents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.affinity.amount_text import amount_text, of_text
from numaproof.harness.pods.quantity import bytes_text

GIB = 1 << 30


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (100 << 20, "100 MiB"),
        (3 * GIB // 2, "1.5 GiB"),
        (32 * GIB, "32 GiB"),
        (32 * GIB + 1, "34359738369 B"),
        (32 * GIB + 1024, "33554433 KiB"),
        (20000 * GIB, "20000 GiB"),
        (10**400 + 1, "1" + "0" * 399 + "1 B"),
    ],
)
def test_bytes(amount: int, text: str) -> None:
    assert bytes_text(amount) == text


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 50))
def test_what_differs_looks_different(one: int, other: int) -> None:
    assert (bytes_text(one) == bytes_text(other)) == (one == other)


def test_resources() -> None:
    assert amount_text("cpu", 2500) == "2.5 CPUs"
    assert amount_text("memory", GIB) == "1 GiB memory"
    assert amount_text("x.io/gpu", 2) == "2 x.io/gpu"
    assert of_text("cpu", 500, 8000) == "0.5 of 8 CPUs"
    assert of_text("hugepages-2Mi", 0, GIB) == "0 B of 1 GiB hugepages-2Mi"
    assert of_text("x.io/gpu", 1, 2) == "1 of 2 x.io/gpu"
    assert of_text("cpu", 0, 0) == "no CPUs"
