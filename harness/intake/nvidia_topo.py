"""The devices that `nvidia-smi topo -m` tells: GPUs and NICs, and their NUMA nodes."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from numaproof.errors import UserError
from numaproof.harness.intake.nvidia_table import CPUS, GPU, NEAR, NIC, NUMA, Row, is_known, read_table
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import MAX_NODE

_UNTOLD = ("", "N/A", "-", "-1")
_RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


@dataclass(frozen=True, slots=True)
class NvidiaTopo:
    """The devices of a table, and what was assumed."""

    gpus: tuple[Device, ...]
    nics: tuple[Device, ...]
    notes: tuple[str, ...]


def read_nvidia_topo(
    text: str, where: str, cpus_by_node: Mapping[int, Collection[int]] | None = None
) -> NvidiaTopo | None:
    """The devices of an output of `nvidia-smi topo -m`; None: the text does not hold one.

    `cpus_by_node` tells the NUMA node of a GPU of which only the CPUs are told.
    """
    table = read_table(text, where)
    if table is None:
        return None
    columns, rows = table.columns, table.rows
    between = _connections(rows, columns)
    notes = _Notes(where)
    unnamed = columns.count(None)
    if unnamed:
        notes.say(f"{unnamed} columns have no name, since the header is cut off; what stands there is left out")
    for kind in sorted({kind for kind in between.values() if not is_known(kind)})[:3]:
        notes.say(f"{kind} is a connection that is not known; taken as one that tells of no NUMA node")
    gpus = tuple(
        Device(name, _gpu_nodes(name, rows.get(name), cpus_by_node, notes))
        for name in columns
        if name is not None and GPU.fullmatch(name)
    )
    nics = tuple(_nics(columns, gpus, between, table.legend, notes, where))
    return NvidiaTopo(gpus, nics, notes.lines())


class _Notes:
    """What was assumed; devices of which the same is to be said share a line."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._devices: dict[str, list[str]] = {}

    def say(self, text: str, device: str | None = None) -> None:
        self._devices.setdefault(text, []).extend([device] if device is not None else [])

    def lines(self) -> tuple[str, ...]:
        told = ((f"{names_text(names)}: " if names else "") + text for text, names in self._devices.items())
        return tuple(f"{self._where}: {one}" for one in told)


def names_text(names: Sequence[str]) -> str:
    """Names for a sentence, however many there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _connections(rows: Mapping[str, Row], columns: Sequence[str | None]) -> dict[tuple[str, str], str]:
    """How two devices are connected, both ways; the two lines that tell it agree."""
    found: dict[tuple[str, str], str] = {}
    for row in rows.values():
        for other, cell in zip(columns, row.cells, strict=True):
            if other is None or other == row.name:
                continue
            if found.setdefault((row.name, other), cell) != cell:
                earlier = found[row.name, other]
                raise UserError(
                    f"{row.place}: {row.name} and {other} are {cell} here and {earlier} in the line of {other}; "
                    "copy the table again"
                )
            found[other, row.name] = cell
    return found


def _gpu_nodes(
    name: str, row: Row | None, cpus_by_node: Mapping[int, Collection[int]] | None, notes: _Notes
) -> tuple[int, ...] | None:
    without = "taken as a device without a NUMA node"
    if row is None:
        notes.say(f"the line is cut off; {without}", name)
        return None
    if row.numa not in _UNTOLD:
        nodes = _told_nodes(row)
        with_cpus = tuple(node for node in nodes if cpus_by_node and cpus_by_node.get(node))
        if with_cpus and with_cpus != nodes:
            # The memory of a GPU may be NUMA nodes of its own; the kernel tells a plugin the node of the CPUs.
            notes.say("of its NUMA Affinity, the NUMA nodes that have CPUs are taken", name)
            return with_cpus
        return nodes
    if row.cpus in _UNTOLD or not cpus_by_node:
        notes.say(f"nvidia-smi tells no NUMA Affinity; {without}", name)
        return None
    ranges = _ranges(row, CPUS, row.cpus)
    ordered = {node: sorted(cpus) for node, cpus in cpus_by_node.items() if cpus}
    nodes = tuple(sorted(node for node, cpus in ordered.items() if any(_meet(cpus, *one) for one in ranges)))
    if not nodes or len(nodes) == len(ordered) > 1:
        # The kernel lists every CPU for a device of which it does not know the NUMA node.
        which = "every NUMA node" if nodes else "no NUMA node"
        notes.say(f"the CPU Affinity is that of {which}; {without}", name)
        return None
    notes.say("the NUMA node is that of the CPU Affinity", name)
    return nodes


def _told_nodes(row: Row) -> tuple[int, ...]:
    ranges = _ranges(row, NUMA, row.numa)
    highest = max(high for _, high in ranges)
    if highest > MAX_NODE:
        raise UserError(f"{row.place}: {row.name} is on NUMA node {highest}, and the kubelet's masks end at {MAX_NODE}")
    return tuple(sorted({node for low, high in ranges for node in range(low, high + 1)}))


def _ranges(row: Row, title: str, cell: str) -> list[tuple[int, int]]:
    """The ranges of a list of ids, not unfolded: a hostile one would be long."""
    found = []
    for part in cell.split(","):
        match = _RANGE.fullmatch(part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if high < low:
            raise UserError(
                f"{row.place}: {row.name}: {title} {cell[:60]!r} is not a list such as 0-3,8; copy the table again"
            )
        found.append((low, high))
    return found


def _meet(ordered: Sequence[int], low: int, high: int) -> bool:
    i = bisect_left(ordered, low)
    return i < len(ordered) and ordered[i] <= high


def _nics(
    columns: Sequence[str | None],
    gpus: Sequence[Device],
    between: Mapping[tuple[str, str], str],
    legend: Mapping[int, str],
    notes: _Notes,
    where: str,
) -> Iterator[Device]:
    """The NICs, each on the NUMA node of the GPUs that are nearest to it."""
    seen: set[str] = set()
    for name in columns:
        if name is None or GPU.fullmatch(name):
            continue
        match = NIC.fullmatch(name)
        shown = legend.get(int(match[1]), name) if match else name
        if shown in seen:
            raise UserError(f"{where}: two NICs are named {shown} in this nvidia-smi topo -m; copy its legend again")
        seen.add(shown)
        by_kind = ({one.numa for one in gpus if one.numa and between.get((name, one.id)) == kind} for kind in NEAR)
        nearest = next(filter(None, by_kind), set())
        if len(nearest) != 1:
            why = "the nearest GPUs are on several NUMA nodes" if nearest else "no GPU of a known NUMA node is near"
            notes.say(f"{why}; taken as a NIC without a NUMA node", shown)
        yield Device(shown, nearest.pop() if len(nearest) == 1 else None)
