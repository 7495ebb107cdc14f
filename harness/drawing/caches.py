"""Caches by NUMA node, those of nodes that are alike in one line: "L3 4 x 16 MiB; L2 16 x 512 KiB"."""

from collections import Counter
from collections.abc import Iterable, Mapping

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import Cache, Machine, NumaNode
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.drawing.words import nodes_text

_KINDS = {"Data": "d", "Instruction": "i", "Unified": ""}


def cache_name(cache: Cache) -> str:
    """What lscpu calls it: L1d, L1i, L2, L3."""
    return f"L{cache.level}{_KINDS[cache.kind]}"


def caches_told(machine: Machine) -> list[str]:
    """The caches of each NUMA node; one that several nodes share is told of each, with all of them."""
    node_of = {cpu.id: cpu.node for cpu in machine.cpus}
    by_node: dict[int, list[Cache]] = {node.id: [] for node in machine.nodes}
    for cache in machine.caches:
        for node_id in {node_of[cpu] for cpu in cache.cpus}:
            by_node[node_id].append(cache)
    alike: dict[str, list[int]] = {}
    for node in machine.nodes:
        alike.setdefault(_told(node, by_node[node.id], node_of), []).append(node.id)
    return [
        f"caches of {nodes_text(nodes)}{', each' if len(nodes) > 1 else ''}: {told}"
        for told, nodes in alike.items()
        if told
    ]


def _told(node: NumaNode, caches: Iterable[Cache], node_of: Mapping[int, int]) -> str:
    sizes: dict[str, Counter[str]] = {}
    for cache in sorted(caches, key=lambda one: (-one.level, one.kind)):
        nodes = sorted({node_of[cpu] for cpu in cache.cpus})
        shared = f" of NUMA nodes {format_cpulist(nodes)}" if len(nodes) > 1 else ""
        sizes.setdefault(cache_name(cache), Counter())[format_bytes(cache.size) + shared] += 1
    told = [f"{name} {', '.join(_times(number, size) for size, number in sizes[name].items())}" for name in sizes]
    told += [f"in front of its memory {format_bytes(side.size)}" for side in node.side_caches]
    return "; ".join(told)


def _times(number: int, size: str) -> str:
    return f"{number} x {size}" if number > 1 else size
