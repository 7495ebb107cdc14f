"""What makes a machine impossible: each rule refuses with the place, the value and the remedy."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.pci import PciDevice, PciRoot, format_address, split_address

if TYPE_CHECKING:
    from numaproof.fake_sysfs.machine import Cache, Cpu, Machine, NumaNode

MAX_CPUS = 65536  # far above the kernel's 8192; masks are written out, so there has to be a limit
MAX_NODES = 1024  # the kernel's largest MAX_NUMNODES
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
INTERFACE = re.compile(r"[^\s/:]{1,15}")
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2})*")


def check_machine(machine: "Machine") -> None:
    """Refuse a machine that no kernel could show; MachineError says what to mend."""
    at = f"machine {machine.name}"
    if not machine.name or "\n" in machine.name:
        raise MachineError(f"machine name {machine.name!r}: give it a name of one line")
    for what, text in (("cpu_model", machine.cpu_model), ("cpu_vendor", machine.cpu_vendor)):
        if not text or "\n" in text or text != text.strip():
            raise MachineError(f"{at}: {what} {text!r}: must be one line without blanks around it")
    if machine.mhz <= 0:
        raise MachineError(f"{at}: mhz {machine.mhz}: must be above 0")
    _check_nodes(at, machine)
    _check_cpus(at, machine.cpus, set(machine.node_ids))
    online = {cpu.id for cpu in machine.cpus if cpu.online}
    _check_caches(at, machine.caches, online)
    _check_kinds(at, machine, online)
    _check_isolated(at, machine)
    _check_pci(at, machine)


def _check_nodes(at: str, machine: "Machine") -> None:
    ids = machine.node_ids
    if not ids:
        raise MachineError(f"{at}: has no NUMA node: give it at least one")
    _check_unique(at, "node", ids)
    _check_unique(at, "spare node", machine.spare_nodes)
    for node_id in (*ids, *machine.spare_nodes):
        if not 0 <= node_id < MAX_NODES:
            raise MachineError(f"{at}: node {node_id}: an id must lie in 0-{MAX_NODES - 1}")
    both = set(ids) & set(machine.spare_nodes)
    if both:
        raise MachineError(f"{at}: node {format_cpulist(both)}: is both online and spare; keep one of the two")
    for size in machine.hugepage_sizes:
        if size <= 0:
            raise MachineError(f"{at}: hugepage size {size} kB: must be above 0")
    _check_unique(at, "hugepage size", machine.hugepage_sizes)
    for node in machine.nodes:
        _check_node(f"{at}: node {node.id}", node, machine)


def _check_node(at: str, node: "NumaNode", machine: "Machine") -> None:
    if node.memory < 0 or node.memory % 1024:
        raise MachineError(f"{at}: memory {node.memory}: must be bytes, a multiple of 1024")
    if len(node.distances) != len(machine.nodes):
        raise MachineError(
            f"{at}: distances {list(node.distances)}: {len(node.distances)} for {len(machine.nodes)} nodes; "
            "give one for every online node, in ascending order of their ids"
        )
    for distance in node.distances:
        if not 1 <= distance <= 255:
            raise MachineError(f"{at}: distance {distance}: must lie in 1-255 (10 is local)")
    _check_unique(at, "hugepage size", [pages.size_kb for pages in node.hugepages])
    for pages in node.hugepages:
        if pages.size_kb not in machine.hugepage_sizes:
            known = ", ".join(str(size) for size in machine.hugepage_sizes)
            raise MachineError(f"{at}: hugepages of {pages.size_kb} kB: the machine has pages of {known} kB")
        if pages.pages < 0:
            raise MachineError(f"{at}: {pages.pages} hugepages of {pages.size_kb} kB: must not be negative")
    huge = sum(pages.size_kb * pages.pages * 1024 for pages in node.hugepages)
    if huge > node.memory:
        raise MachineError(f"{at}: hugepages of {huge} bytes: more than the node's memory of {node.memory} bytes")
    if node.access is not None:
        for initiator in node.access.initiators:
            if initiator not in machine.node_ids:
                raise MachineError(f"{at}: initiator {initiator}: {_no_node(machine.node_ids)}")
        figures = node.access
        if min(figures.read_latency, figures.write_latency, figures.read_bandwidth, figures.write_bandwidth) < 0:
            raise MachineError(f"{at}: access {figures}: latency and bandwidth must not be negative")
    _check_unique(at, "memory side cache level", [cache.level for cache in node.side_caches])
    for cache in node.side_caches:
        if cache.level < 1 or cache.size < 0 or cache.line_size < 0:
            raise MachineError(f"{at}: memory side cache {cache}: level from 1, size and line size from 0")


def _check_cpus(at: str, cpus: Sequence["Cpu"], nodes: set[int]) -> None:
    _check_unique(at, "cpu", [cpu.id for cpu in cpus])
    die_of_core: dict[tuple[int, int], int] = {}
    online = False
    for cpu in cpus:
        if not 0 <= cpu.id < MAX_CPUS:
            raise MachineError(f"{at}: cpu {cpu.id}: an id must lie in 0-{MAX_CPUS - 1}")
        if cpu.node not in nodes:
            raise MachineError(f"{at}: cpu {cpu.id}: node {cpu.node}: {_no_node(nodes)}")
        if not cpu.online:
            if (cpu.core, cpu.die, cpu.package) != (-1, -1, -1):
                raise MachineError(f"{at}: cpu {cpu.id}: is offline, so core, die and package must be -1")
            continue
        online = True
        if cpu.core < 0 or cpu.die < 0 or cpu.package < 0:
            raise MachineError(
                f"{at}: cpu {cpu.id}: core {cpu.core}, die {cpu.die}, package {cpu.package}: must not be negative"
            )
        die = die_of_core.setdefault((cpu.package, cpu.core), cpu.die)
        if die != cpu.die:
            raise MachineError(
                f"{at}: cpu {cpu.id}: core {cpu.core} of package {cpu.package} lies on die {die} and {cpu.die}; "
                "core ids must be unique within their package"
            )
    if not online:
        raise MachineError(f"{at}: has no CPU online: give it at least one")


def _check_caches(at: str, caches: Iterable["Cache"], online: set[int]) -> None:
    seen: dict[tuple[int, str, int], int] = {}
    ids: set[tuple[int, str, int]] = set()
    for cache in caches:
        place = f"{at}: L{cache.level} {cache.kind} cache {cache.id}"
        if cache.level < 1 or cache.kind not in ("Data", "Instruction", "Unified"):
            raise MachineError(f"{place}: the level counts from 1, the kind is Data, Instruction or Unified")
        if cache.size < 0 or cache.size % 1024 or cache.line_size < 0 or cache.ways < 0:
            raise MachineError(f"{place}: size {cache.size}: must be bytes, a multiple of 1024; lines and ways from 0")
        if not cache.cpus:
            raise MachineError(f"{place}: is shared by no CPU: name the online CPUs that share it")
        if (cache.level, cache.kind, cache.id) in ids:
            raise MachineError(f"{place}: the id is used twice; give each cache of a level and kind its own")
        ids.add((cache.level, cache.kind, cache.id))
        for cpu in cache.cpus:
            if cpu not in online:
                raise MachineError(f"{place}: cpu {cpu}: is not an online CPU of this machine")
            other = seen.setdefault((cache.level, cache.kind, cpu), cache.id)
            if other != cache.id or cache.cpus.count(cpu) > 1:
                raise MachineError(f"{place}: cpu {cpu}: belongs to cache {other} already; caches must not overlap")


def _check_kinds(at: str, machine: "Machine", online: set[int]) -> None:
    _check_unique(at, "cpu kind", [kind.name for kind in machine.kinds])
    seen: set[int] = set()
    for kind in machine.kinds:
        if not PLAIN_NAME.fullmatch(kind.name) or kind.mhz <= 0 or not kind.cpus:
            raise MachineError(f"{at}: cpu kind {kind.name!r}: needs a plain name, online CPUs and mhz above 0")
        strange = set(kind.cpus) - online
        if strange:
            raise MachineError(f"{at}: cpu kind {kind.name}: cpu {format_cpulist(strange)}: is not online")
        twice = set(kind.cpus) & seen
        if twice:
            raise MachineError(f"{at}: cpu kind {kind.name}: cpu {format_cpulist(twice)}: is of another kind already")
        seen.update(kind.cpus)


def _check_isolated(at: str, machine: "Machine") -> None:
    _check_unique(at, "isolated cpu", machine.isolated)
    there = {cpu.id for cpu in machine.cpus}
    strange = set(machine.isolated) - there
    if strange:
        raise MachineError(
            f"{at}: isolated: cpu {format_cpulist(strange)}: is not a CPU of this machine; "
            f"name some of {format_cpulist(there)}"
        )
    if len(machine.isolated) == len(there):
        raise MachineError(
            f"{at}: isolated: cpu {format_cpulist(there)}: are all CPUs; leave the kernel one for its scheduler"
        )


def _check_pci(at: str, machine: "Machine") -> None:
    _check_unique(at, "host bridge", [root.name for root in machine.pci])
    devices: list[PciDevice] = []
    for root in machine.pci:
        if not 0 <= root.bus <= 255 or not 0 <= root.domain < 1 << 32:
            raise MachineError(f"{at}: host bridge {root.name}: the bus lies in 0-ff, the domain in 0-ffffffff")
        for device in root.devices:
            _check_function(at, device, root, (root.bus, 255))
            devices.extend(device.walk())
    nodes = set(machine.node_ids)
    _check_unique(at, "PCI function", [device.address for device in devices])
    _check_unique(at, "network interface", [interface.name for device in devices for interface in device.net])
    _check_unique(at, "RDMA device", [name for device in devices for name in device.infiniband])
    _check_unique(at, "device node", [(n.block, n.major, n.minor) for device in devices for n in device.nodes])
    for device in devices:
        if device.numa_node != -1 and device.numa_node not in nodes:
            raise MachineError(
                f"{at}: {device.address}: numa_node {device.numa_node}: {_no_node(nodes)}; -1 says unknown"
            )
        _check_contents(f"{at}: {device.address}", device)
    known = {device.address for device in devices}
    _check_unique(at, "link between", [(link.a, link.b) for link in machine.links])
    for link in machine.links:
        if link.a == link.b or link.count < 1:
            raise MachineError(f"{at}: link {link.a} - {link.b}: joins two devices by at least one link")
        for end in (link.a, link.b):
            if end not in known:
                raise MachineError(f"{at}: link {link.a} - {link.b}: {end} is not a PCI function of this machine")


def _check_function(at: str, device: PciDevice, root: PciRoot, buses: tuple[int, int]) -> None:
    place = f"{at}: {device.address}"
    try:
        domain, bus, slot, function = split_address(device.address)
        spelled = format_address(domain, bus, slot, function)
    except ValueError:
        domain, bus, spelled = -1, -1, ""
    if device.address != spelled:
        raise MachineError(f"{place}: is not a PCI address; write it as {spelled or '0000:07:00.0'}")
    if domain != root.domain or not buses[0] <= bus <= buses[1]:
        raise MachineError(f"{place}: does not lie behind its bridge (buses {buses[0]:02x}-{buses[1]:02x})")
    if device.children and device.bus_range is None:
        raise MachineError(f"{place}: has devices behind it, but no range of buses; give bus_range")
    if device.bus_range is not None:
        first, last = device.bus_range
        if not bus < first <= last <= 255 or last > buses[1]:
            raise MachineError(
                f"{place}: bus_range {first:02x}-{last:02x}: must lie above bus {bus:02x}, within its parent"
            )
        for child in device.children:
            _check_function(at, child, root, device.bus_range)
    if len(device.vfs) > device.total_vfs:
        raise MachineError(f"{place}: {len(device.vfs)} virtual functions: the device has at most {device.total_vfs}")
    for virtual in device.vfs:
        if virtual.vfs or virtual.total_vfs or virtual.children or virtual.bus_range:
            raise MachineError(f"{at}: {virtual.address}: is a virtual function: it has no VFs and no bus of its own")
        _check_function(at, virtual, root, (bus, 255))


def _check_contents(place: str, device: PciDevice) -> None:
    ids = (device.vendor, device.device, device.subsystem_vendor, device.subsystem_device)
    if not all(0 <= number <= 0xFFFF for number in ids) or not 0 <= device.class_code <= 0xFFFFFF:
        raise MachineError(f"{place}: vendor and device ids have 16 bits, the class 24")
    if device.driver is not None and not PLAIN_NAME.fullmatch(device.driver):
        raise MachineError(f"{place}: driver {device.driver!r}: must be a plain name")
    if device.iommu_group is not None and device.iommu_group < 0:
        raise MachineError(f"{place}: iommu_group {device.iommu_group}: must not be negative")
    for name in device.infiniband:
        if not PLAIN_NAME.fullmatch(name):
            raise MachineError(f"{place}: RDMA device {name!r}: must be a plain name")
    for interface in device.net:
        if not INTERFACE.fullmatch(interface.name) or interface.name in (".", ".."):
            raise MachineError(f"{place}: network interface {interface.name!r}: at most 15 characters, no / or :")
        if not MAC.fullmatch(interface.address):
            raise MachineError(f"{place}: {interface.name}: address {interface.address!r}: write 02:00:00:00:00:01")
        if interface.mtu < 1 or interface.speed < -1:
            raise MachineError(f"{place}: {interface.name}: mtu above 0, speed in Mb/s or -1")
    for node in device.nodes:
        parts = node.path.split("/")
        if len(parts) < 2 or not all(PLAIN_NAME.fullmatch(part) for part in parts) or node.major < 0 or node.minor < 0:
            raise MachineError(f"{place}: device node {node.path!r}: write it as drm/card0 with its major and minor")
    if len(device.bars) > 13 or any(min(bar.start, bar.end, bar.flags) < 0 for bar in device.bars):
        raise MachineError(f"{place}: {len(device.bars)} bars: at most 13, none negative")


def _check_unique(at: str, what: str, values: Sequence[object]) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            text = " - ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
            raise MachineError(f"{at}: {what} {text}: is there twice; keep one")
        seen.add(value)


def _no_node(nodes: Iterable[int]) -> str:
    return f"is not a node of this machine (nodes {format_cpulist(nodes)})"
