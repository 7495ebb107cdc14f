"""The last step of the proposal: simulated annealing."""

import math
from collections.abc import Sequence
from random import Random

from numaproof.harness.cost.descent import Position
from numaproof.harness.cost.graph import Graph

STEPS = 2_000
COOLING = 0.995  # of the temperature, each step


def anneal(graph: Graph, start: Sequence[int], chance: Random) -> tuple[int, ...]:
    """The best solution of a constant number of random moves from the start.

    A move exchanges one instance for another of its layer, or as many as fit: instances of a compound vertex are
    cheapest together, and one by one the way to another vertex would lead over a mountain.
    """
    position = Position(graph, start)
    best, best_weight = tuple(start), position.weight
    layers = [[one for one in layer.vertices if not graph.vertices[one].required] for layer in graph.layers]
    layers = [vertices for vertices in layers if len(vertices) > 1]
    if not layers:
        return best
    # Weights are large whole numbers: temperatures are shares of what the start weighs.
    whole = max(1, position.weight)
    temperature = 1 / sum(layer.wanted for layer in graph.layers)
    for _ in range(STEPS):
        temperature *= COOLING
        vertices = chance.choice(layers)
        source, target = chance.sample(vertices, 2)
        here = position.counts[source]
        room = len(graph.tables[target]) - 1 - position.counts[target]
        most = min(here, room)
        if most <= 0:
            continue
        units = chance.choice((1, most))
        change = position.change(source, target, units)
        if change <= 0 or chance.random() < math.exp(-change / whole / temperature):
            position.move(source, target, units)
            if position.weight < best_weight:
                best, best_weight = tuple(position.counts), position.weight
    return best
