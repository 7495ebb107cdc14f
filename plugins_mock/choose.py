"""From what a user asks for to the devices and the preference of a fake plugin."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.strict_yaml import YamlError, read
from numaproof.near import did_you_mean
from numaproof.plugins_mock.boards import BOARDS
from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.kinds import Kind
from numaproof.plugins_mock.links import Links, best_partition, best_sets, links_of
from numaproof.plugins_mock.service import Preferred
from numaproof.plugins_mock.sysfs import pci_functions

_KEYS = ("id", "numa", "healthy", "links")  # of a device in a file
PREFERENCES = ("links", "partition", "lowest", "none")


def numbered_devices(count: int, numa: Sequence[int]) -> tuple[MockDevice, ...]:
    """`count` devices named by their numbers, spread evenly over the NUMA nodes in blocks."""
    if count < 0:
        raise PluginError(f"--count {count}: give a number of devices from 0 on")
    return tuple(
        MockDevice(str(number), (numa[number * len(numa) // count],) if numa else None) for number in range(count)
    )


def parse_device(text: str) -> MockDevice:
    """A device from `ID`, `ID=NODE`, `ID=NODE,NODE` or `ID=`, a topology without nodes; `ID=NODE!` is unhealthy."""
    words, sick = text.removesuffix("!"), text.endswith("!")
    device_id, told, nodes = words.partition("=")
    try:
        numa = tuple(int(node) for node in nodes.split(",") if nodes) if told else None
    except ValueError:
        raise PluginError(f"--device {text}: {nodes!r} is not a list of NUMA nodes; write ID=0 or ID=0,1") from None
    return MockDevice(device_id, numa, not sick)


def read_devices(path: Path) -> tuple[tuple[MockDevice, ...], Links]:
    """Devices and links of a YAML file: a list of `{id: a, numa: [0], links: {b: 2}}`; without `numa` no topology."""
    try:
        document = read(path)
    except YamlError as error:
        raise PluginError(str(error)) from None
    rows, where = document.value, document.where
    if not isinstance(rows, list):
        raise PluginError(f"{where}: is not a list; write one entry a device: - {{id: a, numa: [0]}}")
    devices = tuple(_device(row, str(where.at(number))) for number, row in enumerate(rows))
    return devices, links_of({str(row["id"]): row.get("links", {}) for row in rows})


def _device(row: Any, where: str) -> MockDevice:
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), str | int):
        raise PluginError(f"{where}: {row!r} is not a device; write {{id: a, numa: [0]}}")
    unknown = sorted(set(row) - set(_KEYS), key=str)
    if unknown:
        raise PluginError(
            f"{where}: unknown key {unknown[0]!r}; known: {', '.join(_KEYS)}{did_you_mean(unknown[0], _KEYS)}"
        )
    numa = row.get("numa")
    numa = [numa] if isinstance(numa, int) else numa
    if numa is not None and not (isinstance(numa, list) and all(isinstance(node, int) for node in numa)):
        raise PluginError(f"{where}.numa: {numa!r} is not a list of NUMA nodes; write [0] or [0, 1]")
    if not isinstance(row.get("healthy", True), bool):
        raise PluginError(f"{where}.healthy: {row['healthy']!r} is neither true nor false")
    links = row.get("links", {})
    if not isinstance(links, Mapping) or not all(isinstance(count, int) for count in links.values()):
        raise PluginError(f"{where}.links: {links!r} is not a mapping of devices to numbers; write {{b: 2}}")
    return MockDevice(str(row["id"]), None if numa is None else tuple(numa), row.get("healthy", True))


def machine_devices(kind: Kind, root: Path) -> tuple[MockDevice, ...]:
    """The devices of a kind in the machine whose sysfs lies below `root`, named by their PCI addresses."""
    # What the firmware does not say a plugin does not invent.
    return tuple(MockDevice(found.address, found.numa or None) for found in pci_functions(root) if kind.offers(found))


def machine_links(root: Path) -> dict[tuple[str, str], int]:
    """The device links of a synthetic machine; none where the tree does not tell."""
    try:
        told = json.loads((root / "sys/devices/system/numaproof.json").read_text())
        return {(str(a), str(b)): int(count) for a, b, count in told.get("links", ())}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def board_devices(name: str) -> tuple[tuple[MockDevice, ...], Links]:
    """The GPUs and links of a board by name."""
    if name not in BOARDS:
        raise PluginError(f"--board {name}: no such board; known: {', '.join(BOARDS)}{did_you_mean(name, BOARDS)}")
    board = BOARDS[name]
    return tuple(MockDevice(gpu, numa) for gpu, numa in board.numa.items()), board.links


def preference(name: str, links: Links, devices: Sequence[MockDevice]) -> Preferred | None:
    """A way to prefer sets of devices: by links, by links without overlaps, or the lowest ids; None: no preference."""
    numa = {device.id: device.numa or () for device in devices}
    if name == "links":
        return lambda available, must, size: best_sets(links, available, must, size)
    if name == "partition":
        return lambda available, must, size: best_partition(links, numa, available, must, size)
    if name == "lowest":
        return _lowest
    return None


def _lowest(available: Sequence[str], must_include: Sequence[str], size: int) -> list[list[str]]:
    order = {device: number for number, device in enumerate(sorted(available))}
    others = [device for device in order if device not in must_include]
    chosen = [*sorted(must_include), *others][:size]
    fits = len(chosen) == size and size >= len(must_include) and set(must_include) <= set(available)
    return [sorted(chosen)] if fits and size else []
