"""The graph of a machine's system devices in lines: what holds what, and what two cost that meet there.

Its vertices are NUMA nodes, memory, packages, dies, caches, cores, CPUs, PCI bridges and devices. Between two CPUs it
costs what stands at the innermost vertex that holds both; a way through PCI costs what stands at each bridge on it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from numaproof.fake_sysfs import Machine, PciDevice
from numaproof.fake_sysfs.cost_table import PER_BRIDGE, SAME_CORE, SAME_DIE, SAME_L2, SAME_L3, SAME_PACKAGE
from numaproof.fake_sysfs.device_costs import device_costs
from numaproof.harness.cost.machine_system import system_of
from numaproof.harness.cost.names import cpu_id, format_ids
from numaproof.harness.cost.system import CpuGroup, System
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of

_LEVELS = {
    SAME_CORE: ("core", "cores"),
    SAME_L2: ("L2 cache", "L2 caches"),
    SAME_L3: ("L3 cache", "L3 caches"),
    SAME_DIE: ("die", "dies"),
    SAME_PACKAGE: ("package", "packages"),
}


def system_lines(machine: Machine) -> Iterator[str]:
    """The graph, one NUMA node after the other, then direct links between devices."""
    system = system_of(machine)
    roots = defaultdict(list)
    for root in machine.pci:
        roots[root.devices[0].numa_node if root.devices else -1].append(root)
    for node in machine.node_ids:
        yield f"NUMA node {node}: {_distances(system, node)}"
        if node in system.memory:
            yield f"  memory/node{node}"
        if node in system.cpus:
            yield from _cpu_lines([system.cpus[node]], "  ")
        for root in roots.pop(node, ()):
            yield from _pci_lines(root.name, root.devices, "  ")
    for root in (one for unplaced in roots.values() for one in unplaced):
        yield from _pci_lines(f"{root.name}, of no known NUMA node", root.devices, "")
    yield from _link_lines(machine)


def _distances(system: System, node: int) -> str:
    """How far a node is from all, those at one distance together."""
    by_distance: dict[int, list[int]] = defaultdict(list)
    for other, distance in system.distances[node].items():
        by_distance[distance].append(other)
    words = []
    for distance, others in sorted(by_distance.items()):
        words.append(f"{distance} to " + ("itself" if others == [node] else format_ids(f"node{one}" for one in others)))
    return ", ".join(words)


def _cpu_lines(groups: Sequence[CpuGroup], indent: str) -> Iterator[str]:
    """Groups of CPUs; those of one make share their lines."""
    for _, found in groupby(groups, key=_make):
        alike = list(found)
        one, many = _LEVELS.get(alike[0].between, ("NUMA node", "NUMA nodes"))
        number = f"{len(alike)} {many}" if len(alike) > 1 else one
        yield f"{indent}{number} ({alike[0].between}): {'; '.join(map(_cpus_text, _ends(alike)))}"
        if alike[0].parts:
            yield from _cpu_lines(alike[0].parts, indent + "  ")


def _make(group: CpuGroup) -> tuple[object, ...]:
    """What groups that are made alike have in common."""
    return group.between, len(group.cpus), tuple(map(_make, group.parts))


def _ends(groups: Sequence[CpuGroup]) -> Sequence[CpuGroup]:
    return groups if len(groups) <= 2 else (groups[0], groups[-1])


def _cpus_text(group: CpuGroup) -> str:
    return format_ids(cpu_id(cpu) for cpu in _cpus_of(group))


def _cpus_of(group: CpuGroup) -> Iterator[int]:
    yield from group.cpus
    for part in group.parts:
        yield from _cpus_of(part)


def _pci_lines(name: str, devices: Sequence[PciDevice], indent: str) -> Iterator[str]:
    inner = [line for device in devices for line in _device_lines(device, indent + "  ")]
    if inner:
        yield f"{indent}host bridge {name}"
        yield from inner


def _device_lines(device: PciDevice, indent: str) -> Iterator[str]:
    """A bridge with what is behind it, or a device that plugins offer; anything else is left out."""
    if device.is_bridge:
        inner = [line for child in device.children for line in _device_lines(child, indent + "  ")]
        if inner:
            yield f"{indent}bridge {device.address} ({PER_BRIDGE})"
            yield from inner
        return
    for kind, addresses in (
        (kind_of(device.class_code, is_vf=False), [device.address]),
        (kind_of(device.class_code, is_vf=True), [one.address for one in device.vfs]),
    ):
        if kind is not None and addresses:
            ends = addresses if len(addresses) <= 2 else (addresses[0], addresses[-1])
            yield f"{indent}{len(addresses)} x {USUAL_RESOURCES[kind]}: {'; '.join(ends)}"


def _link_lines(machine: Machine) -> Iterator[str]:
    linked = sorted({end for link in machine.links for end in (link.a, link.b)})
    if not linked:
        return
    costs: dict[int, list[str]] = defaultdict(list)
    for cost in device_costs(machine, linked, linked):
        if cost.domain == "pci":
            costs[cost.cost] += [f"{a} - {b}" for a in cost.sources for b in cost.targets if a < b]
    yield "direct links"
    for cost_, found in sorted(costs.items()):
        shown = sorted(found)
        more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
        yield f"  {cost_}: {', '.join(shown[:4])}{more}"
