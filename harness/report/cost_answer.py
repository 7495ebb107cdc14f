"""A request answered by costs: what the texts, the JSON and the drawing of it are made from."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from numaproof.harness.cost.build import build
from numaproof.harness.cost.costs import UNLISTED, Costs
from numaproof.harness.cost.graph import Graph
from numaproof.harness.cost.names import Instance
from numaproof.harness.cost.pairs import Pair, pairs
from numaproof.harness.cost.solution import Solution
from numaproof.harness.cost.solve import solve


@dataclass(frozen=True, slots=True)
class Edge:
    """The pairs of the chosen set between two vertices, or within one, that cost anything."""

    one: int
    other: int
    pairs: tuple[Pair, ...]  # from `one` to `other`
    cost: Fraction  # of all its pairs together


@dataclass(frozen=True, slots=True)
class Answer:
    """The costs, the graph of them and a request, and the set that came out."""

    costs: Costs
    request: Mapping[str, int]
    available: Mapping[str, Collection[str]]
    graph: Graph
    solution: Solution
    units: Mapping[int, tuple[str, ...]]  # the chosen ids of every vertex that has any
    edges: tuple[Edge, ...]  # in the order of the layers


def other_rule(found: Answer) -> Answer:
    """The same request, answered by the other rule for pairs that nobody lists."""
    rule = next(one for one in UNLISTED if one != found.costs.unlisted)
    return answer(replace(found.costs, unlisted=rule), found.request, found.solution.seed, found.available)


def answer(
    costs: Costs,
    request: Mapping[str, int],
    seed: int,
    available: Mapping[str, Collection[str]] | None = None,  # None: all instances
) -> Answer:
    """Solve a request; a UserError where it cannot be satisfied."""
    offered = costs.instances if available is None else available
    solution = solve(costs, request, seed=seed, available=offered)
    graph = build(costs, request, available=offered)
    units: dict[int, tuple[str, ...]] = {}
    vertex_of: dict[Instance, int] = {}
    for number, vertex in enumerate(graph.vertices):
        taken = frozenset(solution.chosen[vertex.resource]).intersection(vertex.ids)
        if taken:
            units[number] = tuple(one for one in vertex.ids if one in taken)
        vertex_of.update((Instance(vertex.resource, one), number) for one in taken)
    found: dict[tuple[int, int], list[Pair]] = {}
    for pair in pairs(costs, solution.chosen):
        first, second = vertex_of[pair.one], vertex_of[pair.other]
        if first <= second:
            found.setdefault((first, second), []).append(pair)
        else:  # cpu1 comes before cpu2, and the vertex of cpu2 may begin with cpu0
            turned = Pair(pair.other, pair.one, pair.back, pair.there, pair.cost)
            found.setdefault((second, first), []).append(turned)
    edges = tuple(
        Edge(first, second, tuple(members), sum((pair.cost for pair in members), Fraction(0)))
        for (first, second), members in sorted(found.items())
    )
    return Answer(costs, request, offered, graph, solution, units, edges)
