"""What it costs to use PCI devices together with CPUs, memory and one another: the library for authors of plugins.

It needs files only: a sysfs, a copy of one, or a machine that was read from it. Devices at one place are one group, and
the work goes by groups: 64 virtual functions of a card against 4096 CPUs are as many entries as there are distances.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numaproof.fake_sysfs.link_costs import link_costs, link_counts
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.pci_costs import Distances, pci_costs
from numaproof.fake_sysfs.pci_places import Place, Selection, places, select
from numaproof.fake_sysfs.read import read

CostDomain = Literal["cpu", "memory", "pci"]


@dataclass(frozen=True, slots=True)
class DeviceCost:
    """So much from each of some devices to each of some CPUs, memory nodes or devices, but for one to itself."""

    sources: tuple[str, ...]  # PCI addresses
    domain: CostDomain
    targets: tuple[str, ...]  # "cpu0", "node1", PCI addresses
    cost: int


def device_costs(
    machine: Machine | str | os.PathLike[str],  # or the root of a sysfs tree
    devices: Selection,
    others: Selection = lambda device: not device.is_bridge,  # the devices to which costs are wanted
) -> tuple[DeviceCost, ...]:
    """The costs from devices to CPUs, to memory nodes and to other devices; devices with equal costs share an entry.

    A device whose NUMA node the firmware does not tell has no costs to CPUs and memory. No pair is in two entries.
    """
    there = machine if isinstance(machine, Machine) else read(os.fspath(machine))
    known = places(there)
    sources, targets = select(there, devices, known), select(there, others, known)
    distances = {node.id: dict(zip(there.node_ids, node.distances, strict=True)) for node in there.nodes}
    cpus = {node: tuple(f"cpu{cpu}" for cpu in ids) for node, ids in there.cpus_by_node().items() if ids}
    memory = {node.id: (f"node{node.id}",) for node in there.nodes if node.memory}
    counts = link_counts(there)
    return (
        *_to_nodes("cpu", cpus, sources, known, distances),
        *_to_nodes("memory", memory, sources, known, distances),
        *(DeviceCost(a, "pci", b, cost) for a, b, cost in pci_costs(sources, targets, known, distances, counts)),
        *(DeviceCost(a, "pci", b, cost) for a, b, cost in link_costs(counts, sources, targets)),
    )


def by_resource(
    found: Iterable[DeviceCost], owners: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...], int]]:
    """(sources, "cpu", "memory" or a resource, targets, cost) where devices are of the resources of their owners.

    Devices that nobody owns are left out.
    """
    for one in found:
        targets: dict[str, list[str]] = defaultdict(list)
        for target in one.targets:
            if one.domain != "pci":
                targets[one.domain].append(target)
            elif target in owners:
                targets[owners[target]].append(target)
        for resource, names in targets.items():
            yield one.sources, resource, tuple(names), one.cost


def _to_nodes(
    domain: CostDomain,
    members: Mapping[int, tuple[str, ...]],  # what each node has of the domain
    sources: Sequence[str],
    known: Mapping[str, Place],
    distances: Distances,
) -> Iterator[DeviceCost]:
    """What the kernel tells of the way between NUMA nodes, and no bridges: a pod has many CPUs and few devices.

    With bridges, a card without a switch above it would be nearer to all of the CPUs, and that would outweigh its being
    far from the one GPU.
    """
    alike: dict[int, list[str]] = defaultdict(list)
    for address in sources:
        if known[address].node in distances:
            alike[known[address].node].append(address)
    for node, group in alike.items():
        by_distance: dict[int, list[str]] = defaultdict(list)
        for other, names in members.items():
            by_distance[distances[node][other]] += names
        for distance, found in sorted(by_distance.items()):
            yield DeviceCost(tuple(group), domain, tuple(found), distance)
