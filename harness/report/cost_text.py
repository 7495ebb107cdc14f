"""A request answered by costs, and the layered graph of it, for the terminal."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from numaproof.harness.cost.graph import Layer
from numaproof.harness.report.cost_answer import Answer, Edge
from numaproof.harness.report.cost_words import chosen_text, ids_text, number, plain, proof_text, range_text, table

MOST_PAIRS = 28  # of eight instances: a line each; above, the pairs between two vertices share a line
WIDEST_MATRIX = 12  # columns


def solve_lines(answer: Answer) -> Iterator[str]:
    """The set, its cost, what is proven about it, and its cost edge by edge."""
    solution = answer.solution
    yield from table([[plain(resource), ids_text(ids)] for resource, ids in solution.chosen.items()])
    yield ""
    yield f"cost {number(solution.cost)} (raw {number(solution.raw_cost)}): {proof_text(solution)}"
    annealed = "" if solution.annealed is None else f", the annealing's {number(solution.annealed)}"
    rule = f"pairs that nobody lists cost {'nothing' if answer.costs.unlisted == 'nothing' else 'as the farthest'}"
    yield f"the greedy walk's set costs {number(solution.greedy)}{annealed}; seed {solution.seed}; {rule}"
    edges = answer.edges
    if not edges:
        yield "nothing is known of what these cost together"
        return
    yield ""
    pairs = [pair for edge in edges for pair in edge.pairs]
    if len(pairs) <= MOST_PAIRS:
        rows = [["between", "and", "there", "back", "cost"]]
        rows += [
            [plain(str(one.one)), plain(str(one.other)), number(one.there), number(one.back), number(one.cost)]
            for one in pairs
        ]
        yield from table(rows, right=(2, 3, 4))
        return
    rows = [["between", "and", "pairs", "there", "back", "cost", "together"]]
    rows += [_group(answer, edge) for edge in edges]
    yield from table(rows, right=(2, 3, 4, 5, 6))
    yield f"{len(pairs)} pairs (--json has each)"


def _group(answer: Answer, edge: Edge) -> list[str]:
    units, vertices = answer.units, answer.graph.vertices
    ends = [plain(f"{vertices[end].resource}/") + ids_text(units[end]) for end in (edge.one, edge.other)]
    return [
        ends[0],
        "themselves" if edge.one == edge.other else ends[1],
        str(len(edge.pairs)),
        range_text(pair.there for pair in edge.pairs),
        range_text(pair.back for pair in edge.pairs),
        range_text(pair.cost for pair in edge.pairs),
        number(edge.cost),
    ]


def graph_lines(answer: Answer) -> Iterator[str]:
    """The layers with their vertices, then the costs between each two layers and within each; * marks the chosen."""
    graph, solution, units = answer.graph, answer.solution, answer.units
    yield "start, at no cost to every vertex of the first layer"
    for layer in graph.layers:
        there = sum(graph.vertices[one].size for one in layer.vertices)
        yield f"{plain(layer.resource)}: {layer.wanted} wanted, {there} there"
        rows = []
        for one in layer.vertices:
            vertex = graph.vertices[one]
            many = f"{vertex.size} alike" if vertex.size > 1 else ""
            rows.append(["*" if one in units else " ", ids_text(vertex.ids), many, _taken(answer, one)])
        yield from table(rows, indent="  ")
    for place, layer in enumerate(graph.layers):
        if len(layer.vertices) > 1:
            yield from _between(answer, layer, layer, f"within {plain(layer.resource)} (green)")
        for far, below in enumerate(graph.layers[place + 1 :]):
            kind = "red" if far == 0 else "black"
            yield from _between(answer, layer, below, f"{plain(layer.resource)} - {plain(below.resource)} ({kind})")
    yield ""
    yield f"* chosen: {chosen_text(solution.chosen)}"
    yield f"cost {number(solution.cost)}: {proof_text(solution)}"


def _taken(answer: Answer, vertex: int) -> str:
    ids = answer.units.get(vertex, ())
    words = [f"chosen: {ids_text(ids)}"] if ids and len(ids) < answer.graph.vertices[vertex].size else []
    if len(ids) > 1:
        within = next((edge.cost for edge in answer.edges if edge.one == edge.other == vertex), Fraction(0))
        words.append(f"among themselves: {number(within)}")
    return ", ".join(words)


def _name(answer: Answer, vertex: int) -> str:
    return ids_text(answer.graph.vertices[vertex].ids)


def _between(answer: Answer, layer: Layer, below: Layer, title: str) -> Iterator[str]:
    graph, units = answer.graph, answer.units
    yield ""
    yield title
    if len(below.vertices) <= WIDEST_MATRIX:
        rows = [["", *(_name(answer, one) for one in below.vertices)]]
        for one in layer.vertices:
            cells = [
                ". "
                if one == other
                else number(graph.cost(one, other)) + ("*" if {one, other} <= units.keys() else " ")
                for other in below.vertices
            ]
            rows.append([_name(answer, one), *cells])
        yield from table(rows, right=range(1, len(below.vertices) + 1), indent="  ")
        return
    ends = (
        list(combinations(layer.vertices, 2))
        if layer is below
        else [(one, other) for one in layer.vertices for other in below.vertices]
    )
    costs = [graph.cost(one, other) for one, other in ends]
    yield f"  {len(ends)} edges of {range_text(costs)}"
    for (one, other), cost in zip(ends, costs, strict=True):
        if one in units and other in units:
            yield f"  * {_name(answer, one)} - {_name(answer, other)}: {number(cost)}"
