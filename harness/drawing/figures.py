"""Distances and links: as a matrix where one can be read, else in a line."""

from collections import Counter

from numaproof.fake_sysfs.machine import Machine
from numaproof.harness.drawing.blocks import Matrix
from numaproof.harness.drawing.words import count

WIDEST_MATRIX = 16
_MOST_VALUES = 6  # that a line tells one by one


def distances(machine: Machine) -> Matrix | str:
    """The distances between NUMA nodes; an empty text where there is one node."""
    nodes = machine.nodes
    if len(nodes) == 1:
        return ""
    if len(nodes) <= WIDEST_MATRIX:
        rows = tuple((f"node {node.id}", tuple(map(str, node.distances))) for node in nodes)
        return Matrix("distances", tuple(str(node.id) for node in nodes), rows)
    found: dict[str, set[int]] = {}
    packages = {cpu.node: cpu.package for cpu in machine.cpus if cpu.online}
    for node in nodes:
        for other, distance in zip(nodes, node.distances, strict=True):
            if node.id == other.id:
                kind = "within a NUMA node"
            elif node.id in packages and other.id in packages:
                kind = "within a package" if packages[node.id] == packages[other.id] else "between packages"
            else:
                kind = "to NUMA nodes without CPUs"
            found.setdefault(kind, set()).add(distance)
    own = found.pop("within a NUMA node")
    if all(one == next(iter(found.values())) for one in found.values()):
        found = {"between two": next(iter(found.values()))}
    told = [f"{_values(one)} {kind}" for kind, one in found.items()]
    return f"distances: {', '.join([f'{_values(own)} within a NUMA node', *told])}"


def _values(found: set[int]) -> str:
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
