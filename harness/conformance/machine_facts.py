"""What a machine says about NUMA nodes and PCI devices."""

from numaproof import fake_sysfs
from numaproof.harness.conformance.finding import Facts


def facts_of(machine: str) -> Facts:
    """The facts of a machine by its argument; an odd host, whose own sysfs cannot be read, has none."""
    try:
        found = fake_sysfs.parse_machine(machine)
    except fake_sysfs.MachineError:
        if machine != "host":
            raise
        return Facts()
    return Facts(frozenset(found.node_ids), {device.address.lower(): device.numa_node for device in found.devices()})
