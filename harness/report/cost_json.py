"""A request answered by costs, for programs."""

from fractions import Fraction
from typing import Any

from numaproof.harness.cost.pairs import pairs
from numaproof.harness.report.cost_answer import Answer


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


def _number(cost: Fraction) -> int | float:
    return cost.numerator if cost.denominator == 1 else float(cost)
