"""What the tests of texts share: reading a text that must be a machine, and one that must be refused."""

import pytest

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.texts.read_text import read_text

GIB = 1 << 30


def machine_of(text: str) -> Machine:
    """The machine that a text must tell of."""
    machine = read_text(text, "pasted.txt", "pasted")
    assert machine is not None, text
    return machine


def assumed(machine: Machine) -> list[str]:
    """What is said to be assumed; a machine of a text has no other notes."""
    assert all(note.startswith("assumed: ") for note in machine.notes)
    return [note.removeprefix("assumed: ") for note in machine.notes]


def cores(machine: Machine) -> list[tuple[int, ...]]:
    """The CPUs of each core, in order."""
    keys = {(cpu.package, cpu.core) for cpu in machine.cpus}
    return sorted(tuple(cpu.id for cpu in machine.cpus if (cpu.package, cpu.core) == key) for key in keys)


def refusal(text: str) -> str:
    """The one line with which a text is refused."""
    with pytest.raises(MachineError) as caught:
        read_text(text, "pasted.txt", "pasted")
    line = str(caught.value)
    assert line.startswith("pasted.txt: ")
    assert "\n" not in line
    return line


def survives_every_prefix(text: str) -> int:
    """Read a text cut off anywhere: each is a machine, no such text at all, or refused in a line; how many machines."""
    found = 0
    refusals = []
    for end in range(len(text) + 1):
        try:
            found += read_text(text[:end], "cut.txt", "cut") is not None
        except MachineError as error:
            refusals.append(str(error))
    assert [line for line in refusals if "\n" in line] == []
    return found
