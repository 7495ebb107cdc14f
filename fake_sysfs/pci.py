"""The PCI side of a machine: host bridges, bridges, functions, their interfaces and the links between them."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetInterface:
    """A network interface of a PCI function."""

    name: str
    address: str  # the MAC, "02:00:00:00:00:01"
    mtu: int = 1500
    speed: int = -1  # Mb/s; -1: unknown, as the kernel says it for a link that is down


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device file's place in sysfs: `path` below the PCI function ("drm/card0"), its numbers, char or block."""

    path: str
    major: int
    minor: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of the `resource` file: an address range of a PCI function; all zeros for one that is not there."""

    start: int
    end: int
    flags: int


@dataclass(frozen=True, slots=True)
class PciDevice:
    """A PCI function. A bridge has a range of buses and, behind it, children; a physical function has VFs."""

    address: str  # "0000:07:00.0"
    vendor: int
    device: int
    class_code: int  # 24 bits: class, subclass, programming interface
    subsystem_vendor: int = 0
    subsystem_device: int = 0
    numa_node: int = -1  # -1: the firmware does not say
    driver: str | None = None  # None: no driver is bound
    total_vfs: int = 0
    vfs: tuple["PciDevice", ...] = ()
    net: tuple[NetInterface, ...] = ()
    infiniband: tuple[str, ...] = ()
    iommu_group: int | None = None  # None: no IOMMU
    bus_range: tuple[int, int] | None = None  # secondary and subordinate bus; None: not a bridge
    children: tuple["PciDevice", ...] = ()
    nodes: tuple[DeviceNode, ...] = ()
    bars: tuple[Bar, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "vfs", tuple(sorted(self.vfs, key=by_address)))
        object.__setattr__(self, "children", tuple(sorted(self.children, key=by_address)))
        object.__setattr__(self, "net", tuple(sorted(self.net, key=lambda interface: interface.name)))
        object.__setattr__(self, "infiniband", tuple(sorted(self.infiniband)))
        object.__setattr__(self, "nodes", tuple(sorted(self.nodes, key=lambda node: (node.path, node.major))))
        bars = self.bars
        while bars and bars[-1] == Bar(0, 0, 0):  # the file always has its lines: trailing empty ones say nothing
            bars = bars[:-1]
        object.__setattr__(self, "bars", bars)

    @property
    def is_bridge(self) -> bool:
        return self.bus_range is not None

    def walk(self) -> Iterator["PciDevice"]:
        """This function, its VFs, and everything behind it."""
        yield self
        yield from self.vfs
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class PciRoot:
    """A host bridge, `/sys/devices/pciDDDD:BB`, and the functions on its bus."""

    domain: int
    bus: int
    devices: tuple[PciDevice, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", tuple(sorted(self.devices, key=by_address)))

    @property
    def name(self) -> str:
        return f"pci{self.domain:04x}:{self.bus:02x}"

    def walk(self) -> Iterator[PciDevice]:
        """Every function below this bridge, VFs included."""
        for device in self.devices:
            yield from device.walk()


@dataclass(frozen=True, slots=True)
class DeviceLink:
    """`count` direct links (NVLink) between two PCI functions; the order of the two says nothing."""

    a: str
    b: str
    count: int

    def __post_init__(self) -> None:
        if self.b < self.a:
            first, second = self.b, self.a
            object.__setattr__(self, "a", first)
            object.__setattr__(self, "b", second)


def by_address(device: PciDevice) -> tuple[int, str]:
    """Sort key: the order of addresses; a longer domain comes later."""
    return len(device.address), device.address


def format_address(domain: int, bus: int, slot: int, function: int) -> str:
    """The sysfs name of a function: `0000:07:00.0`."""
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def split_address(address: str) -> tuple[int, int, int, int]:
    """Domain, bus, slot and function of `0000:07:00.0` (or `07:00.0`); ValueError on anything else."""
    parts = address.split(":")
    if len(parts) == 2:
        parts.insert(0, "0000")
    slot, dot, function = parts[-1].partition(".")
    if len(parts) != 3 or not dot or len(function) != 1:
        raise ValueError(address)
    numbers = tuple(int(part, 16) for part in (parts[0], parts[1], slot, function))
    if any(number < 0 for number in numbers) or numbers[1] > 255 or numbers[2] > 31 or numbers[3] > 7:
        raise ValueError(address)
    return numbers[0], numbers[1], numbers[2], numbers[3]


def following_address(address: str, steps: int) -> str:
    """The address `steps` routing ids further on, as SR-IOV numbers virtual functions; ValueError past bus 255."""
    domain, bus, slot, function = split_address(address)
    routing = (bus << 8 | slot << 3 | function) + steps
    if routing > 0xFFFF:
        raise ValueError(address)
    return format_address(domain, routing >> 8, routing >> 3 & 31, routing & 7)
