"""A request answered by costs, for programs."""

from fractions import Fraction
from itertools import combinations
from typing import Any

from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.pairs import cost_of, pairs
from numaproof.harness.report.cost_answer import Answer, other_rule


def as_json(answer: Answer) -> dict[str, Any]:
    """The chosen set with every pair that costs anything; numbers are whole where they can be."""
    solution = answer.solution
    return {
        "chosen": {resource: list(ids) for resource, ids in solution.chosen.items()},
        "cost": _number(solution.cost),
        "raw_cost": _number(solution.raw_cost),
        "optimal": solution.optimal,
        "bound": _number(solution.bound),
        "gap": _number(solution.gap),
        "greedy": _number(solution.greedy),
        "annealed": None if solution.annealed is None else _number(solution.annealed),
        "seed": solution.seed,
        "unlisted": answer.costs.unlisted,
        "edges": [
            {
                "between": [str(pair.one), str(pair.other)],
                "there": _number(pair.there),
                "back": _number(pair.back),
                "cost": _number(pair.cost),
            }
            for pair in pairs(answer.costs, solution.chosen)
        ],
    }


def graph_as_json(answer: Answer) -> dict[str, Any]:
    """The layered graph: vertices by the order of all layers, the cost of an instance of one with one of another."""
    graph, solution = answer.graph, answer.solution
    layers = [
        {
            "resource": layer.resource,
            "wanted": layer.wanted,
            "vertices": [
                {"vertex": one, "ids": list(graph.vertices[one].ids), "chosen": list(answer.units.get(one, ()))}
                for one in layer.vertices
            ],
        }
        for layer in graph.layers
    ]
    ends = combinations(range(len(graph.vertices)), 2)
    return {
        "layers": layers,
        "edges": [{"between": [one, other], "cost": _number(graph.cost(one, other))} for one, other in ends],
        "chosen": {resource: list(ids) for resource, ids in solution.chosen.items()},
        "cost": _number(solution.cost),
        "optimal": solution.optimal,
    }


def explanation_as_json(answer: Answer) -> dict[str, Any]:
    """The answer, how the greedy walk came to its set, and what comes out by the other rule for unlisted pairs."""
    vertices, solution = answer.graph.vertices, answer.solution
    twin = other_rule(answer)
    return as_json(answer) | {
        "walk": [
            {
                "resource": vertices[step.vertex].resource,
                "ids": list(vertices[step.vertex].ids),
                "units": step.units,
                "increment": _number(step.increment),
                "alternatives": [
                    {"ids": list(vertices[other].ids), "increment": _number(cost)} for other, cost in step.alternatives
                ],
            }
            for step in walk(answer.graph).steps
        ],
        "greedy_chosen": {resource: list(ids) for resource, ids in solution.greedy_chosen.items()},
        "searched": solution.searched,
        "other_rule": {
            "unlisted": twin.costs.unlisted,
            "chosen": {resource: list(ids) for resource, ids in twin.solution.chosen.items()},
            "cost": _number(twin.solution.cost),
            "cost_of_chosen": _number(cost_of(twin.costs, solution.chosen)),
        },
    }


def _number(cost: Fraction) -> int | float:
    return cost.numerator if cost.denominator == 1 else float(cost)
