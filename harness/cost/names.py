"""How the instances of resources are called: `intel.com/fpga/fpga1`, `cpu/cpu7`, `memory/node1`, and ranges of them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from numaproof.fake_sysfs.instance_names import parse_names

__all__ = [
    "CPU",
    "MEMORY",
    "Instance",
    "cpu_id",
    "format_ids",
    "layer_order",
    "natural",
    "node_id",
    "number_of",
    "parse_names",
]

CPU = "cpu"
MEMORY = "memory"

_DIGITS = re.compile(r"(\d+)")
# A number with zeros before it is not counted on: 07 and 8 are no run.
_NUMBERED = re.compile(r"(?P<prefix>(?:.*\D)?)(?P<number>0|[1-9]\d*)")
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class Instance(NamedTuple):
    """One device, one CPU, one memory node: its resource, and its id among the resource's."""

    resource: str
    id: str

    def __str__(self) -> str:
        return f"{self.resource}/{self.id}"


def cpu_id(number: int) -> str:
    """The id of a CPU, by its number in the kernel."""
    return f"cpu{number}"


def node_id(number: int) -> str:
    """The id of a NUMA node's memory, by the node's number in the kernel."""
    return f"node{number}"


def number_of(instance_id: str) -> int:
    """The kernel's number in `cpu7` or `node1`; ValueError on any other id."""
    return int(instance_id.removeprefix("cpu").removeprefix("node"))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Key that sorts `card2` before `card10`, and PCI addresses, whose numbers are hexadecimal, as they are."""
    if _PCI_ADDRESS.fullmatch(text):
        return ((1, 0, text),)
    parts = _DIGITS.split(text)
    return tuple((0, int(part), part) if part.isdigit() else (1, 0, part) for part in parts if part)


def layer_order(resource: str) -> tuple[int, str]:
    """Key that sorts resources into the order of their layers: cpu on top, memory, then devices by name."""
    return {CPU: 0, MEMORY: 1}.get(resource, 2), resource


def format_ids(ids: Iterable[str]) -> str:
    """`cpu0-3,8` for the ids cpu0, cpu1, cpu2, cpu3 and cpu8: short enough to stand in a drawing."""
    runs: list[tuple[str, int, int]] = []  # what stands before the number, first and last number; -1: there is none
    for one in sorted(ids, key=natural):
        found = _NUMBERED.fullmatch(one)
        if found is None:
            runs.append((one, -1, -1))
            continue
        prefix, number = found["prefix"], int(found["number"])
        if runs and runs[-1][0] == prefix and runs[-1][2] == number - 1 >= 0:
            runs[-1] = (prefix, runs[-1][1], number)
        else:
            runs.append((prefix, number, number))
    words = []
    before: str | None = None
    for prefix, first, last in runs:
        numbers = "" if first < 0 else str(first) if first == last else f"{first}-{last}"
        words.append(numbers if prefix == before and numbers else prefix + numbers)
        before = prefix if numbers else None
    return ",".join(words)
