"""The PCI tree in lstopo's XML: host bridges, bridges, functions, their interfaces, and the NUMA nodes of these."""

import re
from collections import defaultdict
from collections.abc import Mapping

from numaproof.fake_sysfs.describe_pci import mac_of
from numaproof.fake_sysfs.machine import NetInterface, PciDevice, PciRoot
from numaproof.fake_sysfs.pci import format_address, split_address
from numaproof.fake_sysfs.texts.topology_xml import Element

_TYPE = re.compile(
    r"([0-9a-f]{4})(?::?([0-9a-f]{2}))? \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?.*", re.I
)
_BUSES = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-([0-9a-f]{2})\]", re.I)
_INTERFACE = re.compile(r"[^\s/:]{1,15}")
_RDMA = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2})+")
_PCI, _NET, _FABRIC = "1", "2", "3"  # as hwloc numbers the sides of bridges, and kinds of devices of the system
_INTERFACES = {0x0108: 0x02}  # hwloc tells no programming interface; an SSD's is NVMe's

Place = tuple[int, int]  # domain and bus


def read_pci(
    top: Element, cpus: Mapping[Element, list[int]], owner: Mapping[int, int], nodes: Mapping[Element, int]
) -> tuple[PciRoot, ...]:
    """All host bridges; `cpus`: those below each element, `owner`: the node of each CPU, `nodes`: the ids of nodes."""
    found: dict[Place, list[PciDevice]] = defaultdict(list)
    for element in top.walk():
        kind = element.get("type")
        above = element.above
        if kind == "Bridge" and not element.get("bridge_type").startswith(_PCI):
            buses = _BUSES.fullmatch(element.get("bridge_pci"))
            here = _devices(element, _node_of(element, cpus, owner, nodes))
            for device in here:
                domain, bus, _, _ = split_address(device.address)
                root = (int(buses[1], 16), int(buses[2], 16)) if buses else (domain, bus)
                found[root if root[0] == domain and root[1] <= bus else (domain, bus)].append(device)
        elif kind in ("PCIDev", "Bridge") and above is not None and above.get("type") not in ("Bridge", "PCIDev"):
            device_here = _device(element, _node_of(element, cpus, owner, nodes))
            if device_here is not None:
                domain, bus, _, _ = split_address(device_here.address)
                found[domain, bus].append(device_here)
    return tuple(PciRoot(*root, tuple(devices)) for root, devices in found.items())


def _node_of(
    element: Element, cpus: Mapping[Element, list[int]], owner: Mapping[int, int], nodes: Mapping[Element, int]
) -> int:
    """The node whose CPUs, and nobody else's, are around an element; that of a node without CPUs; -1: not told."""
    for above in element.above_all():
        if above in nodes:
            return nodes[above]
        near = {owner[cpu] for cpu in cpus.get(above, ())}
        if len(near) == 1:
            return near.pop()
        if near:
            return -1
        inside = [nodes[one] for one in above.children if one in nodes]
        if len(inside) == 1:
            return inside[0]
    return -1


def _devices(above: Element, node: int) -> list[PciDevice]:
    found = [_device(one, node) for one in above.of("object") if one.get("type") in ("PCIDev", "Bridge")]
    return [device for device in found if device is not None]


def _device(element: Element, node: int) -> PciDevice | None:
    """A function, and what is behind it if it is a bridge; None where its address or type cannot be read."""
    said = _TYPE.fullmatch(element.get("pci_type"))
    try:
        address = format_address(*split_address(element.get("pci_busid").lower()))
    except ValueError:
        return None
    if said is None:
        return None
    code, interface, *ids = said.groups()
    kind = int(code, 16)
    vendor, device, subsystem_vendor, subsystem_device = (int(one or "0", 16) for one in ids)
    buses = _BUSES.fullmatch(element.get("bridge_pci")) if element.get("type") == "Bridge" else None
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=kind << 8 | (int(interface, 16) if interface else _INTERFACES.get(kind, 0)),
        subsystem_vendor=subsystem_vendor,
        subsystem_device=subsystem_device,
        numa_node=node,
        net=tuple(_interfaces(element, address)),
        infiniband=tuple(
            one.get("name")
            for one in element.of("object")
            if one.get("osdev_type") == _FABRIC and _RDMA.fullmatch(one.get("name"))
        ),
        bus_range=(int(buses[2], 16), int(buses[3], 16)) if buses else None,
        children=tuple(_devices(element, node)),
    )


def _interfaces(element: Element, address: str) -> list[NetInterface]:
    found: list[NetInterface] = []
    for one in element.of("object"):
        if one.get("osdev_type") == _NET and _INTERFACE.fullmatch(one.get("name")):
            told = next((info.get("value").lower() for info in one.of("info") if info.get("name") == "Address"), "")
            mac = told if _MAC.fullmatch(told) else mac_of(address, len(found))
            found.append(NetInterface(one.get("name"), mac))
    return found
