"""The graph of a machine's system devices, for programs: what holds what, and what two cost that meet there."""

from collections.abc import Iterator
from typing import Any

from numaproof.fake_sysfs import Machine, PciDevice
from numaproof.fake_sysfs.cost_table import PER_BRIDGE
from numaproof.fake_sysfs.device_costs import device_costs
from numaproof.harness.cost.machine_system import system_of
from numaproof.harness.cost.names import cpu_id
from numaproof.harness.cost.system import CpuGroup
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of


def system_as_json(machine: Machine) -> dict[str, Any]:
    """NUMA nodes with their groups of CPUs, devices that plugins offer with the bridges above them, direct links."""
    system = system_of(machine)
    devices = [one for root in machine.pci for device in root.devices for one in _devices(device, [])]
    return {
        "nodes": [
            {
                "id": node,
                "distances": {str(other): distance for other, distance in system.distances[node].items()},
                "memory": f"memory/node{node}" if node in system.memory else None,
                "cpus": _group(system.cpus[node]) if node in system.cpus else None,
            }
            for node in machine.node_ids
        ],
        "per_bridge": PER_BRIDGE,
        "devices": devices,
        "links": list(_links(machine)),
    }


def _group(group: CpuGroup) -> dict[str, Any]:
    """CPUs that belong to no smaller group, the smaller groups, and what two of different ones cost."""
    return {
        "between": group.between,
        "cpus": [cpu_id(cpu) for cpu in group.cpus],
        "parts": [_group(part) for part in group.parts],
    }


def _devices(device: PciDevice, bridges: list[str]) -> Iterator[dict[str, Any]]:
    if device.is_bridge:
        for child in device.children:
            yield from _devices(child, [*bridges, device.address])
        return
    for one, is_vf in ((device, False), *((vf, True) for vf in device.vfs)):
        kind = kind_of(device.class_code, is_vf=is_vf)
        if kind is not None:
            yield {
                "address": one.address,
                "resource": USUAL_RESOURCES[kind],
                "numa_node": device.numa_node,
                "bridges": bridges,
            }


def _links(machine: Machine) -> Iterator[dict[str, Any]]:
    linked = sorted({end for link in machine.links for end in (link.a, link.b)})
    for cost in device_costs(machine, linked, linked) if linked else ():
        if cost.domain == "pci":
            yield from ({"between": [a, b], "cost": cost.cost} for a in cost.sources for b in cost.targets if a < b)
