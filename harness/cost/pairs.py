"""The cost of a set pair by pair."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from numaproof.harness.cost.costs import FULL, SYSTEM, Costs
from numaproof.harness.cost.names import CPU, MEMORY, Instance, cpu_id, layer_order, natural, number_of
from numaproof.harness.cost.system import CpuGroup, System

Chosen = Mapping[str, tuple[str, ...]]  # ids by resource, both in their natural order
_Directed = tuple[Instance, Instance]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances of a set and what it costs to use them together."""

    one: Instance
    other: Instance
    there: Fraction  # raw, from `one` to `other`; 0 if nobody says
    back: Fraction  # raw, from `other` to `one`
    cost: Fraction  # both directions remapped and summed: 0 to 200 of each reporter


def pairs(costs: Costs, chosen: Chosen) -> Iterator[Pair]:
    """Every pair of the set that costs anything, in the order of layers and names; they sum up to the set's cost.

    What an unlisted pair costs by the rule `farthest` is not a raw cost: nobody reported it.
    """
    raw: dict[_Directed, Fraction] = defaultdict(Fraction)
    remapped: dict[_Directed, Fraction] = defaultdict(Fraction)
    sets = {resource: frozenset(_parts(resource, ids)) for resource, ids in chosen.items()}
    # A reporter that lists a pair twice means what it says last.
    listed = {(reporter, one, other): cost for reporter, one, other, cost in _listed(costs, sets)}
    of_system = _of_system(costs.system, sets)
    for reporter, one, other, cost in (*((*key, cost) for key, cost in listed.items()), *of_system):
        raw[one, other] += cost
        remapped[one, other] += cost * costs.factors[reporter]
    if costs.unlisted == "farthest":
        for pair in _unlisted(costs, sets):
            remapped[pair] += FULL
    everything = sorted(
        (Instance(resource, one) for resource, ids in sets.items() for one in ids),
        key=lambda instance: (layer_order(instance.resource), natural(instance.id)),
    )
    for one, other in combinations(everything, 2):
        there, back = (one, other), (other, one)
        cost = remapped.get(there, Fraction(0)) + remapped.get(back, Fraction(0))
        if cost:
            yield Pair(one, other, raw.get(there, Fraction(0)), raw.get(back, Fraction(0)), cost)


def cost_of(costs: Costs, chosen: Chosen) -> Fraction:
    """What a set costs."""
    return sum((pair.cost for pair in pairs(costs, chosen)), start=Fraction(0))


def _parts(resource: str, ids: Iterable[str]) -> Iterator[str]:
    """The ids, with groups of memory nodes taken apart."""
    for one in ids:
        yield from one.split("+") if resource == MEMORY else (one,)


def _listed(costs: Costs, sets: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, Instance, Instance, Fraction]]:
    within: dict[tuple[str, tuple[str, ...]], list[Instance]] = {}

    def of(resource: str, ids: tuple[str, ...]) -> list[Instance]:
        key = resource, ids
        if key not in within:
            within[key] = [Instance(resource, one) for one in sets[resource].intersection(ids)]
        return within[key]

    for report in costs.reports:
        for entry in report.entries:
            if entry.resource in sets and entry.to_resource in sets:
                for one in of(entry.resource, entry.ids):
                    for other in of(entry.to_resource, entry.to_ids):
                        if one != other:
                            yield report.reporter, one, other, entry.cost


def _unlisted(costs: Costs, sets: Mapping[str, frozenset[str]]) -> Iterator[_Directed]:
    """The pairs that a reporter leaves out, though it lists others of the same resources."""
    for report in costs.reports:
        if report.reporter == SYSTEM:
            continue
        alone = replace(costs, reports=(report,), system=None)
        listed = {(one, other) for _, one, other, _ in _listed(alone, sets)}
        spoken_of = {(entry.resource, entry.to_resource) for entry in report.entries}
        for resource, to_resource in spoken_of:
            for one in sets.get(resource, ()):
                for other in sets.get(to_resource, ()):
                    pair = Instance(resource, one), Instance(to_resource, other)
                    if pair[0] != pair[1] and pair not in listed:
                        yield pair


def _of_system(
    system: System | None, sets: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, Instance, Instance, Fraction]]:
    if system is None:
        return
    cpus = {number_of(one) for one in sets.get(CPU, ())}
    places: list[tuple[Instance, int]] = [(Instance(MEMORY, one), number_of(one)) for one in sets.get(MEMORY, ())]
    by_node: dict[int, list[int]] = {}
    for node, group in system.cpus.items():
        by_node[node] = []
        for one, other, cost in _within(group, cpus, by_node[node]):
            for pair in ((one, other), (other, one)):
                yield SYSTEM, Instance(CPU, cpu_id(pair[0])), Instance(CPU, cpu_id(pair[1])), Fraction(cost)
        places += [(Instance(CPU, cpu_id(cpu)), node) for cpu in by_node[node]]
    for one_place, other_place in combinations(places, 2):
        (a, node_a), (b, node_b) = one_place, other_place
        if not (a.resource == b.resource == CPU and node_a == node_b):
            yield SYSTEM, a, b, Fraction(system.distances[node_a][node_b])
            yield SYSTEM, b, a, Fraction(system.distances[node_b][node_a])


def _within(group: CpuGroup, cpus: set[int], found: list[int]) -> Iterator[tuple[int, int, int]]:
    """The pairs of a group's CPUs and their costs; its CPUs are added to `found`."""
    branches: list[list[int]] = [[cpu] for cpu in group.cpus if cpu in cpus]
    for part in group.parts:
        here: list[int] = []
        yield from _within(part, cpus, here)
        branches.append(here)
    for one, other in combinations(branches, 2):
        for a in one:
            for b in other:
                yield a, b, group.between
    found += [cpu for branch in branches for cpu in branch]
