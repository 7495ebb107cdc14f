"""The bound of the exact solver after its charges were shared out anew."""

from fractions import Fraction

from numaproof.harness.cost.build import build
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.exact import Search
from numaproof.harness.cost.greedy import walk

A, B = "a.example/x", "b.example/y"
FOUR, ONE = ("i0", "i1", "i2", "i3"), ("i4",)  # of A; all are wanted
P, Q = ("p0", "p1", "p2", "p3"), ("q0", "q1")  # of B; two are wanted


def _entry(resource: str, ids: tuple[str, ...], to_resource: str, to_ids: tuple[str, ...], cost: int) -> Entry:
    return Entry(resource, ids, to_resource, to_ids, Fraction(cost))


def test_a_number_of_instances_is_not_thought_too_dear_where_charges_are_negative() -> None:
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
    graph = build(costs, {A: 5, B: 2})
    search = Search(graph, walk(graph).counts)
    search.sharpen(11)
    assert search.run(10_000)
    assert graph.cost_of(search.best_weight) == Fraction(5000, 3)
