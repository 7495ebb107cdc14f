"""Devices as blocks: what plugins offer, or PCI functions that they usually would; by node, and by bridge."""

from collections.abc import Iterable
from typing import NamedTuple

from numaproof.fake_sysfs.machine import Machine, PciDevice
from numaproof.harness.drawing.blocks import DeviceBlock, DeviceGroup
from numaproof.harness.drawing.holders import Holders
from numaproof.harness.drawing.marks import Mark, order
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.words import clean, count, ids_text
from numaproof.harness.vocabulary import is_nic, kind_of

MOST_DEVICES = 16  # of a resource that are shown one by one in one place
_LONGEST_KIND = 24
_LONGEST_ID = 36


class _Device(NamedTuple):
    kind: str
    resource: str  # empty: a PCI function that no plugin was said to offer
    id: str
    numa: tuple[int, ...]
    healthy: bool


class Devices:
    """The devices of a scene, each in one place: its NUMA node, or elsewhere."""

    def __init__(self, scene: Scene, holders: Holders) -> None:
        self._holders = holders
        self._bridges = _bridges(scene.machine)
        self._by_node: dict[int, list[_Device]] = {}
        self._nowhere: list[_Device] = []
        self._spread: list[_Device] = []
        self._strange: list[_Device] = []
        self._known = frozenset(scene.machine.node_ids)
        for device in _offered(scene) if scene.devices else _usual(scene.machine):
            if not device.numa:
                self._nowhere.append(device)
            elif not self._known.issuperset(device.numa):
                self._strange.append(device)
            elif len(device.numa) > 1:
                self._spread.append(device)
            else:
                self._by_node.setdefault(device.numa[0], []).append(device)

    def of_node(self, node: int, *, folded: bool) -> tuple[DeviceGroup, ...]:
        """The devices of one NUMA node alone."""
        return self._groups(self._by_node.get(node, []), MOST_DEVICES if not folded else 0)

    def elsewhere(self) -> tuple[tuple[str, tuple[DeviceGroup, ...]], ...]:
        """Those of several NUMA nodes, of nodes that are not there, and of none."""
        found = (
            ("of several NUMA nodes", self._spread),
            ("of NUMA nodes that this machine does not have", self._strange),
            ("of no NUMA node", self._nowhere),
        )
        return tuple((name, self._groups(devices, MOST_DEVICES)) for name, devices in found if devices)

    def marks(self) -> set[Mark]:
        """The marks that occur."""
        everything = (*self._by_node.values(), self._nowhere, self._spread, self._strange)
        return {self._holders.device(device.id) for devices in everything for device in devices}

    def _groups(self, devices: list[_Device], most: int) -> tuple[DeviceGroup, ...]:
        by_resource: dict[tuple[str, str], list[_Device]] = {}
        for device in devices:
            by_resource.setdefault((device.resource, device.kind), []).append(device)
        single = {id(one) for alike in by_resource.values() if len(alike) <= most for one in alike}
        by_bridge: dict[str, list[_Device]] = {}
        for device in devices:
            if id(device) in single:
                by_bridge.setdefault(self._bridges.get(device.id, ""), []).append(device)
        alone = {id(one) for bridge, members in by_bridge.items() if not bridge or len(members) == 1 for one in members}
        groups = [
            DeviceGroup(bridge, tuple(map(self._block, members)))
            for bridge, members in by_bridge.items()
            if bridge and len(members) > 1
        ]
        blocks = [self._block(device) for device in devices if id(device) in alone]
        for alike in by_resource.values():
            if len(alike) > most:
                blocks += self._tally(alike)
        if blocks:
            groups.append(DeviceGroup("", tuple(blocks)))
        return tuple(groups)

    def _block(self, device: _Device) -> DeviceBlock:
        told = len(device.numa) > 1 or not self._known.issuperset(device.numa)
        places = f" on node{'' if len(device.numa) == 1 else 's'} {ids_text(device.numa)}" if told else ""
        shown = clean(device.id, _LONGEST_ID) or "?"
        ill = "" if device.healthy else ", unhealthy"
        resource = clean(device.resource, 80) or device.kind
        return DeviceBlock(
            f"{device.kind} {shown}{places}",
            self._holders.device(device.id),
            device.healthy,
            f"{resource} {shown}{ill}: {self._holders.device_names(device.id)}",
        )

    def _tally(self, alike: list[_Device]) -> Iterable[DeviceBlock]:
        """Devices of one resource, those of one holder together."""
        numbers: dict[tuple[Mark, bool], int] = {}
        for device in alike:
            key = (self._holders.device(device.id), device.healthy)
            numbers[key] = numbers.get(key, 0) + 1
        kind = alike[0].kind
        resource = clean(alike[0].resource, 80) or kind
        for (mark, healthy), number in sorted(numbers.items(), key=lambda one: (order(one[0][0]), not one[0][1])):
            ill = "" if healthy else ", unhealthy"
            tip = f"{resource}: {count(number, 'device')}{ill}: {self._holders.name(mark)}"
            yield DeviceBlock(f"{number} x {kind}", mark, healthy, tip, number)


def _offered(scene: Scene) -> list[_Device]:
    ends: dict[str, set[str]] = {}
    for mark in scene.devices:
        ends.setdefault(mark.resource.rpartition("/")[2], set()).add(mark.resource)
    found = []
    for mark in sorted(scene.devices, key=lambda one: (one.resource, len(one.id), one.id)):
        end = mark.resource.rpartition("/")[2]
        kind = clean(end if len(ends[end]) == 1 else mark.resource, _LONGEST_KIND) or "?"
        found.append(_Device(kind, mark.resource, mark.id, tuple(sorted(set(mark.numa))), mark.healthy))
    return found


def _usual(machine: Machine) -> list[_Device]:
    """PCI functions of the kinds that plugins offer, network cards called by what they are."""
    virtual = {function.address for device in machine.devices() for function in device.vfs}
    found = []
    for device in machine.devices():
        kind = None if device.is_bridge else kind_of(device.class_code, is_vf=device.address in virtual)
        if kind is not None:
            if is_nic(device.class_code):
                kind = "vf" if device.address in virtual else "nic"
            numa = (device.numa_node,) if device.numa_node >= 0 else ()
            found.append(_Device(kind, "", device.address, numa, healthy=True))
    return sorted(found, key=lambda one: one.kind)


def _bridges(machine: Machine) -> dict[str, str]:
    """The address of each PCI function -> the outermost bridge that it is behind; a virtual function's is its card."""
    found: dict[str, str] = {}
    for root in machine.pci:
        for device in root.devices:
            if device.is_bridge:
                found.update((inner.address, device.address) for inner in device.walk() if inner is not device)
            else:
                found.update(_card(device))
    return found


def _card(device: PciDevice) -> Iterable[tuple[str, str]]:
    return ((function.address, device.address) for function in device.vfs)
