"""What lscpu, numactl and lstopo print, as NUMA nodes that can be compared with a machine's."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import parse_cpulist, parse_mask


@dataclass(frozen=True, slots=True)
class View:
    """NUMA nodes as somebody sees them; what is empty is not shown by that one."""

    cpus: dict[int, tuple[int, ...]] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)  # MiB, rounded down
    distances: dict[int, tuple[int, ...]] = field(default_factory=dict)


def machine_view(machine: Machine) -> View:
    """The view that everybody should have."""
    return View(
        machine.cpus_by_node(),
        {node.id: node.memory >> 20 for node in machine.nodes},
        {node.id: node.distances for node in machine.nodes},
    )


def lscpu_view(text: str) -> View:
    """`lscpu`: CPUs only."""
    rows = re.findall(r"^NUMA node(\d+) CPU\(s\):[ \t]*(.*)$", text, re.MULTILINE)
    return View({int(node): parse_cpulist(cpus) for node, cpus in rows})


def numactl_view(text: str) -> View:
    """`numactl -H`: all of it."""
    return View(
        {int(n): tuple(map(int, c.split())) for n, c in re.findall(r"^node (\d+) cpus:(.*)$", text, re.MULTILINE)},
        {int(n): int(size) for n, size in re.findall(r"^node (\d+) size: (\d+) MB$", text, re.MULTILINE)},
        {int(n): tuple(map(int, row.split())) for n, row in re.findall(r"^ *(\d+): +(.*)$", text, re.MULTILINE)},
    )


def lstopo_view(text: str) -> View:
    """`lstopo --of xml`: all of it; of a machine with one node it knows no distances."""
    top = ET.fromstring(text.encode())
    view = View()
    for item in top.iter("object"):
        if item.get("type") == "NUMANode":
            node = int(item.attrib["os_index"])
            # hwloc writes 0x before each group of a mask and leaves groups of zeros empty.
            groups = [group.removeprefix("0x") or "0" for group in item.attrib["cpuset"].split(",")]
            view.cpus[node] = parse_mask(",".join(groups))
            view.memory[node] = int(item.get("local_memory", "0")) >> 20
    for matrix in top.iter("distances2"):
        if matrix.get("name") == "NUMALatency":
            ids = [int(word) for part in matrix.iter("indexes") for word in (part.text or "").split()]
            values = [int(word) for part in matrix.iter("u64values") for word in (part.text or "").split()]
            for row, node in enumerate(ids):
                view.distances[node] = tuple(values[row * len(ids) : (row + 1) * len(ids)])
    return view


def view_differences(who: str, seen: View, expected: View) -> Iterator[str]:
    """How what somebody sees differs from what is there; what they do not show is not compared."""
    for what in ("cpus", "memory", "distances"):
        shown, wanted = getattr(seen, what), getattr(expected, what)
        if shown and shown != wanted:
            nodes = [node for node in sorted({*shown, *wanted}) if shown.get(node) != wanted.get(node)]
            yield (
                f"{who} sees other {what} than the machine has, first of node {nodes[0]}: "
                f"{shown.get(nodes[0])} instead of {wanted.get(nodes[0])}"
            )
