"""The files of the PCI tree: functions below their host bridges, and the links by which tools find them."""

import struct
from collections.abc import Iterator, Mapping

from numaproof.fake_sysfs.content import Gathering
from numaproof.fake_sysfs.files_cpus import mask_width
from numaproof.fake_sysfs.lists import format_cpulist, format_mask
from numaproof.fake_sysfs.machine import Machine, NetInterface, PciDevice

BUS = "sys/bus/pci"
RESOURCE_LINES = 13  # six BARs, the ROM, six of the IOV capability
_BRIDGE_HEADER = 1


def gather_pci(machine: Machine, out: Gathering) -> None:
    """All files below the host bridges, and those that point there: bus, class, dev and iommu_groups."""
    width = mask_width(machine)
    by_node: dict[int, tuple[int, ...]] = {-1: machine.cpu_ids, **machine.cpus_by_node()}
    near = {node: (format_mask(cpus, width), format_cpulist(cpus)) for node, cpus in by_node.items()}
    placed = dict(_places(machine))
    for root in machine.pci:
        out.directory(f"sys/devices/{root.name}")
    # The kernel numbers interfaces and vfio devices as they come; here they come in the order of addresses.
    interfaces = 2
    vfio = 0
    for device in machine.devices():
        at, physical = placed[device.address]
        _function(at, device, physical, near[device.numa_node], out)
        for interface in device.net:
            _interface(at, interface, interfaces, out)
            interfaces += 1
        if device.driver == "vfio-pci":
            out.directory(f"{at}/vfio-dev/vfio{vfio}")
            vfio += 1
        for index, function in enumerate(device.vfs):
            out.link(f"{at}/virtfn{index}", placed[function.address][0])
        if physical is not None:
            out.link(f"{at}/physfn", placed[physical.address][0])


def _places(machine: Machine) -> Iterator[tuple[str, tuple[str, PciDevice | None]]]:
    """For each address its directory and, of a virtual function, the physical one, beside which it lies."""

    def below(parent: str, devices: tuple[PciDevice, ...]) -> Iterator[tuple[str, tuple[str, PciDevice | None]]]:
        for device in devices:
            yield device.address, (f"{parent}/{device.address}", None)
            for function in device.vfs:
                yield function.address, (f"{parent}/{function.address}", device)
            yield from below(f"{parent}/{device.address}", device.children)

    for root in machine.pci:
        yield from below(f"sys/devices/{root.name}", root.devices)


def _function(at: str, device: PciDevice, physical: PciDevice | None, near: tuple[str, str], out: Gathering) -> None:
    address = device.address
    out.link(f"{BUS}/devices/{address}", at)
    out.link(f"{at}/subsystem", BUS)
    out.line(f"{at}/vendor", f"0x{device.vendor:04x}")
    out.line(f"{at}/device", f"0x{device.device:04x}")
    out.line(f"{at}/class", f"0x{device.class_code:06x}")
    out.line(f"{at}/revision", "0x00")
    out.line(f"{at}/subsystem_vendor", f"0x{device.subsystem_vendor:04x}")
    out.line(f"{at}/subsystem_device", f"0x{device.subsystem_device:04x}")
    out.line(f"{at}/modalias", _modalias(device))
    out.line(f"{at}/numa_node", device.numa_node)
    out.line(f"{at}/local_cpus", near[0])
    out.line(f"{at}/local_cpulist", near[1])
    out.found[f"{at}/config"] = _config(device)
    out.found[f"{at}/resource"] = out.shared(_resource(device))
    out.found[f"{at}/uevent"] = _uevent(device).encode()
    if device.total_vfs:
        out.line(f"{at}/sriov_totalvfs", device.total_vfs)
        out.line(f"{at}/sriov_numvfs", len(device.vfs))
        out.line(f"{at}/sriov_drivers_autoprobe", 1)
    if device.driver is not None:
        out.link(f"{at}/driver", f"{BUS}/drivers/{device.driver}")
        out.link(f"{BUS}/drivers/{device.driver}/{address}", at)
    if device.iommu_group is not None:
        group = f"sys/kernel/iommu_groups/{device.iommu_group}"
        out.link(f"{at}/iommu_group", group)
        out.link(f"{group}/devices/{address}", at)
    for name in device.infiniband:
        place = f"{at}/infiniband/{name}"
        out.line(f"{place}/node_guid", "0000:0000:0000:0000")
        out.link(f"{place}/device", at)
        out.link(f"sys/class/infiniband/{name}", place)
    for node in device.nodes:
        place = f"{at}/{node.path}"
        numbers = f"{node.major}:{node.minor}"
        subsystem, name = node.path.split("/")[-2:]
        out.line(f"{place}/dev", numbers)
        out.link(f"{place}/device", place.rsplit("/", 2)[0])
        out.link(f"sys/dev/{'block' if node.block else 'char'}/{numbers}", place)
        out.link(f"sys/class/{'block' if node.block else subsystem}/{name}", place)


def _interface(at: str, interface: NetInterface, index: int, out: Gathering) -> None:
    place = f"{at}/net/{interface.name}"
    out.line(f"{place}/address", interface.address)
    out.line(f"{place}/mtu", interface.mtu)
    out.line(f"{place}/speed", interface.speed)
    out.line(f"{place}/operstate", "down" if interface.speed < 0 else "up")
    out.line(f"{place}/ifindex", index)
    out.line(f"{place}/type", 1)
    out.line(f"{place}/dev_id", "0x0")
    out.line(f"{place}/dev_port", 0)
    out.link(f"{place}/device", at)
    out.link(f"sys/class/net/{interface.name}", place)


def _modalias(device: PciDevice) -> str:
    return (
        f"pci:v{device.vendor:08X}d{device.device:08X}sv{device.subsystem_vendor:08X}sd{device.subsystem_device:08X}"
        f"bc{device.class_code >> 16:02X}sc{device.class_code >> 8 & 255:02X}i{device.class_code & 255:02X}"
    )


def _uevent(device: PciDevice) -> str:
    said: Mapping[str, str] = {
        "PCI_CLASS": f"{device.class_code:X}",
        "PCI_ID": f"{device.vendor:04X}:{device.device:04X}",
        "PCI_SUBSYS_ID": f"{device.subsystem_vendor:04X}:{device.subsystem_device:04X}",
        "PCI_SLOT_NAME": device.address,
        "MODALIAS": _modalias(device),
    }
    driver = f"DRIVER={device.driver}\n" if device.driver is not None else ""
    return driver + "".join(f"{name}={value}\n" for name, value in said.items())


def _resource(device: PciDevice) -> str:
    lines = [f"0x{bar.start:016x} 0x{bar.end:016x} 0x{bar.flags:016x}\n" for bar in device.bars]
    return "".join(lines) + "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * (RESOURCE_LINES - len(lines))


def _config(device: PciDevice) -> bytes:
    """The configuration header: the ids and the class, and of a bridge the buses behind it."""
    config = bytearray(256)
    struct.pack_into("<HHH", config, 0, device.vendor, device.device, 0x0006)
    struct.pack_into("<I", config, 8, device.class_code << 8)
    if device.bus_range is not None:
        config[0x0E] = _BRIDGE_HEADER
        config[0x18] = int(device.address.split(":")[1], 16)
        config[0x19], config[0x1A] = device.bus_range
    else:
        struct.pack_into("<HH", config, 0x2C, device.subsystem_vendor, device.subsystem_device)
    return bytes(config)
