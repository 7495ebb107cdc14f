"""The costs between PCI devices that have direct links (NVLink): by the number of links, not by the way through PCI."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from numaproof.fake_sysfs.cost_table import link_cost
from numaproof.fake_sysfs.machine import Machine

Counts = Mapping[str, Mapping[str, int]]  # links, by both addresses


def link_counts(machine: Machine) -> Counts:
    """How many links each device has to each other; a device without links is not in it."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for link in machine.links:
        counts[link.a][link.b] = counts[link.b][link.a] = link.count
    return dict(counts)


def link_costs(
    counts: Counts, sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """(sources, targets, cost) for all that have links: the more, the cheaper; a pair without is the farthest."""
    most = max((count for row in counts.values() for count in row.values()), default=0)
    merged: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    classes = _twins(counts, [address for address in targets if address in counts])
    for address in sources:
        if address not in counts:
            continue
        by_count: dict[int, list[str]] = defaultdict(list)
        for twins in classes:
            # Among its own twins a device looks at another one: what they have with one another counts for it too.
            other = next((one for one in twins if one != address), None)
            if other is not None:
                by_count[counts[address].get(other, 0)] += twins
        for count, found in sorted(by_count.items(), reverse=True):
            merged[link_cost(count, most), tuple(found)].append(address)
    for (cost, names), members in merged.items():
        yield tuple(members), names, cost


def _twins(counts: Counts, addresses: Sequence[str]) -> list[tuple[str, ...]]:
    """Devices in sets: those of one set have as many links to one another, and to any other device, as all of it."""
    values = {0, *(count for row in counts.values() for count in row.values())}
    alike: dict[tuple[int, frozenset[tuple[str, int]]], list[str]] = defaultdict(list)
    for address in addresses:
        for value in values:
            # With `value` links to itself, a device has the row of a twin that it has `value` links with.
            row = {**counts[address], address: value}
            alike[value, frozenset((one, count) for one, count in row.items() if count)].append(address)
    sets = {one: tuple(members) for members in alike.values() if len(members) > 1 for one in members}
    return list(dict.fromkeys(sets.get(address, (address,)) for address in addresses))
