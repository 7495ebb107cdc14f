"""A graph with fewer vertices for the search: parts of a layer that cost the same to all the rest become one vertex.

Compound vertices stand for instances that are alike. NUMA nodes full of CPUs are not, since a CPU is nearer to those of
its own node; but where all nodes are equally far from one another and from what else is wanted, the best way to take
so many CPUs from all of them together can be worked out once, for every number of CPUs.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numaproof.harness.cost.graph import Graph, Layer, Vertex
from numaproof.harness.cost.inner import Inner, Nested


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smaller graph, and where the vertices of the larger one are in it."""

    graph: Graph
    into: tuple[int, ...]

    def counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        """A solution of the larger graph in the smaller one; it costs the same there, or less."""
        found = [0] * len(self.graph.vertices)
        for vertex, count in enumerate(counts):
            found[self.into[vertex]] += count
        return tuple(found)


def reduced(graph: Graph) -> Reduced:
    """Join vertices until no two of a layer cost the same to all others."""
    into = list(range(len(graph.vertices)))
    while joins := _joins(graph):
        graph, moved = _joined(graph, joins)
        into = [moved[one] for one in into]
    return Reduced(graph, tuple(into))


def _joins(graph: Graph) -> list[tuple[int, list[int]]]:
    """Sets of vertices to be joined, none of them in two, and what an instance of one costs with one of another.

    Two vertices are such if each, with the weight between them in the place of its own, has the same row.
    """
    rows: dict[tuple[int, bool, int, tuple[int, ...]], list[int]] = defaultdict(list)
    for number, layer in enumerate(graph.layers):
        for one in layer.vertices:
            row = list(graph.weights[one])
            for between in sorted({row[other] for other in layer.vertices if other != one}):
                row[one] = between
                rows[number, graph.vertices[one].required, between, tuple(row)].append(one)
    found: list[tuple[int, list[int]]] = []
    used: set[int] = set()
    for (_, _, between, _), members in rows.items():
        free = [one for one in members if one not in used]
        if len(free) > 1:
            used.update(free)
            found.append((between, free))
    return found


def _joined(graph: Graph, joins: Sequence[tuple[int, list[int]]]) -> tuple[Graph, list[int]]:
    """The graph after the joins, and where its vertices went."""
    inners: dict[int, Inner] = {}
    target = list(range(len(graph.vertices)))
    for between, members in joins:
        inners[members[0]] = Nested([graph.vertices[one].inner for one in members], between)
        for one in members:
            target[one] = members[0]
    kept = sorted(set(target))
    place = {one: position for position, one in enumerate(kept)}
    vertices: list[Vertex] = []
    tables = list(graph.tables)
    for layer in graph.layers:
        for one in layer.vertices:
            if one in inners:
                tables[one] = inners[one].table(layer.wanted)
    for one in kept:
        vertex = graph.vertices[one]
        vertices.append(replace(vertex, inner=inners[one]) if one in inners else vertex)
    layers = tuple(
        Layer(layer.resource, layer.wanted, tuple(place[one] for one in layer.vertices if target[one] == one))
        for layer in graph.layers
    )
    smaller = replace(
        graph,
        layers=layers,
        vertices=tuple(vertices),
        weights=tuple(tuple(graph.weights[one][other] for other in kept) for one in kept),
        tables=tuple(tables[one] for one in kept),
    )
    return smaller, [place[target[one]] for one in range(len(target))]
