"""The PCI side of a machine as a machine file says it."""

from collections.abc import Sequence
from typing import Any

from numaproof.fake_sysfs.describe_pci import CLASSES, mac_of
from numaproof.fake_sysfs.machine import Machine, NetInterface, PciDevice

_NAMES = {number: name for name, number in CLASSES.items()}


def pci_keys(machine: Machine) -> dict[str, Any]:
    """`pci` and `links`, each where there is something to say."""
    roots = []
    for root in machine.pci:
        node = root.devices[0].numa_node if root.devices else -1
        told: dict[str, Any] = {"root": f"{root.domain:04x}:{root.bus:02x}", "node": node}
        roots.append({**told, "devices": _devices(root.devices, node)})
    links = [{"between": [link.a, link.b], "count": link.count} for link in machine.links]
    return {key: value for key, value in (("pci", roots), ("links", links)) if value}


def _devices(devices: Sequence[PciDevice], node: int) -> list[dict[str, Any]]:
    return [_device(device, node) for device in devices]


def _device(device: PciDevice, node: int) -> dict[str, Any]:
    told: dict[str, Any] = {"address": device.address, "id": f"{device.vendor:04x}:{device.device:04x}"}
    told["class"] = _NAMES.get(device.class_code, f"0x{device.class_code:06x}")
    if device.subsystem_vendor or device.subsystem_device:
        told["subsystem"] = f"{device.subsystem_vendor:04x}:{device.subsystem_device:04x}"
    if device.numa_node != node:
        told["node"] = device.numa_node
    if device.driver:
        told["driver"] = device.driver
    if device.bus_range is not None:
        told["buses"] = "-".join(f"{bus:02x}" for bus in device.bus_range)
    if device.net:
        told["net"] = [_net(one, device.address, index) for index, one in enumerate(device.net)]
    if device.infiniband:
        told["infiniband"] = list(device.infiniband)
    if device.iommu_group is not None:
        told["iommu-group"] = device.iommu_group
    if device.nodes:
        kinds = {True: "block", False: "char"}
        told["files"] = [f"{kinds[one.block]} {one.major}:{one.minor} {one.path}" for one in device.nodes]
    if device.bars:
        told["bars"] = [[hex(bar.start), hex(bar.end), hex(bar.flags)] for bar in device.bars]
    if device.total_vfs:
        told["vfs"] = _vfs(device)
    if device.children:
        told["devices"] = _devices(device.children, device.numa_node)
    return told


def _vfs(device: PciDevice) -> dict[str, Any]:
    told: dict[str, Any] = {"total": device.total_vfs, "count": len(device.vfs)}
    if not device.vfs:
        return told
    first = device.vfs[0]
    told |= {"id": f"{first.vendor:04x}:{first.device:04x}", "first": first.address}
    if first.driver:
        told["driver"] = first.driver
    if first.net:
        told["net"] = first.net[0].name.removesuffix("0")
    if first.iommu_group is not None:
        told["iommu-group"] = first.iommu_group
    return told


def _net(interface: NetInterface, address: str, index: int) -> str | dict[str, Any]:
    if interface == NetInterface(interface.name, mac_of(address, index)):
        return interface.name
    return {
        "name": interface.name,
        "address": interface.address,
        "mtu": interface.mtu,
        "speed": interface.speed,
    }
