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
    words: list[str] = []
    runs: list[tuple[str, int, int]] = []  # prefix, first, last: of the words, as far as they are runs
    for one in sorted(ids, key=natural):
        found = re.fullmatch(r"(.*?)(\d+)", one)
        # A number with zeros before it is not counted on: 07 and 8 are no run.
        if found is None or (found[2] != "0" and found[2].startswith("0")):
            runs.append(("", -1, -1))
            words.append(one)
            continue
        prefix, number = found[1], int(found[2])
        if runs and runs[-1][0] == prefix and runs[-1][2] == number - 1 and runs[-1][1] >= 0:
            first = runs[-1][1]
            runs[-1] = (prefix, first, number)
            words[-1] = f"{words[-1].partition('-')[0] if first != number - 1 else words[-1]}-{number}"
        else:
            same = bool(runs) and runs[-1][1] >= 0 and runs[-1][0] == prefix
            runs.append((prefix, number, number))
            words.append(str(number) if same else one)
    return ",".join(words)
