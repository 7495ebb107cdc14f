"""A machine as a drawing: packages, nodes, caches, cores and devices, each within what holds it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.tree import Tree

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import Cache, Cpu, Machine, NumaNode, PciDevice
from numaproof.fake_sysfs.sizes import format_bytes

# A matrix is drawn up to this many rows; a wider one would not fit any screen.
WIDEST_MATRIX = 16

_KINDS = {"Data": "d", "Instruction": "i", "Unified": ""}
_CLASSES = {
    0x0100: "SCSI controller",
    0x0101: "IDE controller",
    0x0104: "RAID controller",
    0x0106: "SATA controller",
    0x0107: "SAS controller",
    0x0108: "NVMe drive",
    0x0200: "Ethernet",
    0x0207: "InfiniBand",
    0x0280: "network",
    0x0300: "VGA",
    0x0302: "3D",
    0x0380: "display",
    0x0580: "memory",
    0x0600: "host bridge",
    0x0601: "ISA bridge",
    0x0604: "PCI bridge",
    0x0680: "bridge",
    0x0B40: "co-processor",
    0x0C03: "USB controller",
    0x0C05: "SMBus",
    0x1200: "accelerator",
}


@dataclass
class _Part:
    """Something that holds CPUs: its line in the drawing, and the parts within it."""

    label: str
    cpus: frozenset[int]
    inner: list["_Part"] = field(default_factory=list)


def draw(machine: Machine, *, full: bool = False) -> RenderableType:
    """The machine's drawing; cores of one kind side by side share a line unless `full` asks for each."""
    tree = Tree(headline(machine))
    whole = _Part("", frozenset(machine.cpu_ids))
    for part in _parts(machine):
        _insert(whole, part)
    cores = _cores(machine)
    for part in whole.inner:
        _add_part(tree, part, machine, cores, full=full)
    _add_cores(tree, whole, machine, cores, full=full)
    by_node = machine.cpus_by_node()
    without_cpus = [node for node in machine.nodes if not by_node[node.id]]
    for resources, nodes in groupby(without_cpus, key=_resources):
        tree.add(f"NUMANode P#{format_cpulist(node.id for node in nodes)} ({resources}), no CPUs")
    offline = [cpu for cpu in machine.cpus if not cpu.online]
    for node_id, group in groupby(sorted(offline, key=lambda cpu: cpu.node), key=lambda cpu: cpu.node):
        tree.add(f"Offline PU P#{format_cpulist(cpu.id for cpu in group)} (of NUMANode P#{node_id})")
    if machine.isolated:
        tree.add(f"Isolated PU P#{format_cpulist(machine.isolated)}")
    if machine.spare_nodes:
        tree.add(f"Possible NUMANode P#{format_cpulist(machine.spare_nodes)} (not online)")
    for root in machine.pci:
        bridge = tree.add(f"HostBridge {root.name}")
        for device in root.devices:
            _add_device(bridge, device)
    matrices = [matrix for matrix in (_distances(machine), _links(machine)) if matrix is not None]
    notes = [f"note: {note}" for note in machine.notes]
    return Group(tree, *matrices, *notes)


def headline(machine: Machine) -> str:
    """The machine in one line."""
    memory = format_bytes(sum(node.memory for node in machine.nodes))
    counts = [
        _count(len(machine.package_ids), "package"),
        _count(len(machine.nodes), "NUMA node"),
        _count(len(machine.cpu_ids), "CPU"),
    ]
    return f"Machine {machine.name} ({memory}): {', '.join(counts)}; {machine.cpu_model}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _parts(machine: Machine) -> list[_Part]:
    """Packages, dies, nodes and last-level caches; of two with the same CPUs, the outer kind comes first."""
    found: list[_Part] = []
    online = [cpu for cpu in machine.cpus if cpu.online]
    for package in machine.package_ids:
        members = [cpu for cpu in online if cpu.package == package]
        found.append(_Part(f"Package P#{package}", _ids(members)))
        dies = sorted({cpu.die for cpu in members})
        if len(dies) > 1:
            found.extend(_Part(f"Die P#{die}", _ids(cpu for cpu in members if cpu.die == die)) for die in dies)
    by_node = machine.cpus_by_node()
    found.extend(_Part(_node_label(node), frozenset(by_node[node.id])) for node in machine.nodes if by_node[node.id])
    found.extend(_Part(_cache_label(cache), frozenset(cache.cpus)) for cache in machine.caches if _is_outer(cache))
    return sorted(found, key=lambda part: -len(part.cpus))


def _ids(cpus: Iterable[Cpu]) -> frozenset[int]:
    return frozenset(cpu.id for cpu in cpus)


def _is_outer(cache: Cache) -> bool:
    return cache.level >= 3


def _cache_label(cache: Cache) -> str:
    return f"L{cache.level}{_KINDS[cache.kind]} P#{cache.id} ({format_bytes(cache.size)})"


def _node_label(node: NumaNode) -> str:
    return f"NUMANode P#{node.id} ({_resources(node)})"


def _resources(node: NumaNode) -> str:
    pages = "".join(f", {p.pages} hugepages of {format_bytes(p.size_kb * 1024)}" for p in node.hugepages)
    caches = "".join(f", memory-side cache of {format_bytes(cache.size)}" for cache in node.side_caches)
    return f"{format_bytes(node.memory) if node.memory else 'no memory'}{pages}{caches}"


def _insert(holder: _Part, part: _Part) -> None:
    """Put a part into the smallest one that holds all its CPUs; larger parts are put in first."""
    for inner in holder.inner:
        if part.cpus <= inner.cpus:
            _insert(inner, part)
            return
    if any(part.cpus & inner.cpus for inner in holder.inner):
        # It lies across its neighbours: a line of its own tells which CPUs it has.
        part = _Part(f"{part.label}: PU P#{format_cpulist(part.cpus)}", frozenset())
    holder.inner.append(part)


