"""Among equally cheap sets the one is taken that leaves the most of the cheap ones whole."""

from fractions import Fraction
from itertools import combinations

import pytest

from numaproof.fake_sysfs import preset
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.machine_costs import machine_costs
from numaproof.harness.cost.solve import solve

GPU = "nvidia.com/gpu"
NIC = "rdma/hca"
PAIRS = (("g0", "g1"), ("g2", "g3"), ("g4", "g5"), ("g6", "g7"))


def _four_pairs() -> Costs:
    ids = tuple(one for pair in PAIRS for one in pair)
    near = [Entry(GPU, (one,), GPU, (other,), Fraction(1)) for one, other in PAIRS]
    far = [
        Entry(GPU, (one,), GPU, (other,), Fraction(37))
        for one, other in combinations(ids, 2)
        if (one, other) not in PAIRS
    ]
    return Costs({GPU: ids}, (Report(GPU, (*near, *far)),))


@pytest.mark.parametrize("count", range(1, 9))
def test_single_devices_break_no_more_pairs_than_they_must(count: int) -> None:
    # After n pods of one GPU each, n / 2 pairs (rounded up) are broken into.
    costs = _four_pairs()
    free = set(costs.instances[GPU])
    for _ in range(count):
        free -= set(solve(costs, {GPU: 1}, available={GPU: sorted(free)}).chosen[GPU])
    whole = sum(set(pair) <= free for pair in PAIRS)
    assert whole == (8 - count) // 2


def test_a_device_whose_neighbour_of_another_kind_is_taken_goes_first() -> None:
    # Two GPUs, each with a card on its switch; one card is taken. A pod with a GPU alone leaves the whole couple.
    entries = [
        Entry(GPU, (f"g{n}",), NIC, (f"n{m}",), Fraction(4 if n == m else 30)) for n in range(2) for m in range(2)
    ]
    costs = Costs({GPU: ("g0", "g1"), NIC: ("n0", "n1")}, (Report(GPU, tuple(entries)),))
    for taken, expected in (("n0", "g0"), ("n1", "g1")):
        left = [one for one in ("n0", "n1") if one != taken]
        assert solve(costs, {GPU: 1}, available={GPU: ("g0", "g1"), NIC: left}).chosen == {GPU: (expected,)}


def test_the_second_thread_of_a_core_goes_before_a_whole_core() -> None:
    costs = machine_costs(preset("xeon-2s"))
    free = [one for one in costs.instances["cpu"] if one != "cpu5"]  # cpu53 is the other thread of its core
    assert solve(costs, {"cpu": 1}, available={"cpu": free}).chosen == {"cpu": ("cpu53",)}
