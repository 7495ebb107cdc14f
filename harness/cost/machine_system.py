"""The system devices of a machine, as the kernel tells of them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from numaproof.fake_sysfs import Cpu, Machine
from numaproof.fake_sysfs.cost_table import SAME_CORE, SAME_DIE, SAME_L2, SAME_L3, SAME_PACKAGE
from numaproof.harness.cost.system import CpuGroup, System

# What CPUs have in common at a level, None where the kernel does not say, and what two cost that have it in common.
_Level = tuple[Callable[[Cpu], object | None], int]


def system_of(machine: Machine) -> System:
    """The online CPUs, the nodes that have memory, and the distances between all nodes."""
    distances = {node.id: dict(zip(machine.node_ids, node.distances, strict=True)) for node in machine.nodes}
    second, third = _caches(machine, 2), _caches(machine, 3)
    levels: tuple[_Level, ...] = (
        (lambda cpu: cpu.package, SAME_PACKAGE),
        (lambda cpu: cpu.die, SAME_DIE),
        (lambda cpu: third.get(cpu.id), SAME_L3),
        (lambda cpu: second.get(cpu.id), SAME_L2),
        (lambda cpu: cpu.core, SAME_CORE),
    )
    by_node: dict[int, list[Cpu]] = defaultdict(list)
    for cpu in machine.cpus:
        if cpu.online:
            by_node[cpu.node].append(cpu)
    return System(
        {node: _group(cpus, distances[node][node], levels) for node, cpus in sorted(by_node.items())},
        tuple(node.id for node in machine.nodes if node.memory),
        distances,
    )


def _caches(machine: Machine, level: int) -> Mapping[int, int]:
    """The cache of a level that each CPU uses for data; one that has none is not in it."""
    found: dict[int, int] = {}
    for number, cache in enumerate(machine.caches):
        if cache.level == level and cache.kind != "Instruction":
            found |= dict.fromkeys(cache.cpus, number)
    return found


def _group(cpus: Sequence[Cpu], cost: int, levels: tuple[_Level, ...]) -> CpuGroup:
    """CPUs that have in common what costs so much, in parts by what only some of them share."""
    if not levels:
        return CpuGroup(cost, cpus=tuple(cpu.id for cpu in cpus))
    (key, closer), *inner = levels
    parts: dict[object, list[Cpu]] = defaultdict(list)
    for cpu in cpus:
        parts[key(cpu)].append(cpu)
    if None in parts:
        return _group(cpus, cost, tuple(inner))
    if len(parts) == 1:
        return _group(cpus, closer, tuple(inner))
    return CpuGroup(cost, tuple(_group(part, closer, tuple(inner)) for part in parts.values()))
