"""What an answer is told by: its edges are its pairs, all of them, between the vertices that they belong to."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.harness.cost.costs import UNLISTED, Costs, Entry, Report
from numaproof.harness.cost.pairs import cost_of
from numaproof.harness.report.cost_answer import answer

IDS = {
    "cpu": ("cpu0", "cpu1", "cpu2"),
    "example.com/gpu": ("gpu0", "gpu1", "gpu2", "gpu3"),
    "example.com/nic": ("nic0",),
}
INSTANCES = [(resource, one) for resource, ids in IDS.items() for one in ids]


@st.composite
def costs(draw: st.DrawFn) -> Costs:
    pairs = st.tuples(st.sampled_from(INSTANCES), st.sampled_from(INSTANCES)).filter(lambda ends: ends[0] != ends[1])
    told = draw(st.dictionaries(pairs, st.integers(0, 3)))
    reports = [
        Report(
            resource,
            tuple(
                Entry(resource, (one[1],), other[0], (other[1],), Fraction(cost))
                for (one, other), cost in told.items()
                if one[0] == resource
            ),
        )
        for resource in IDS
    ]
    return Costs(IDS, tuple(reports), unlisted=draw(st.sampled_from(UNLISTED)))


@settings(max_examples=150)
@given(costs(), st.fixed_dictionaries({resource: st.integers(1, len(ids)) for resource, ids in IDS.items()}))
def test_the_edges_are_the_cost(given_costs: Costs, request: dict[str, int]) -> None:
    found = answer(given_costs, request, 3)
    solution = found.solution
    assert (
        sum((edge.cost for edge in found.edges), Fraction(0)) == solution.cost == cost_of(given_costs, solution.chosen)
    )
    assert {resource: len(ids) for resource, ids in solution.chosen.items()} == request
    taken = {(found.graph.vertices[vertex].resource, one) for vertex, ids in found.units.items() for one in ids}
    assert taken == {(resource, one) for resource, ids in solution.chosen.items() for one in ids}
    for edge in found.edges:
        for pair in edge.pairs:
            ends = {edge.one: pair.one, edge.other: pair.other}
            assert all(end.id in found.units[vertex] for vertex, end in ends.items())
            # A pair's cost is the edge's in the graph; within a vertex the graph has only the least of several.
            assert edge.one == edge.other or pair.cost == found.graph.cost(edge.one, edge.other)
    assert answer(given_costs, request, 3).solution == solution
