"""The order of merged hints, rule by rule, in examples small enough to check by hand."""

import pytest

from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.merge import filter_hints, merge
from numaproof.harness.topology.numa import NumaInfo

EIGHT = NumaInfo(tuple(range(8)), {a: [10 if a == b else 30 - abs(a - b) for b in range(8)] for a in range(8)})


def hints(*masks: str, preferred: str = "") -> list[TopologyHint]:
    """`hints("0", "12", preferred="12")`: a hint a word, its digits are nodes."""
    return [TopologyHint(mask_of(map(int, mask)), mask == preferred) for mask in masks]


@pytest.mark.parametrize(
    ("why", "first", "second", "nodes", "preferred"),
    [
        (
            "preferred wins over narrower",
            hints("0", "12", preferred="12"),
            hints("0", "12", preferred="12"),
            "12",
            True,
        ),
        ("unequal masks are not preferred", hints("1", preferred="1"), hints("12", preferred="12"), "1", False),
        ("as many nodes as the neediest resource", hints("0", "12", "345"), hints("12", "345"), "12", False),
        ("else the largest below", hints("345"), hints("34", "46", "5"), "34", False),
        ("else the smallest above", hints("0", "123", "56"), hints("4", "123", "56"), "56", False),
        ("ties go to the lowest value", hints("56", "12"), hints("12", "56"), "12", False),
        ("nothing in common: all nodes", hints("0", preferred="0"), hints("1", preferred="1"), "01234567", False),
    ],
)
def test_the_order(
    why: str, first: list[TopologyHint], second: list[TopologyHint], nodes: str, preferred: bool
) -> None:
    expected = TopologyHint(mask_of(map(int, nodes)), preferred)
    assert merge([first, second], EIGHT) == expected, why
    assert merge([second, first], EIGHT) == expected, why


def test_the_closest_of_equally_many_nodes() -> None:
    both = hints("01", "07", "67")
    assert merge([both], EIGHT) == TopologyHint(mask_of([0, 1]), False)
    assert merge([both], EIGHT, closest=True) == TopologyHint(mask_of([0, 7]), False)


def test_no_opinion_no_preference_and_impossible() -> None:
    wish = {"cpu": hints("3", preferred="3")}
    assert merge(filter_hints([wish, None, {}, {"gpu": None}]), EIGHT) == TopologyHint(mask_of([3]), True)
    assert merge(filter_hints([wish, {"gpu": []}]), EIGHT) == TopologyHint(mask_of([3]), False)
    assert merge(filter_hints([]), EIGHT) == TopologyHint(EIGHT.all_nodes, True)


def test_unknown_nodes_count_for_narrowness_then_vanish() -> None:
    strange = [TopologyHint(mask_of([2, 40, 41]), True)]
    assert merge([strange], EIGHT) == TopologyHint(mask_of([2]), True)
    # The strange hint needs three nodes: so three are taken, though one would do.
    assert merge([strange, hints("012", "1")], EIGHT) == TopologyHint(mask_of([2]), False)
    assert merge([[*strange, *hints("0123")], hints("012", "1")], EIGHT) == TopologyHint(mask_of([0, 1, 2]), False)
