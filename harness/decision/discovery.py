"""The machine as the managers see it: what the kubelet reads from sysfs, and how it groups that."""

from collections import defaultdict
from collections.abc import Iterator

from numaproof.fake_sysfs import Cache, Cpu, Machine, PciDevice
from numaproof.harness.cost.machine_system import system_of
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of

_UNITS = ((1 << 20, "Gi"), (1 << 10, "Mi"), (1, "Ki"))  # in kB


def describe(machine: Machine) -> NodeDescription:
    """The machine's CPUs, memory, nodes and distances; CPUs that are offline do not take part."""
    return NodeDescription(
        cpu_rows=cpu_rows(machine),
        memory_nodes=tuple(
            MemoryNode(
                node.id,
                node.memory,
                {hugepage_resource(size): 0 for size in machine.hugepage_sizes}
                | {hugepage_resource(pages.size_kb): pages.size_kb * 1024 * pages.pages for pages in node.hugepages},
            )
            for node in machine.nodes
        ),
        node_ids=machine.node_ids,
        system=system_of(machine),
        isolated_cpus=frozenset(machine.isolated),
        distances={node.id: dict(zip(machine.node_ids, node.distances, strict=True)) for node in machine.nodes},
    )


def offered_functions(machine: Machine) -> Iterator[tuple[str, PciDevice]]:
    """The functions of a machine's PCI tree that plugins offer, each with the kind of its plugin."""
    virtual = {function.address for card in machine.devices() for function in card.vfs}
    for one in machine.devices():
        kind = kind_of(one.class_code, is_vf=one.address in virtual)
        if kind is not None:
            yield kind, one


def devices_of(machine: Machine) -> dict[str, tuple[Device, ...]]:
    """The functions of a machine's PCI tree that plugins offer, under the names that these usually give them."""
    found: dict[str, list[Device]] = defaultdict(list)
    for kind, one in offered_functions(machine):
        numa = None if one.numa_node < 0 else (one.numa_node,)
        found[USUAL_RESOURCES[kind]].append(Device(one.address, numa))
    return {resource: tuple(devices) for resource, devices in sorted(found.items())}


def hugepage_resource(size_kb: int) -> str:
    """The name under which pods ask for pages of this size: hugepages-2Mi, hugepages-1Gi."""
    unit, suffix = next((unit, suffix) for unit, suffix in _UNITS if size_kb % unit == 0)
    return f"hugepages-{size_kb // unit}{suffix}"


def cpu_rows(machine: Machine) -> tuple[tuple[int, int, int, int, int], ...]:
    """A row (cpu, core, uncore cache, NUMA node, socket) for every online CPU."""
    cores: dict[tuple[int, int, int], list[Cpu]] = defaultdict(list)
    cores_of_node: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    for cpu in machine.cpus:
        if cpu.online:
            # core_id is unique within its package only, and the kubelet looks node by node.
            key = (cpu.node, cpu.core, cpu.package)
            cores[key].append(cpu)
            cores_of_node[cpu.node].add(key)
    last_level = _last_level_caches(machine)
    rows = []
    for (node, _core, package), threads in cores.items():
        threads_of_node = len(cores_of_node[node]) * len(threads)
        uncore = next(
            (cache.id for cpu in threads for cache in last_level.get(cpu.id, ()) if len(cache.cpus) != threads_of_node),
            package,  # a cache that spans exactly the node's threads is not an uncore cache: the socket stands in
        )
        first = min(cpu.id for cpu in threads)
        rows += [(cpu.id, first, uncore, node, package) for cpu in threads]
    return tuple(sorted(rows))


def _last_level_caches(machine: Machine) -> dict[int, list[Cache]]:
    found: dict[int, list[Cache]] = defaultdict(list)
    for cache in machine.caches:
        if cache.level > 2:
            for cpu in cache.cpus:
                found[cpu].append(cache)
    return found
