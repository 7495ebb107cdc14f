"""The costs of the ways through the PCI tree, from groups of devices to groups of devices."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numaproof.fake_sysfs.cost_table import HOST_BRIDGES, LOCAL_DISTANCE, PER_BRIDGE, SAME_BUS
from numaproof.fake_sysfs.pci_places import Place, bridges_between

Distances = Mapping[int, Mapping[int, int]]  # SLIT: from every NUMA node to every one


@dataclass(frozen=True, slots=True)
class _Group:
    """Devices at one place that all have direct links, or all have none."""

    place: Place
    linked: bool


# What counts of devices below another host bridge: their node, and whether they have links.
_Outline = tuple[int, bool]


def pci_costs(
    sources: Sequence[str],
    targets: Sequence[str],
    known: Mapping[str, Place],
    distances: Distances,
    linked: Collection[str],  # devices with direct links: among themselves the way through PCI does not count
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """(sources, targets, cost) for every pair but those with direct links."""
    near, far = _grouped(sources, known, linked), _grouped(targets, known, linked)
    inside: dict[str, list[_Group]] = defaultdict(list)
    outside: dict[str, dict[_Outline, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group, members in far.items():
        inside[group.place.root].append(group)
        outside[group.place.root][group.place.node, group.linked] += members
    merged: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    for group, members in near.items():
        by_cost: dict[int, list[str]] = defaultdict(list)
        for other in inside.get(group.place.root, ()):
            if not (group.linked and other.linked):
                by_cost[PER_BRIDGE * bridges_between(group.place, other.place) or SAME_BUS] += far[other]
        row = distances.get(group.place.node, {})
        for root, outlines in outside.items():
            for (node, has_links), names in outlines.items():
                if root != group.place.root and not (group.linked and has_links):
                    by_cost[HOST_BRIDGES + row.get(node, LOCAL_DISTANCE)] += names
        for cost, found in by_cost.items():
            merged[cost, tuple(found)] += members
    for (cost, reached), starting in merged.items():
        if tuple(starting) != reached or len(reached) > 1:  # a device alone on its bus has no cost to itself
            yield tuple(starting), reached, cost


def _grouped(
    addresses: Sequence[str], known: Mapping[str, Place], linked: Collection[str]
) -> dict[_Group, tuple[str, ...]]:
    found: dict[_Group, list[str]] = defaultdict(list)
    for address in addresses:
        found[_Group(known[address], address in linked)].append(address)
    return {group: tuple(members) for group, members in found.items()}
