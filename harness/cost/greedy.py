"""The first solution: a greedy walk through the layers."""

from dataclasses import dataclass
from fractions import Fraction

from numaproof.harness.cost.graph import Graph


@dataclass(frozen=True, slots=True)
class Step:
    """A vertex that the walk came to: how many of its instances it took, and what they added to the cost."""

    vertex: int
    units: int
    increment: Fraction
    alternatives: tuple[tuple[int, Fraction], ...]  # other vertices, and what as many of them would have added


@dataclass(frozen=True, slots=True)
class Walk:
    """A solution and the way to it."""

    counts: tuple[int, ...]  # of every vertex
    steps: tuple[Step, ...]


def walk(graph: Graph) -> Walk:
    """From the top layer to the bottom, each time to the vertex whose next instance is the cheapest for what is taken.

    A compound vertex is used as many times as it can be. Equally cheap vertices: the first by name. What is required
    is taken at the start.
    """
    counts = [vertex.size if vertex.required else 0 for vertex in graph.vertices]
    nearby = [sum(count * weight for count, weight in zip(counts, row, strict=True)) for row in graph.weights]
    steps: list[Step] = []
    for layer in graph.layers:
        open_vertices = [one for one in layer.vertices if not graph.vertices[one].required]
        missing = layer.wanted - sum(counts[one] for one in layer.vertices)
        while missing:
            # The tie-break is not the proposal's: costs are compared without it.
            best = min(open_vertices, key=lambda one: (nearby[one] + graph.tables[one][1]) // graph.rest)
            units = min(missing, graph.vertices[best].size)
            added = graph.cost_of(units * nearby[best] + graph.tables[best][units])
            others = [
                (other, graph.cost_of(units * nearby[other] + graph.tables[other][units]))
                for other in open_vertices
                if other != best and graph.vertices[other].size >= units
            ]
            steps.append(Step(best, units, added, tuple(sorted(others, key=lambda one: one[1]))))
            counts[best] = units
            missing -= units
            open_vertices.remove(best)
            for other, weight in enumerate(graph.weights[best]):
                nearby[other] += units * weight
    return Walk(tuple(counts), tuple(steps))
