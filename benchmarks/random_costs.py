"""Random problems for the solver of costs: a number is a problem, the same one in every run."""

import random
from fractions import Fraction

from numaproof.harness.cost.costs import Costs, Entry, Report

INSTANCES = (10, 40)
RESOURCES = (2, 4)
DENSITIES = (0.3, 0.7, 1.0)  # how many of all pairs are listed
LARGEST = (5, 20, 100)  # the largest cost: many pairs that cost the same, or few
WANTED = (2, 4, 8)  # of each resource, at most


def random_problem(seed: int) -> tuple[Costs, dict[str, int]]:
    """Costs between instances of some resources, each pair by itself, and a request."""
    chance = random.Random(seed)
    resources = [f"r{number}.example/x" for number in range(chance.randint(*RESOURCES))]
    found: dict[str, list[str]] = {resource: [f"first{resource[1]}"] for resource in resources}
    for number in range(chance.randint(*INSTANCES) - len(resources)):
        found[chance.choice(resources)].append(f"i{number}")
    instances = {resource: tuple(ids) for resource, ids in found.items()}
    density, largest = chance.choice(DENSITIES), chance.choice(LARGEST)
    reports = []
    for resource, ids in instances.items():
        entries = tuple(
            Entry(resource, (one,), to_resource, (other,), Fraction(chance.randint(1, largest)))
            for one in ids
            for to_resource, others in instances.items()
            for other in others
            if (resource, one) != (to_resource, other) and chance.random() < density
        )
        reports.append(Report(resource, entries))
    request = {resource: chance.randint(1, min(len(ids), chance.choice(WANTED))) for resource, ids in instances.items()}
    return Costs(instances, tuple(reports)), request
