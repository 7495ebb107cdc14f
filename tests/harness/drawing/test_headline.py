"""A machine in one line."""

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.drawing.headline import headline


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        ("2 nodes x 8 CPUs, 64Gi", "2 packages, 2 NUMA nodes, 16 CPUs, 64 GiB"),  # words tell of no model
        ("laptop", "1 package, 1 NUMA node, 20 CPUs, 32 GiB; 13th Gen Intel(R) Core(TM) i7-1370P"),
    ],
)
def test_what_nobody_told_is_not_told(machine: str, told: str) -> None:
    assert headline(parse_machine(machine)) == told
