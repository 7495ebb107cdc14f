"""The costs between all that a machine has: what the kernel tells, and what plugins would report if they all did."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.device_costs import DeviceCost, device_costs
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
        reports.append(Report(resource, tuple(entries_of(resource, found, resource_of))))
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


def entries_of(resource: str, found: Iterable[DeviceCost], resource_of: Mapping[str, str]) -> Iterator[Entry]:
    """The costs of a resource's devices as entries; what is nobody's resource is left out."""
    for cost in found:
        if cost.domain != "pci":
            yield Entry(resource, cost.sources, cost.domain, cost.targets, Fraction(cost.cost))
            continue
        targets: dict[str, list[str]] = defaultdict(list)
        for address in cost.targets:
            if address in resource_of:
                targets[resource_of[address]].append(address)
        for to_resource, addresses in targets.items():
            yield Entry(resource, cost.sources, to_resource, tuple(addresses), Fraction(cost.cost))
