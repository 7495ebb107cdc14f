"""A machine in one line."""

from numaproof.fake_sysfs.machine import UNKNOWN, Machine
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.drawing.words import clean, count


def headline(machine: Machine) -> str:
    """How much of everything it has, and what it calls its CPUs, if that is known."""
    words = [
        count(len(machine.package_ids), "package"),
        count(len(machine.nodes), "NUMA node"),
        count(len(machine.cpu_ids), "CPU"),
        format_bytes(sum(node.memory for node in machine.nodes)),
    ]
    model = "" if machine.cpu_model == UNKNOWN else f"; {clean(machine.cpu_model, 60)}"
    return ", ".join(words) + model
