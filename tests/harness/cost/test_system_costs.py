"""The solver on the CPUs and memory nodes of a system, against a look at every set, and compound against plain."""

from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.cost.pairs import cost_of
from numaproof.harness.cost.solve import solve
from tests.harness.cost.systems import Drawn, cheapest_set, system_problems


@given(system_problems())
def test_the_answer_is_the_cheapest_of_all_sets(drawn: Drawn) -> None:
    costs, request, offered = drawn
    solution = solve(costs, request, available=offered)
    assert solution.cost == cost_of(costs, solution.chosen)
    assert solution.cost == cheapest_set(costs, request, offered)
    assert solution.optimal
    assert {resource: len(ids) for resource, ids in solution.chosen.items()} == request
    assert all(set(ids) <= set(offered[resource]) for resource, ids in solution.chosen.items())


@given(system_problems())
def test_the_greedy_walk_costs_what_its_pairs_cost(drawn: Drawn) -> None:
    costs, request, offered = drawn
    solution = solve(costs, request, available=offered)
    assert solution.greedy == cost_of(costs, solution.greedy_chosen)
    assert solution.bound <= solution.cost <= solution.greedy


@given(system_problems(most_cpus=10))
def test_compound_vertices_change_no_cost(drawn: Drawn) -> None:
    costs, request, offered = drawn
    compound = solve(costs, request, available=offered)
    plain = solve(costs, request, available=offered, compound=False)
    assert compound.cost == plain.cost
    assert compound.optimal
    assert plain.optimal
    assert cost_of(costs, plain.chosen) == plain.cost


@given(system_problems(), st.data())
def test_required_instances_are_in_the_answer_and_the_rest_is_the_best_beside_them(
    drawn: Drawn, data: st.DataObject
) -> None:
    costs, request, offered = drawn
    required = {
        resource: data.draw(st.sets(st.sampled_from(offered[resource]), max_size=count))
        for resource, count in request.items()
    }
    solution = solve(costs, request, available=offered, required=required)
    assert all(ids <= set(solution.chosen[resource]) for resource, ids in required.items())
    assert solution.cost == cost_of(costs, solution.chosen)
    assert solution.cost == cheapest_set(costs, request, offered, required)
