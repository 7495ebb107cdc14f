"""The PCI side of a machine file: host bridges, what lies behind them, virtual functions and links."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.forms import Form, Key, Later, Shape, any_of, exactly_one, list_of, matching, shape
from numaproof.fake_sysfs.machine import Bar, DeviceLink, DeviceNode, NetInterface, PciDevice, PciRoot
from numaproof.fake_sysfs.pci import following_address, format_address, split_address
from numaproof.fake_sysfs.section import NAME, NAME_OR_NONE, TEXT, Section, parsed, whole, whole_number
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.fake_sysfs.validate import INTERFACE, MAC

# Names for the classes that machines under test have; any other is written as its number, 0x0c0330.
CLASSES: Mapping[str, int] = {
    "gpu": 0x030200,
    "display": 0x030000,
    "nic": 0x020000,
    "infiniband": 0x020700,
    "nvme": 0x010802,
    "bridge": 0x060400,
    "nvswitch": 0x068000,
    "accelerator": 0x120000,
    "coprocessor": 0x0B4000,
}
_IDS = re.compile(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{4})")
_ROOT = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2})")
_BUSES = re.compile(r"([0-9a-fA-F]{2})(?:-([0-9a-fA-F]{2}))?")
_FILE = re.compile(r"(char|block) (\d+):(\d+) (\S+)")
_ADDRESS = Form(
    {
        "type": "string",
        "pattern": "^(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]$",
        "examples": ["0000:07:00.0", "07:00.0"],
    }
)
_NODE = whole(-1)
_INTERFACE = Form({**TEXT.words, "pattern": f"^(?:{INTERFACE.pattern})$"})
_MAC = matching(re.compile(MAC.pattern.replace("a-f", "a-fA-F")))
_BUS_RANGE = matching(_BUSES, types=("string", "integer"), minimum=0, examples=["06-0b"])
_BRIDGE = matching(_ROOT, types=("string", "integer"), minimum=0, examples=["0000:00"])
_PAIR = matching(_IDS, examples=["10de:20b0"])
_CLASS = matching(re.compile(f"{'|'.join(CLASSES)}|0x[0-9a-fA-F]{{1,16}}"), types=("string", "integer"), minimum=0)
_NET = shape(
    "net",
    "A network interface.",
    {
        "name": Key(_INTERFACE, "its name, such as ens1", required=True),
        "address": Key(_MAC, "its MAC; without it, one that no other has"),
        "mtu": Key(whole(1), "its MTU; without it, 1500"),
        "speed": Key(whole(-1), "Mb/s; -1: unknown, as of a link that is down"),
    },
)
_VFS = shape(
    "vfs",
    "Virtual functions.",
    {
        "total": Key(whole(), "how many there can be; without it, as many as there are"),
        "count": Key(whole(), "how many there are"),
        "id": Key(_PAIR, "vendor and device; without it, those of the function"),
        "driver": Key(NAME_OR_NONE, "the driver that is bound"),
        "first": Key(_ADDRESS, "the address of the first; without it, the next one"),
        "net": Key(TEXT, "what their network interfaces' names begin with"),
        "iommu-group": Key(whole(), "the IOMMU group of the first; the others follow"),
    },
)
_DEVICE: Shape = shape(
    "pciDevice",
    "A PCI function; with buses it is a bridge, with devices behind it.",
    {
        "address": Key(_ADDRESS, "its address", required=True),
        "id": Key(_PAIR, "vendor and device"),
        "class": Key(_CLASS, f"its class: {', '.join(CLASSES)}, or a number such as 0x030200"),
        "subsystem": Key(_PAIR, "vendor and device of the subsystem"),
        "node": Key(_NODE, "its NUMA node; without it, that of what it is behind; -1: the firmware does not say"),
        "driver": Key(NAME_OR_NONE, "the driver that is bound"),
        "buses": Key(_BUS_RANGE, "the buses behind it, hexadecimal"),
        "devices": Key(list_of(Later(lambda: _DEVICE)), "the devices behind it"),
        "vfs": Key(_VFS, "its virtual functions"),
        "net": Key(list_of(any_of(_INTERFACE, _NET)), "its network interfaces: names, or mappings"),
        "infiniband": Key(list_of(NAME), "its RDMA devices, such as mlx5_0"),
        "iommu-group": Key(whole(), "its IOMMU group; without it, there is no IOMMU"),
        "files": Key(list_of(matching(_FILE, examples=["char 226:0 drm/card0"])), "device files: kind, numbers, path"),
        "bars": Key(list_of(list_of(whole(), least=3, maxItems=3)), "lines of its resource file: [start, end, flags]"),
    },
)
DEVICES = list_of(_DEVICE)
ROOT = shape(
    "hostBridge",
    "A host bridge, with the devices behind it.",
    {
        "root": Key(_BRIDGE, "its domain and bus", required=True),
        "node": Key(_NODE, "the NUMA node of the devices behind it; without it, -1"),
        "devices": Key(DEVICES, "the devices behind it"),
    },
)
_ENDS = list_of(_ADDRESS, least=2)
LINK = shape(
    "link",
    "A link between two devices, or among all of several.",
    {
        "between": Key(Form({**_ENDS.words, "maxItems": 2}), "the two devices, by their addresses"),
        "among": Key(_ENDS, "the devices, by their addresses: each is linked with each other"),
        "count": Key(whole(1), "how many links; without it, 1"),
    },
    exactly_one(("between", "among")),
)


def read_pci(section: Section) -> tuple[PciRoot, ...]:
    """The host bridges of `pci:`, and for each bus in the flat list `devices:` one more."""
    found: dict[tuple[int, int], list[PciDevice]] = defaultdict(list)
    for root in section.each("pci"):
        bridge = parsed(root.text("root", ""), root.at("root"), _root)
        found[bridge].extend(_devices(root, root.integer("node", -1), bridge[0]))
    for device in _devices(section, -1, 0):
        domain, bus, _, _ = split_address(device.address)
        found[domain, bus].append(device)
    return tuple(PciRoot(domain, bus, tuple(devices)) for (domain, bus), devices in found.items())


def _devices(section: Section, node: int, domain: int) -> Iterator[PciDevice]:
    for device in section.each("devices"):
        yield _device(device, node, domain)


def _device(section: Section, node: int, domain: int) -> PciDevice:
    address = _address(section, "address", domain)
    numa_node = section.integer("node", node)
    vendor, device = _pair(section, "id", (0, 0))
    subsystem_vendor, subsystem_device = _pair(section, "subsystem", (0, 0))
    buses = parsed(section.text("buses", ""), section.at("buses"), _buses) if "buses" in section else None
    net = tuple(_interface(where, item, address, index) for index, (where, item) in enumerate(section.items("net")))
    total, functions = _virtual_functions(section, address, numa_node)
    group = section.integer("iommu-group", -1)
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=_class(section, "bridge" if buses else ""),
        subsystem_vendor=subsystem_vendor,
        subsystem_device=subsystem_device,
        numa_node=numa_node,
        driver=section.text("driver", "") or None,
        total_vfs=total,
        vfs=functions,
        net=net,
        infiniband=tuple(parsed(item, where, str) for where, item in section.items("infiniband")),
        iommu_group=None if group < 0 else group,
        bus_range=buses,
        children=tuple(_devices(section, numa_node, split_address(address)[0])),
        nodes=tuple(parsed(item, where, _file) for where, item in section.items("files")),
        bars=tuple(_bar(where, item) for where, item in section.items("bars")),
    )


def _address(section: Section, key: str, domain: int) -> str:
    text = section.text(key, "")
    try:
        said, bus, slot, function = split_address(text)
    except ValueError:
        raise section.wrong(key, "is not a PCI address; write it as 07:00.0 or 0000:07:00.0") from None
    return format_address(said if text.count(":") == 2 else domain, bus, slot, function)


def _class(section: Section, default: str) -> int:
    text = section.text("class", default)
    if text in CLASSES:
        return CLASSES[text]
    if not text.startswith("0x"):
        raise section.wrong("class", f"must be a number such as 0x030200, or one of {', '.join(CLASSES)}")
    return whole_number(text, section.at("class"))


def _pair(section: Section, key: str, default: tuple[int, int]) -> tuple[int, int]:
    if key not in section:
        return default
    match = _IDS.fullmatch(section.text(key, ""))
    if not match:
        raise section.wrong(key, "must be vendor and device, as in 10de:20b0")
    return int(match[1], 16), int(match[2], 16)


def _virtual_functions(section: Section, address: str, node: int) -> tuple[int, tuple[PciDevice, ...]]:
    """How many VFs a function can have, and those it has: numbered on from `first`, by default the next address."""
    if "vfs" not in section:
        return 0, ()
    vfs = section.inner("vfs")
    count = vfs.integer("count", 0)
    total = vfs.integer("total", count)
    if count > total:
        raise vfs.wrong("count", f"the device has at most {total} (total)")
    if total > 0xFFFF:
        raise vfs.wrong("total", "the kernel counts VFs with 16 bits")
    domain = split_address(address)[0]
    try:
        first = _address(vfs, "first", domain) if "first" in vfs else following_address(address, 1)
        addresses = [following_address(first, step) for step in range(count)]
    except ValueError:
        raise vfs.wrong("count", f"the last address would lie past bus ff of {address}") from None
    vendor, device = _pair(vfs, "id", _pair(section, "id", (0, 0)))
    subsystem = _pair(section, "subsystem", (0, 0))
    prefix = vfs.text("net", "")
    group = vfs.integer("iommu-group", -1)  # of the first; each VF has a group of its own
    return total, tuple(
        PciDevice(
            address=one,
            vendor=vendor,
            device=device,
            class_code=_class(section, ""),
            subsystem_vendor=subsystem[0],
            subsystem_device=subsystem[1],
            numa_node=node,
            driver=vfs.text("driver", "") or None,
            net=(NetInterface(f"{prefix}{index}", mac_of(one, 0)),) if prefix else (),
            iommu_group=None if group < 0 else group + index,
        )
        for index, one in enumerate(addresses)
    )


def mac_of(address: str, index: int) -> str:
    """A locally administered MAC that no other function of the machine has."""
    domain, bus, slot, function = split_address(address)
    return ":".join(f"{part:02x}" for part in (2, domain >> 8 & 255, domain & 255, bus, slot << 3 | function, index))


def _interface(where: Where, item: Any, address: str, index: int) -> NetInterface:
    if isinstance(item, str):
        return NetInterface(item, mac_of(address, index))
    section = Section(where, item, _NET)
    return NetInterface(
        name=section.text("name", ""),
        address=section.text("address", mac_of(address, index)).lower(),
        mtu=section.integer("mtu", 1500),
        speed=section.integer("speed", -1),
    )


def _root(text: str) -> tuple[int, int]:
    match = _ROOT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r}: is not a host bridge; write domain and bus, as in 0000:00")
    return int(match[1] or "0", 16), int(match[2], 16)


def _buses(text: str) -> tuple[int, int]:
    match = _BUSES.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r}: is not a range of buses; write hexadecimal, as in 06-0b")
    return int(match[1], 16), int(match[2] or match[1], 16)


def _file(text: str) -> DeviceNode:
    match = _FILE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r}: is not a device file; write kind, numbers and path, as in `char 226:0 drm/card0`")
    return DeviceNode(match[4], int(match[2]), int(match[3]), match[1] == "block")


def _bar(where: Where, item: Any) -> Bar:
    if not isinstance(item, list) or len(item) != 3:
        raise MachineError(f"{where}: must be [start, end, flags], as in [0x1000000, 0x1ffffff, 0x40200]")
    return Bar(*(whole_number(value, where) for value in item))


def read_links(section: Section) -> tuple[DeviceLink, ...]:
    """`links:` between two devices, or among all of several."""
    found: list[DeviceLink] = []
    for link in section.each("links"):
        count = link.integer("count", 1)
        ends = [_end(at, value) for key in ("between", "among") for at, value in link.items(key)]
        if ("between" in link) == ("among" in link) or len(ends) < 2 or ("between" in link and len(ends) != 2):
            raise MachineError(f"{link.where}: give either `between:` with two addresses or `among:` with more")
        found.extend(DeviceLink(a, b, count) for index, a in enumerate(ends) for b in ends[index + 1 :])
    return tuple(found)


def _end(where: Where, value: Any) -> str:
    try:
        return format_address(*split_address(parsed(value, where, str)))
    except ValueError:
        raise MachineError(f"{where}: {value!r}: is not a PCI address; write it as 0000:07:00.0") from None
