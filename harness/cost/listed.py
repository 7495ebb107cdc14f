"""The costs that reporters list, between classes of instances that stand in the same entries."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from numaproof.harness.cost.costs import FULL, SYSTEM, Costs


@dataclass(frozen=True, slots=True)
class Listed:
    """Instances in classes, and what an instance of one class costs with an instance of another, or of its own."""

    class_of: Mapping[str, Mapping[str, int]]  # by resource and id
    sizes: tuple[int, ...]
    costs: tuple[Mapping[int, int], ...]  # by class: both directions, scaled and summed; absent: nothing
    guessed: tuple[Mapping[int, int], ...]  # by class: of how many directions the cost was not listed, but ruled

    def between(self, one: int, other: int) -> int:
        """What two instances of these classes cost with each other."""
        return self.costs[one].get(other, 0)

    def guesses(self, one: int, other: int) -> int:
        """In how many directions nobody lists what two such instances cost, though a rule says it: 0, 1 or 2."""
        return self.guessed[one].get(other, 0)

    def totals(self, resource: str) -> dict[str, int]:
        """What each instance of a resource costs with all the others together."""
        of_class = {}
        for one in set(self.class_of[resource].values()):
            whole = sum(cost * self.sizes[other] for other, cost in self.costs[one].items())
            of_class[one] = whole - self.costs[one].get(one, 0)
        return {instance: of_class[one] for instance, one in self.class_of[resource].items()}


def listed_costs(costs: Costs, instances: Mapping[str, Collection[str]]) -> Listed:
    """The listed costs between some instances of some resources."""
    entries = [
        (report.reporter, entry)
        for report in costs.reports
        for entry in report.entries
        if entry.resource in instances and entry.to_resource in instances
    ]
    # Many entries name the same ids, such as the CPUs of a NUMA node: sets are looked at once each.
    sets = dict.fromkeys((entry.resource, entry.ids) for _, entry in entries)
    sets |= dict.fromkeys((entry.to_resource, entry.to_ids) for _, entry in entries)
    number = {one: index for index, one in enumerate(sets)}
    member: dict[str, dict[str, list[int]]] = {resource: defaultdict(list) for resource in instances}
    for (resource, named), index in number.items():
        table = member[resource]
        for one in named:
            table[one].append(index)
    class_number: dict[tuple[str, tuple[int, ...]], int] = {}
    class_of: dict[str, dict[str, int]] = {}
    sizes: Counter[int] = Counter()
    for resource, ids in instances.items():
        table = member[resource]
        of_resource = {
            one: class_number.setdefault((resource, tuple(table.get(one, ()))), len(class_number)) for one in ids
        }
        sizes.update(of_resource.values())
        class_of[resource] = of_resource
    classes: list[list[int]] = [[] for _ in sets]
    for (_, held), found in class_number.items():
        for index in held:
            classes[index].append(found)
    one_way: dict[tuple[str, int, int], int] = {}
    scaled = {key: costs.scaled(*key) for key in {(reporter, entry.cost) for reporter, entry in entries}}
    for reporter, entry in entries:
        cost = scaled[reporter, entry.cost]
        for source in classes[number[entry.resource, entry.ids]]:
            for target in classes[number[entry.to_resource, entry.to_ids]]:
                one_way[reporter, source, target] = cost
    left_out: dict[tuple[str, int, int], int] = {}
    if costs.unlisted == "farthest":
        spoken_of = {(name, entry.resource, entry.to_resource) for name, entry in entries}
        left_out = dict.fromkeys(_left_out(one_way, class_number, spoken_of), FULL * costs.scale)
    return Listed(
        class_of,
        tuple(sizes[one] for one in range(len(class_number))),
        _summed({**one_way, **left_out}, len(class_number)),
        _summed(dict.fromkeys(left_out, 1), len(class_number)),
    )


def _summed(one_way: Mapping[tuple[str, int, int], int], classes: int) -> tuple[Mapping[int, int], ...]:
    """Both directions together."""
    summed: list[dict[int, int]] = [{} for _ in range(classes)]
    for (_, source, target), number in one_way.items():
        summed[source][target] = summed[source].get(target, 0) + number
        summed[target][source] = summed[target].get(source, 0) + number
    return tuple(summed)


def _left_out(
    one_way: Collection[tuple[str, int, int]],
    class_number: Mapping[tuple[str, tuple[int, ...]], int],
    spoken_of: Collection[tuple[str, str, str]],
) -> Iterator[tuple[str, int, int]]:
    """The pairs that a reporter does not list, though it lists others of the same resources."""
    by_resource: dict[str, list[int]] = defaultdict(list)
    for (resource, _), found in class_number.items():
        by_resource[resource].append(found)
    for reporter, resource, to_resource in spoken_of:
        # What the system does not know, such as the NUMA node of a device, it does not know to be far.
        if reporter != SYSTEM:
            for source in by_resource[resource]:
                for target in by_resource[to_resource]:
                    if (reporter, source, target) not in one_way:
                        yield reporter, source, target