def _cores(machine: Machine) -> dict[frozenset[int], str]:
    """The CPUs of each core -> the caches that it has for itself, as a label."""
    groups: dict[tuple[int, int], list[int]] = {}
    for cpu in machine.cpus:
        if cpu.online:
            groups.setdefault((cpu.package, cpu.core), []).append(cpu.id)
    own: dict[int, list[str]] = {}
    for cache in sorted(machine.caches, key=lambda cache: (-cache.level, cache.kind)):
        if not _is_outer(cache):
            shared = f" of {len(cache.cpus)} PUs" if len(cache.cpus) > 2 else ""
            for cpu_id in cache.cpus:
                own.setdefault(cpu_id, []).append(
                    f"L{cache.level}{_KINDS[cache.kind]} ({format_bytes(cache.size)}{shared})"
                )
    kinds = {cpu_id: kind.name for kind in machine.kinds for cpu_id in kind.cpus}
    return {
        frozenset(ids): " + ".join([*own.get(ids[0], []), f"Core{_kind(kinds.get(ids[0]))}"]) for ids in groups.values()
    }


def _kind(name: str | None) -> str:
    return f" ({name})" if name else ""


def _add_part(tree: Tree, part: _Part, machine: Machine, cores: dict[frozenset[int], str], *, full: bool) -> None:
    branch = tree.add(part.label)
    for inner in part.inner:
        _add_part(branch, inner, machine, cores, full=full)
    _add_cores(branch, part, machine, cores, full=full)


def _add_cores(tree: Tree, part: _Part, machine: Machine, cores: dict[frozenset[int], str], *, full: bool) -> None:
    """The cores that lie in this part and in none of its inner ones."""
    taken = frozenset[int]().union(*(inner.cpus for inner in part.inner))
    core_ids = {cpu.id: cpu.core for cpu in machine.cpus}
    # A core that a part cuts in two is drawn where its first CPU lies.
    mine = [ids for ids in cores if min(ids) in part.cpus and min(ids) not in taken]
    mine.sort(key=lambda ids: (core_ids[min(ids)], min(ids)))
    if full:
        for ids in mine:
            core = tree.add(f"{cores[ids]} P#{core_ids[min(ids)]}")
            for cpu_id in sorted(ids):
                core.add(f"PU P#{cpu_id}")
        return
    for (label, threads), group in groupby(mine, key=lambda ids: (cores[ids], len(ids))):
        members = list(group)
        numbers = format_cpulist(core_ids[min(ids)] for ids in members)
        cpus = format_cpulist(cpu_id for ids in members for cpu_id in ids)
        times = f"{len(members)} x " if len(members) > 1 else ""
        each = f" ({threads} threads each)" if threads > 1 and times else ""
        tree.add(f"{times}{label} P#{numbers}{each}: PU P#{cpus}")


def _add_device(tree: Tree, device: PciDevice) -> None:
    if device.bus_range is not None:
        first, last = device.bus_range
        branch = tree.add(f"PCIBridge {device.address} {_identity(device)}, buses {first:02x}-{last:02x}")
    else:
        branch = tree.add(f"PCI {device.address} {_identity(device)}{_place(device)}")
    for interface in device.net:
        speed = f", {interface.speed} Mb/s" if interface.speed > 0 else ""
        branch.add(f"Net {interface.name} ({interface.address}{speed})")
    for name in device.infiniband:
        branch.add(f"RDMA {name}")
    for node in device.nodes:
        branch.add(f"{'Block' if node.block else 'Char'} {node.path} ({node.major}:{node.minor})")
    if device.total_vfs:
        functions = branch.add(f"{len(device.vfs)} of {device.total_vfs} virtual functions")
        for function in device.vfs:
            _add_device(functions, function)
    for child in device.children:
        _add_device(branch, child)


def _identity(device: PciDevice) -> str:
    name = _CLASSES.get(device.class_code >> 8, f"class {device.class_code:06x}")
    return f"{device.vendor:04x}:{device.device:04x} ({name})"


def _place(device: PciDevice) -> str:
    where = f", NUMANode P#{device.numa_node}" if device.numa_node >= 0 else ", no NUMA node"
    return where + (f", driver {device.driver}" if device.driver else "")


def _distances(machine: Machine) -> RenderableType | None:
    if len(machine.nodes) == 1:
        return None
    if len(machine.nodes) > WIDEST_MATRIX:
        values = sorted({distance for node in machine.nodes for distance in node.distances})
        return f"Distances: a {len(machine.nodes)}-node matrix of {', '.join(map(str, values))} (--json has it)"
    return _matrix(
        "Distances",
        [str(node.id) for node in machine.nodes],
        [(f"node {node.id}", [str(distance) for distance in node.distances]) for node in machine.nodes],
    )


def _links(machine: Machine) -> RenderableType | None:
    ends = sorted({end for link in machine.links for end in (link.a, link.b)})
    if not ends:
        return None
    if len(ends) > WIDEST_MATRIX:
        return f"Links: {len(machine.links)} pairs of {len(ends)} devices (--json has them)"
    counts = {frozenset((link.a, link.b)): str(link.count) for link in machine.links}
    return _matrix(
        "Links",
        [str(number) for number in range(len(ends))],
        [
            (f"{number} {a}", ["X" if a == b else counts.get(frozenset((a, b)), "-") for b in ends])
            for number, a in enumerate(ends)
        ],
    )


def _matrix(title: str, columns: list[str], rows: list[tuple[str, list[str]]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column(title)
    for column in columns:
        table.add_column(column, justify="right")
    for name, cells in rows:
        table.add_row(name, *cells)
    return table
