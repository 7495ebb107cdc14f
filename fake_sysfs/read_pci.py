"""The PCI tree: functions, the bridges they lie behind, their interfaces and device nodes."""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace

from numaproof.fake_sysfs.machine import Bar, DeviceNode, NetInterface, PciDevice, PciRoot
from numaproof.fake_sysfs.pci import split_address
from numaproof.fake_sysfs.tree import Tree

BUS = "bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ROOT = re.compile(r"pci([0-9a-f]{4,8}):([0-9a-f]{2})")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2})*")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_NUMBERS = re.compile(r"(\d+):(\d+)")
_BRIDGE_HEADER = 1


@dataclass(slots=True)
class _Attached:
    """What other parts of sysfs say about functions, by address."""

    net: dict[str, list[NetInterface]] = field(default_factory=lambda: defaultdict(list))
    infiniband: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    nodes: dict[str, list[DeviceNode]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class _Found:
    """A function, where it hangs, and of a VF the physical function that it belongs to."""

    device: PciDevice
    root: tuple[int, int] | None  # None: the tree does not say
    parent: str | None
    physical: str | None


def read_pci(tree: Tree, nodes: set[int]) -> tuple[PciRoot, ...]:
    """All host bridges with what lies below them; the node of a device is -1 unless it is one of `nodes`."""
    attached = _Attached()
    _read_classes(tree, attached)
    addresses = [name for name in tree.names(BUS) if _ADDRESS.fullmatch(name)]
    found = {address: _function(tree, address, set(addresses), nodes, attached) for address in addresses}
    roots = {(int(match[1], 16), int(match[2], 16)) for match in map(_ROOT.fullmatch, tree.names("devices")) if match}
    return _assembled(found, roots)


def _function(tree: Tree, address: str, known: set[str], nodes: set[int], attached: _Attached) -> _Found:
    at = f"{BUS}/{address}"
    physical = _last_address(tree.target(f"{at}/physfn"))
    root, parent = _position(tree.target(at))
    node = tree.number(f"{at}/numa_node")
    device = PciDevice(
        address=address,
        vendor=tree.number(f"{at}/vendor") or 0,
        device=tree.number(f"{at}/device") or 0,
        class_code=tree.number(f"{at}/class") or 0,
        subsystem_vendor=tree.number(f"{at}/subsystem_vendor") or 0,
        subsystem_device=tree.number(f"{at}/subsystem_device") or 0,
        numa_node=node if node is not None and node in nodes else -1,
        driver=_plain_name(tree.target(f"{at}/driver")),
        total_vfs=tree.number(f"{at}/sriov_totalvfs") or 0,
        net=tuple(attached.net[address] or _own_interfaces(tree, at)),
        infiniband=tuple(attached.infiniband[address]),
        iommu_group=_group(tree.target(f"{at}/iommu_group")),
        bus_range=_bus_range(tree.bytes(f"{at}/config"), address),
        nodes=tuple(attached.nodes[address]),
        bars=_bars(tree.text(f"{at}/resource")),
    )
    return _Found(device, root, parent if parent in known else None, physical if physical in known else None)


def _position(target: str | None) -> tuple[tuple[int, int] | None, str | None]:
    """The host bridge and the bridge above a function, by where its link on the bus points to."""
    parts = (target or "").split("/")
    root = None
    above: list[str] = []
    for part in parts[:-1]:
        match = _ROOT.fullmatch(part)
        if match:  # a host bridge behind another (VMD) is one of its own
            root, above = (int(match[1], 16), int(match[2], 16)), []
        elif _ADDRESS.fullmatch(part):
            above.append(part)
    return root, above[-1] if above else None


def _bus_range(config: bytes, address: str) -> tuple[int, int] | None:
    if len(config) < 0x1B or config[0x0E] & 0x7F != _BRIDGE_HEADER:
        return None
    secondary, subordinate = config[0x19], config[0x1A]
    # A bridge that the firmware has not set up says 0: it leads nowhere.
    return (secondary, subordinate) if split_address(address)[1] < secondary <= subordinate else None


def _bars(text: str | None) -> tuple[Bar, ...]:
    rows = [line.split() for line in (text or "").splitlines()]
    try:
        return tuple(Bar(int(start, 16), int(end, 16), int(flags, 16)) for start, end, flags in rows)[:13]
    except ValueError:
        return ()


def _group(target: str | None) -> int | None:
    name = (target or "").rsplit("/", 1)[-1]
    return int(name) if name.isascii() and name.isdigit() else None


def _plain_name(target: str | None) -> str | None:
    name = (target or "").rsplit("/", 1)[-1]
    return name if _PLAIN.fullmatch(name) else None


def _last_address(target: str | None) -> str | None:
    """The function that a path leads to or through, the deepest one; None when it meets none."""
    return next((part for part in reversed((target or "").split("/")) if _ADDRESS.fullmatch(part)), None)


def _read_classes(tree: Tree, attached: _Attached) -> None:
    for name in tree.names("class/net"):
        owner = _last_address(tree.target(f"class/net/{name}"))
        if owner is not None:
            attached.net[owner].append(_interface(tree, f"class/net/{name}", name))
    for name in tree.names("class/infiniband"):
        owner = _last_address(tree.target(f"class/infiniband/{name}"))
        if owner is not None and _PLAIN.fullmatch(name):
            attached.infiniband[owner].append(name)
    for kind in ("char", "block"):
        for name in tree.names(f"dev/{kind}"):
            numbers = _NUMBERS.fullmatch(name)
            target = tree.target(f"dev/{kind}/{name}")
            owner = _last_address(target)
            if numbers and target and owner:
                path = target.rsplit(f"{owner}/", 1)[-1]
                parts = path.split("/")
                if len(parts) > 1 and all(_PLAIN.fullmatch(part) for part in parts):
                    node = DeviceNode(path, int(numbers[1]), int(numbers[2]), kind == "block")
                    attached.nodes[owner].append(node)


def _own_interfaces(tree: Tree, at: str) -> list[NetInterface]:
    """The interfaces below a function, for trees that were gathered without `class/net`."""
    return [_interface(tree, f"{at}/net/{name}", name) for name in tree.names(f"{at}/net")]


def _interface(tree: Tree, at: str, name: str) -> NetInterface:
    address = tree.text(f"{at}/address") or ""
    speed = tree.number(f"{at}/speed")
    return NetInterface(
        name=name,
        address=address if _MAC.fullmatch(address) else "00:00:00:00:00:00",
        mtu=max(1, tree.number(f"{at}/mtu") or 1500),
        speed=-1 if speed is None else max(-1, speed),
    )


def _assembled(found: dict[str, _Found], roots: set[tuple[int, int]]) -> tuple[PciRoot, ...]:
    """The functions, hung up where they belong; one whose bridge cannot be told hangs on its own bus."""
    virtual: dict[str, list[PciDevice]] = defaultdict(list)
    behind: dict[str, list[str]] = defaultdict(list)
    on_root: dict[tuple[int, int], list[str]] = {root: [] for root in roots}
    for address, function in found.items():
        if function.physical is not None:
            virtual[function.physical].append(function.device)
            continue
        domain, bus, _, _ = split_address(address)
        parent = function.parent
        if function.root is None:
            parent = _bridge_to(domain, bus, found)
        last = (function.device.bus_range or (bus, bus))[1]
        if parent is not None and _leads_to(found[parent].device, domain, (bus, last)):
            behind[parent].append(address)
        else:
            root = function.root
            if root is None or root[0] != domain or root[1] > bus:
                root = (domain, bus)
            on_root.setdefault(root, []).append(address)

    def built(address: str) -> PciDevice:
        device = found[address].device
        functions = tuple(virtual[address])
        return replace(
            device,
            vfs=functions,
            total_vfs=max(device.total_vfs, len(functions)),
            children=tuple(built(child) for child in behind[address]),
        )

    return tuple(PciRoot(*root, tuple(built(address) for address in members)) for root, members in on_root.items())


def _leads_to(bridge: PciDevice, domain: int, buses: tuple[int, int]) -> bool:
    if bridge.bus_range is None or split_address(bridge.address)[0] != domain:
        return False
    return bridge.bus_range[0] <= buses[0] and buses[1] <= bridge.bus_range[1]


def _bridge_to(domain: int, bus: int, found: dict[str, _Found]) -> str | None:
    """The bridge whose secondary bus this is."""
    for address, function in found.items():
        device = function.device
        if device.bus_range and device.bus_range[0] == bus and split_address(address)[0] == domain:
            return address
    return None
