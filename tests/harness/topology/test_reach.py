"""ANDs of one mask of each set."""

import random
from itertools import product

from numaproof.harness.topology.bitmask import NodeMask, mask_of
from numaproof.harness.topology.reach import reachable


def test_small_and_large_sets_equal_the_cross_product() -> None:
    chance = random.Random(3)
    for _ in range(60):
        nodes = mask_of(chance.sample(range(12), chance.randint(1, 6)))
        most = chance.choice((2, 5, 60))  # many masks: counted by superset sums; few: pair by pair
        sets = [
            {NodeMask(chance.getrandbits(12)) for _ in range(chance.randint(1, most))}
            for _ in range(chance.randint(1, 3))
        ]
        if len(sets) == 3:
            sets[2] = set(list(sets[2])[:4])
        expected = set()
        for masks in product(*sets):
            merged = nodes
            for mask in masks:
                merged = NodeMask(merged & mask)
            expected.add(merged)
        assert reachable(sets, nodes) == expected


def test_an_empty_set_reaches_nothing() -> None:
    assert reachable([{NodeMask(1)}, set()], NodeMask(3)) == set()


def test_many_full_sets_do_not_overflow() -> None:
    every = {NodeMask(mask) for mask in range(1, 256)}
    assert reachable([every] * 40, NodeMask(255)) == {*every, NodeMask(0)}
