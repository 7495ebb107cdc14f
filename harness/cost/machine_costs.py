"""The costs between all that a machine has: what the kernel tells, and what plugins would report if they all did."""

from collections import defaultdict
from fractions import Fraction

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.device_costs import by_resource, device_costs
from numaproof.harness.cost.costs import Costs, Entry, Report, Unlisted
from numaproof.harness.cost.machine_system import system_of
from numaproof.harness.cost.names import CPU, MEMORY, cpu_id, node_id
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of


def machine_costs(machine: Machine, unlisted: Unlisted = "nothing") -> Costs:
    """CPUs, memory nodes, and the PCI devices of every kind under its usual resource, as far as there are any."""
    system = system_of(machine)
    resources = resources_of(machine)
    resource_of = {address: resource for resource, addresses in resources.items() for address in addresses}
    everything = tuple(resource_of)
    reports = []
    for resource, addresses in resources.items():
        found = device_costs(machine, addresses, everything)
        entries = tuple(
            Entry(resource, ids, to_resource, to_ids, Fraction(cost))
            for ids, to_resource, to_ids, cost in by_resource(found, resource_of)
        )
        reports.append(Report(resource, entries))
    instances = {
        CPU: tuple(map(cpu_id, machine.cpu_ids)),
        MEMORY: tuple(map(node_id, system.memory)),
        **resources,
    }
    return Costs(instances, tuple(reports), system, unlisted)


def resources_of(machine: Machine) -> dict[str, tuple[str, ...]]:
    """The PCI devices by the resource under which they are usually offered."""
    virtual = {function.address for device in machine.devices() for function in device.vfs}
    found: dict[str, list[str]] = defaultdict(list)
    for device in machine.devices():
        kind = kind_of(device.class_code, is_vf=device.address in virtual)
        if kind is not None and not device.is_bridge:
            found[USUAL_RESOURCES[kind]].append(device.address)
    return {resource: tuple(addresses) for resource, addresses in sorted(found.items())}
