"""The optimum by another's solver: the same problem for OR-Tools CP-SAT, made of the costs pair by pair."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from ortools.sat.python import cp_model

from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.names import Instance
from numaproof.harness.cost.pairs import pairs

WORKERS = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """What CP-SAT knows after its time."""

    proven: bool  # whether the bound is the optimum
    bound: Fraction  # no set costs less
    cost: Fraction  # of the best set that it found, or was told


def cp_sat(
    costs: Costs,
    request: Mapping[str, int],
    offered: Mapping[str, Collection[str]],
    seconds: float,
    hint: Mapping[str, Collection[str]],  # a set to begin with, which changes no proof
) -> Verdict:
    """The optimum of a request, or what is known of it after so many seconds."""
    model = cp_model.CpModel()
    layers = {resource: [Instance(resource, one) for one in offered[resource]] for resource in request}
    taken = {one: model.NewBoolVar(str(one)) for layer in layers.values() for one in layer}
    both = {}
    rows: dict[Instance, dict[str, list[cp_model.IntVar]]] = defaultdict(lambda: defaultdict(list))
    for one, other in combinations(taken, 2):
        variable = both[frozenset((one, other))] = model.NewBoolVar("")
        rows[one][other.resource].append(variable)
        rows[other][one.resource].append(variable)
    for resource, layer in layers.items():
        model.Add(sum(taken[one] for one in layer) == request[resource])
    # Whoever is taken is taken with all that is wanted of every layer: far stronger than pair by pair.
    for one, variable in taken.items():
        for resource, wanted in request.items():
            if partners := rows[one][resource]:
                model.Add(sum(partners) == (wanted - (resource == one.resource)) * variable)
        model.AddHint(variable, int(one.id in hint[one.resource]))
    objective = [
        int(pair.cost * costs.scale) * both[frozenset((pair.one, pair.other))]
        for pair in pairs(costs, {resource: tuple(offered[resource]) for resource in request})
    ]
    model.Minimize(sum(objective))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = WORKERS
    solver.parameters.random_seed = 1
    found = solver.Solve(model)
    if found not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Verdict(False, Fraction(0), Fraction(10**9))
    return Verdict(
        found == cp_model.OPTIMAL,
        Fraction(round(solver.BestObjectiveBound()), costs.scale),
        Fraction(round(solver.ObjectiveValue()), costs.scale),
    )
