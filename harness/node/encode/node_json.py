"""The node as its HTTP side shows it: a Node with the NUMA proposal's topology, and cAdvisor's machine."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from numaproof.fake_sysfs import Cache, Machine
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.affinity.node_topology import ZoneStatus, quantities
from numaproof.harness.decision.fit import whole_amounts
from numaproof.harness.node.snapshot import NodeSnapshot
from numaproof.harness.pods.taints import Taint


def node_json(snapshot: NodeSnapshot) -> dict[str, Any]:
    """The Node: its taints, and in its status what there is, as a whole and by NUMA node."""
    topology = snapshot.topology
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": topology.name},
        "spec": {"taints": [_taint(taint) for taint in topology.taints]} if topology.taints else {},
        "status": {
            "capacity": _resources(snapshot.capacity),
            "allocatable": _resources(snapshot.allocatable),
            "topology": {"numaNodes": [_numa_node(zone) for zone in topology.zones]},
        },
    }


def _taint(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}


def _resources(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    return quantities(whole_amounts(amounts))


def _numa_node(zone: ZoneStatus) -> dict[str, Any]:
    return {
        "numaNodeID": str(zone.id),
        "capacity": quantities(zone.capacity),
        "allocatable": quantities(zone.allocatable),
        "cpuSet": format_cpulist(zone.cpu_set),
    }


def machine_json(machine: Machine) -> dict[str, Any]:
    """The machine as cAdvisor's MachineInfo has it (google/cadvisor, info/v1): cores and memory by NUMA node."""
    online = [cpu for cpu in machine.cpus if cpu.online]
    pages = dict.fromkeys(machine.hugepage_sizes, 0)
    for node in machine.nodes:
        for one in node.hugepages:
            pages[one.size_kb] = pages.get(one.size_kb, 0) + one.pages
    return {
        "num_cores": len(online),
        "num_physical_cores": len({(cpu.package, cpu.core) for cpu in online}),
        "num_sockets": len({cpu.package for cpu in online}),
        "cpu_frequency_khz": machine.mhz * 1000,
        "memory_capacity": sum(node.memory for node in machine.nodes),
        "hugepages": _pages(pages),
        "topology": _topology(machine, sorted(pages)),
    }


def _topology(machine: Machine, page_sizes: list[int]) -> list[dict[str, Any]]:
    cores: dict[int, dict[tuple[int, int], list[int]]] = {node.id: {} for node in machine.nodes}
    for cpu in machine.cpus:
        if cpu.online:
            cores[cpu.node].setdefault((cpu.package, cpu.core), []).append(cpu.id)
    caches: dict[int, list[Cache]] = {}
    for cache in machine.caches:
        for cpu_id in cache.cpus:
            caches.setdefault(cpu_id, []).append(cache)
    return [
        {
            "node_id": node.id,
            "memory": node.memory,
            "hugepages": _pages(dict.fromkeys(page_sizes, 0) | {one.size_kb: one.pages for one in node.hugepages}),
            "distances": list(node.distances),
            "cores": [
                {
                    "core_id": core,
                    "thread_ids": threads,
                    "socket_id": package,
                    "caches": [_cache(one) for one in caches.get(threads[0], ())],
                }
                for (package, core), threads in sorted(cores[node.id].items())
            ],
        }
        for node in machine.nodes
    ]


def _pages(pages: Mapping[int, int]) -> list[dict[str, int]]:
    return [{"page_size": size, "num_pages": count} for size, count in sorted(pages.items())]


def _cache(cache: Cache) -> dict[str, Any]:
    return {"id": cache.id, "size": cache.size, "type": cache.kind, "level": cache.level}
