"""The bound of the exact solver where it does not look at every number of a vertex by itself."""

from fractions import Fraction

import pytest

from numaproof.harness.cost import exact
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.graph import build
from numaproof.harness.cost.greedy import walk

A, B = "a.example/x", "b.example/y"
FOUR, ONE = ("i0", "i1", "i2", "i3"), ("i4",)  # of A; all are wanted
P, Q = ("p0", "p1", "p2", "p3"), ("q0", "q1")  # of B; two are wanted


def _entry(resource: str, ids: tuple[str, ...], to_resource: str, to_ids: tuple[str, ...], cost: int) -> Entry:
    return Entry(resource, ids, to_resource, to_ids, Fraction(cost))


def test_the_numbers_that_are_looked_at_together_are_not_thought_too_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    # A's costs are remapped by 100/3, B's by 100. The five of A cost 6 x (2 + 2) = 24 raw among themselves: 800. A p
    # costs 4 x 2 + 3 = 11 raw with them: 1100/3; a q 3 raw of A's and 4 x 1 raw of B's: 100 + 400. Two p cost 1 + 1 raw
    # with each other: 200; any other pair nothing. So two p make 800 + 2200/3 + 200 = 5200/3, two q 800 + 1000, and a p
    # with a q 800 + 1100/3 + 500 = 5000/3, which is the least. The sharpened charges of B are negative in part: a p is
    # paid for having a q beside it.
    costs = Costs(
        {A: (*FOUR, *ONE), B: (*P, *Q)},
        (
            Report(
                A,
                (
                    _entry(A, FOUR, A, FOUR, 2),
                    _entry(A, FOUR, B, P, 2),
                    _entry(A, ONE, B, (*P, *Q), 3),
                ),
            ),
            Report(B, (_entry(B, P, B, P, 1), _entry(B, Q, A, FOUR, 1))),
        ),
    )
    monkeypatch.setattr(exact, "_EVERY_NUMBER", 1)
    graph = build(costs, {A: 5, B: 2})
    search = exact.Search(graph, walk(graph).counts)
    search.sharpen(11)
    assert search.run(100)
    assert graph.cost_of(search.best_weight) == Fraction(5000, 3)
