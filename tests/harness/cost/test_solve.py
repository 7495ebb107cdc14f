"""The solver against a look at every set, and against itself."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.harness.cost.build import build
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.exact import Search
from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.pairs import cost_of
from numaproof.harness.cost.solve import solve
from tests.harness.cost.problems import cheapest, problems

Problem = tuple[Costs, dict[str, int]]


@given(problems())
def test_the_answer_is_the_cheapest_of_all_sets(problem: Problem) -> None:
    costs, request = problem
    solution = solve(costs, request)
    assert solution.cost == cheapest(costs, request)
    assert solution.optimal
    assert {resource: len(ids) for resource, ids in solution.chosen.items()} == request


@given(problems())
def test_the_cost_of_the_answer_is_the_sum_of_its_pairs(problem: Problem) -> None:
    costs, request = problem
    solution = solve(costs, request)
    assert solution.cost == cost_of(costs, solution.chosen)
    assert solution.greedy == cost_of(costs, solution.greedy_chosen)


@given(problems(most=7))
def test_compound_vertices_change_no_cost(problem: Problem) -> None:
    costs, request = problem
    compound, plain = solve(costs, request), solve(costs, request, compound=False)
    assert compound.optimal
    assert plain.optimal
    assert compound.cost == plain.cost


@given(problems(most=7), st.integers(0, 3))
def test_the_same_seed_gives_the_same_answer(problem: Problem, seed: int) -> None:
    costs, request = problem
    assert solve(costs, request, seed=seed) == solve(costs, request, seed=seed)


@given(problems(most=7), st.randoms(use_true_random=False))
def test_the_order_in_which_instances_are_offered_does_not_matter(problem: Problem, chance: Random) -> None:
    costs, request = problem
    shuffled = {resource: chance.sample(ids, len(ids)) for resource, ids in costs.instances.items()}
    assert solve(costs, request, available=shuffled) == solve(costs, request)


@given(problems(most=7))
def test_never_dearer_than_the_greedy_walk_nor_cheaper_than_the_bound(problem: Problem) -> None:
    solution = solve(*problem)
    assert solution.bound <= solution.cost <= solution.greedy


@given(problems(most=7), st.integers(1, 5))
def test_an_interrupted_search_has_a_bound_that_holds(problem: Problem, regions: int) -> None:
    costs, request = problem
    graph = build(costs, request)
    search = Search(graph, walk(graph).counts)
    search.run(regions)
    early = graph.cost_of(search.bound)
    search.sharpen(3)
    sharper = graph.cost_of(search.bound)
    best = solve(costs, request).cost
    assert early <= best
    assert sharper <= best
    assert graph.cost_of(search.best_weight) >= best


@given(problems(), st.data())
def test_what_is_required_is_in_the_answer_and_the_rest_is_the_best_beside_it(
    problem: Problem, data: st.DataObject
) -> None:
    costs, request = problem
    resource = data.draw(st.sampled_from(sorted(request)))
    needed = data.draw(st.sets(st.sampled_from(costs.instances[resource]), max_size=request[resource]))
    solution = solve(costs, request, required={resource: needed})
    assert needed <= set(solution.chosen[resource])
    assert solution.cost == cheapest(costs, request, {resource: needed})


def _pairwise(instances: dict[str, tuple[str, ...]], *costs: tuple[str, str, str, str, int]) -> Costs:
    reporters = {one[0] for one in costs}
    reports = tuple(
        Report(name, tuple(Entry(a, (x,), b, (y,), Fraction(c)) for a, x, b, y, c in costs if a == name))
        for name in sorted(reporters)
    )
    return Costs(instances, reports)


def test_the_search_leaves_the_valley_in_which_the_greedy_walk_ends() -> None:
    # The walk takes a0, the first of its layer, and then b0, the only one that is near; but a0 with b0 costs 1 + 0,
    # while a1 with b1 costs nothing. One exchange does not do: a1 with b0 and a0 with b1 cost 10 each.
    a, b = "a.example/x", "b.example/y"
    costs = _pairwise(
        {a: ("a0", "a1"), b: ("b0", "b1")},
        (a, "a0", b, "b0", 1),
        (a, "a0", b, "b1", 10),
        (a, "a1", b, "b0", 10),
    )
    solution = solve(costs, {a: 1, b: 1})
    assert solution.greedy == 10
    assert solution.cost == 0
    assert solution.greedy_chosen == {a: ("a0",), b: ("b0",)}
    assert solution.chosen == {a: ("a1",), b: ("b1",)}
    assert solution.optimal


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({}, "the request is empty; ask for at least one resource, such as cpu=2"),
        ({"a.example/y": 1}, "a.example/y: no costs are known of such a resource; did you mean a.example/x?"),
        ({"zzzz": 1}, "zzzz: no costs are known of such a resource; known are a.example/x"),
        ({"a.example/x": 0}, "a.example/x: 0 of it are asked for; ask for 1 or more, or leave it out"),
        ({"a.example/x": 3}, "a.example/x: 3 of it are asked for, and there are 2"),
    ],
)
def test_a_request_that_cannot_be(request_: dict[str, int], text: str) -> None:
    with pytest.raises(UserError) as refused:
        solve(Costs({"a.example/x": ("i0", "i1")}, ()), request_)
    assert str(refused.value) == text


def test_more_is_required_than_asked_for() -> None:
    with pytest.raises(UserError) as refused:
        solve(Costs({"a.example/x": ("i0", "i1")}, ()), {"a.example/x": 1}, required={"a.example/x": ("i0", "i1")})
    assert str(refused.value) == "a.example/x: 1 of it are asked for, and 2 have to be among them"


@given(problems())
def test_weights_between_vertices_can_be_halved(problem: Problem) -> None:
    """The exact search shares them out between the two."""
    graph = build(*problem)
    assert all(weight % 2 == 0 for row in graph.weights for weight in row)
