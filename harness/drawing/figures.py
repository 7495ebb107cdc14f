"""Distances and links: as a matrix where one can be read, else in a line."""

from collections import Counter

from numaproof.fake_sysfs.machine import Machine
from numaproof.harness.drawing.blocks import Matrix
from numaproof.harness.drawing.words import count

WIDEST_MATRIX = 8
_MOST_VALUES = 6  # that a line tells one by one


def distances(machine: Machine) -> Matrix | str:
    """The distances between NUMA nodes; an empty text where there is one node."""
    nodes = machine.nodes
    if len(nodes) == 1:
        return ""
    if len(nodes) <= WIDEST_MATRIX:
        rows = tuple((f"node {node.id}", tuple(map(str, node.distances))) for node in nodes)
        return Matrix("distances", tuple(str(node.id) for node in nodes), rows)
    local = Counter(node.distances[place] for place, node in enumerate(nodes))
    remote = Counter(
        distance for row, node in enumerate(nodes) for column, distance in enumerate(node.distances) if column != row
    )
    return f"distances: {_values(local)} within a NUMA node, {_values(remote)} between two"


def _values(found: Counter[int]) -> str:
    ordered = sorted(found)
    if len(ordered) > _MOST_VALUES:
        return f"{ordered[0]} to {ordered[-1]}"
    return " or ".join(map(str, ordered))


def links(machine: Machine) -> Matrix | str:
    """The links between devices; an empty text where there are none."""
    ends = sorted({end for link in machine.links for end in (link.a, link.b)}, key=lambda end: (len(end), end))
    if not ends:
        return ""
    counts = Counter({frozenset((link.a, link.b)): link.count for link in machine.links})
    numbers = Counter(counts.values())
    if len(numbers) == 1 and len(counts) == len(ends) * (len(ends) - 1) // 2:
        [each] = numbers
        return f"links: {count(len(ends), 'device')}, {count(each, 'link')} between any two"
    if len(ends) <= WIDEST_MATRIX:
        rows = tuple(
            (
                f"{number} {one}",
                tuple("-" if one == other else str(counts[frozenset((one, other))] or ".") for other in ends),
            )
            for number, one in enumerate(ends)
        )
        return Matrix("links", tuple(map(str, range(len(ends)))), rows)
    told = ", ".join(f"{count(each, 'link')} between {count(pairs, 'pair')}" for each, pairs in sorted(numbers.items()))
    return f"links: {count(len(ends), 'device')}; {told}"
