"""Hints given by rule: the merge answers as from the list of all of them, wherever that list can be made."""

import random

import pytest

from numaproof.harness.topology.bitmask import NodeMask, ids_of, mask_of, masks_over
from numaproof.harness.topology.hints import Demand, HintFamily, TopologyHint
from numaproof.harness.topology.mask_search import lowest_mask, smallest_size
from numaproof.harness.topology.merge import merge, only_single_nodes
from numaproof.harness.topology.numa import NumaInfo
from tests.harness.topology.twin import naive_merge


def some_machine(chance: random.Random, size: int) -> NumaInfo:
    nodes = tuple(sorted(chance.sample(range(9), size)))
    return NumaInfo(nodes, {node: [chance.choice((10, 12, 20, 21)) for _ in range(9)] for node in nodes})


def some_demand(chance: random.Random, ids: list[int], *, wide: bool) -> Demand:
    supply = [(mask_of([node]), chance.randint(0, 4)) for node in ids]
    if wide:  # items of two nodes, as devices between sockets are
        supply += [(mask_of(chance.sample(ids, min(2, len(ids)))), chance.randint(1, 2)) for _ in range(2)]
    return Demand(chance.randint(0, sum(amount for _, amount in supply)), tuple(supply))


def some_family(chance: random.Random, numa: NumaInfo) -> HintFamily:
    ids = sorted(chance.sample(numa.nodes, chance.randint(max(1, len(numa.nodes) - 2), len(numa.nodes))))
    demands = [some_demand(chance, ids, wide=chance.random() < 0.5) for _ in range(chance.choice((1, 1, 2)))]
    also = [TopologyHint(mask_of(chance.sample(ids, 1)), chance.random() < 0.5)] if chance.random() < 0.2 else []
    sockets = chance.random() < 0.15
    masks = frozenset({mask_of(chance.sample(ids, 1)), mask_of(ids)}) if chance.random() < 0.15 else None
    return HintFamily(
        mask_of(ids),
        tuple(demands),
        preferred_size=smallest_size(mask_of(ids), demands) or 1 if chance.random() < 0.3 else chance.randint(1, 3),
        sockets=(mask_of(ids[:2]), mask_of(ids[2:])) if sockets else (),
        preferred_sockets=1 if sockets else 0,
        preferred_masks=masks,
        also=tuple(also),
    )


def some_list(chance: random.Random, numa: NumaInfo) -> list[TopologyHint]:
    masks = [mask_of(chance.sample(numa.nodes, chance.randint(1, len(numa.nodes)))) for _ in range(3)]
    return [TopologyHint(mask, chance.random() < 0.4) for mask in masks]


@pytest.mark.parametrize("closest", [False, True])
@pytest.mark.parametrize(("nodes", "families", "lists"), [(6, 1, 0), (6, 2, 0), (4, 3, 0), (5, 2, 1), (5, 1, 2)])
def test_families_answer_as_their_lists(nodes: int, families: int, lists: int, closest: bool) -> None:
    chance = random.Random(f"{nodes} {families} {lists} {closest}")
    answers = set()
    for _ in range(400):
        numa = some_machine(chance, nodes)
        rules = [some_family(chance, numa) for _ in range(families)]
        others = [some_list(chance, numa) for _ in range(lists)]
        listed = [list(rule.hints()) for rule in rules]
        expected = naive_merge([*listed, *others], numa, closest=closest)
        assert merge([*rules, *others], numa, closest=closest) == expected, (numa, rules, others)
        answers.add(expected.preferred)
        singles = [list(hints) for hints in only_single_nodes([*listed, *others]) if not isinstance(hints, HintFamily)]
        assert merge(only_single_nodes([*rules, *others]), numa) == naive_merge(singles, numa)
    assert answers == {True, False}


def test_smallest_and_lowest_equal_brute_force() -> None:
    chance = random.Random(7)
    for _ in range(300):
        numa = some_machine(chance, 6)
        demands = [
            some_demand(chance, list(numa.nodes), wide=chance.random() < 0.3) for _ in range(chance.randint(1, 3))
        ]
        everything = HintFamily(numa.all_nodes, tuple(demands), 0)
        masks = [hint.affinity for hint in everything.hints() if hint.affinity is not None]
        assert smallest_size(numa.all_nodes, demands) == min((mask.bit_count() for mask in masks), default=None)
        for size in range(1, 7):
            fitting = [mask for mask in masks if mask.bit_count() == size]
            assert lowest_mask(numa.all_nodes, size, demands) == min(fitting, default=None)


def test_the_list_of_a_family_is_what_it_accepts() -> None:
    chance = random.Random(11)
    for _ in range(100):
        numa = some_machine(chance, 5)
        family = some_family(chance, numa)
        accepted = [mask for mask in masks_over(ids_of(family.nodes)) if family.accepts(mask)]
        assert list(family.hints()) == [*family.also, *(TopologyHint(mask, family.prefers(mask)) for mask in accepted)]


def even(nodes: int, amount: int, need: int) -> Demand:
    return Demand(need, tuple((NodeMask(1 << node), amount) for node in range(nodes)))


def test_64_equal_nodes_each_need_decides() -> None:
    numa = NumaInfo(tuple(range(64)))
    cpus = HintFamily(numa.all_nodes, (even(64, 64, 33 * 64),), preferred_size=33)
    memory = HintFamily(numa.all_nodes, (even(64, 1 << 36, 33 << 36),), preferred_size=33)
    assert merge([cpus, memory], numa) == TopologyHint(NodeMask((1 << 33) - 1), True)


def test_memory_here_and_hugepages_there_needs_nodes_of_both() -> None:
    plain = Demand(16, tuple((NodeMask(1 << node), 1) for node in range(32)))
    huge = Demand(16, tuple((NodeMask(1 << node), 1) for node in range(32, 64)))
    assert smallest_size(NodeMask((1 << 64) - 1), (plain, huge)) == 32


def test_a_node_nobody_asked_for_may_win() -> None:
    # Node 3 alone has devices, node 2 alone has CPUs; {0,3} and {0,2} are hints too, and their AND is {0}.
    numa = NumaInfo(tuple(range(20)))
    devices = HintFamily(numa.all_nodes, (Demand(1, ((NodeMask(8), 1),)),), preferred_size=1)
    cpus = HintFamily(numa.all_nodes, (Demand(1, ((NodeMask(4), 1),)),), preferred_size=1)
    assert merge([devices, cpus], numa) == TopologyHint(NodeMask(1), False)
