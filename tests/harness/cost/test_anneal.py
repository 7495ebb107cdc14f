"""Simulated annealing by itself: without the exact search it has to come to good solutions, too."""

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.cost.anneal import anneal
from numaproof.harness.cost.build import build
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.greedy import walk
from tests.harness.cost.problems import cheapest, problems

A, B, C = "a.example/x", "b.example/y", "c.example/z"


def test_it_leaves_the_valley_in_which_the_greedy_walk_ends() -> None:
    # Three of each; those of one number are alike. The walk takes a0, the first, b0, which is near to it (1), and then
    # the cheapest card: 20 from either, 41 in all. Number 1 and number 2 are 2 from one another, 6 in all; whatever
    # mixes numbers costs at least 20 more, so that any first exchange leads uphill.
    ids = {A: ("a0", "a1", "a2"), B: ("b0", "b1", "b2"), C: ("c0", "c1", "c2")}
    reports = []
    for resource, to_resources in ((A, (B, C)), (B, (C,))):
        entries = []
        for number, one in enumerate(ids[resource]):
            for to_resource in to_resources:
                for other_number, other in enumerate(ids[to_resource]):
                    near = {0: 1 if to_resource == B else 20, 1: 2, 2: 2}[number]
                    cost = near if number == other_number else 20
                    entries.append(Entry(resource, (one,), to_resource, (other,), Fraction(cost)))
        reports.append(Report(resource, tuple(entries)))
    graph = build(Costs(ids, tuple(reports)), {A: 1, B: 1, C: 1})
    start = walk(graph).counts
    found = anneal(graph, start, Random(1))
    # The largest cost of each reporter is 20: all are remapped by 5.
    assert graph.cost_of(graph.weight(start)) == 5 * (1 + 20 + 20)
    assert graph.cost_of(graph.weight(found)) == 5 * (2 + 2 + 2)


@given(problems(), st.integers(0, 5))
def test_small_problems_are_solved_by_it_alone(problem: tuple[Costs, dict[str, int]], seed: int) -> None:
    costs, request = problem
    graph = build(costs, request)
    start = walk(graph).counts
    found = anneal(graph, start, Random(seed))
    assert found == anneal(graph, start, Random(seed))
    assert graph.weight(found) <= graph.weight(start)
    assert graph.cost_of(graph.weight(found)) == cheapest(costs, request)
