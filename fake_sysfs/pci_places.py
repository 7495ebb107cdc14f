"""Where PCI functions stand: their host bridge, the bridges on the way to it, their NUMA node."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.pci import PciDevice
from numaproof.near import nearest

# Devices by their addresses, or whatever a predicate holds of.
Selection = Iterable[str] | Callable[[PciDevice], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where PCI functions stand; a virtual function stands where its card stands."""

    root: str  # the host bridge
    bridges: tuple[str, ...]  # from the host bridge down
    node: int  # -1: the firmware does not say

    @property
    def depth(self) -> int:
        """How many bridges lie between it and the host bridge."""
        return len(self.bridges)


def places(machine: Machine) -> dict[str, Place]:
    """The place of every PCI function."""
    return {
        address: place
        for root in machine.pci
        for device in root.devices
        for address, place in _below(device, root.name, ())
    }


def _below(device: PciDevice, root: str, bridges: tuple[str, ...]) -> Iterator[tuple[str, Place]]:
    for function in (device, *device.vfs):
        yield function.address, Place(root, bridges, function.numa_node)
    for child in device.children:
        yield from _below(child, root, (*bridges, device.address))


def bridges_between(a: Place, b: Place) -> int:
    """How many bridges a path between two places of one host bridge crosses."""
    common = 0
    for one, other in zip(a.bridges, b.bridges, strict=False):
        if one != other:
            break
        common += 1
    return a.depth + b.depth - 2 * common


def select(machine: Machine, devices: Selection, known: Mapping[str, Place]) -> tuple[str, ...]:
    """The addresses of a selection, each once, in their order; a MachineError names one that the machine lacks."""
    if callable(devices):
        return tuple(device.address for device in machine.devices() if devices(device))
    chosen = dict.fromkeys(devices)
    for address in chosen:
        if address not in known:
            near = nearest(address, known, 0)
            remedy = f"the nearest known address is {near}" if near else "it has no PCI devices at all"
            raise MachineError(f"{machine.name}: has no PCI device {address!r}; {remedy}")
    return tuple(device.address for device in machine.devices() if device.address in chosen)
