"""A machine as a tree, as lstopo shows it: a line for each thing, within what holds it, with the kernel's numbers."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import Cache, Cpu, Machine, NumaNode, PciDevice
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.drawing.caches import cache_name
from numaproof.harness.drawing.headline import headline
from numaproof.harness.drawing.words import clean

_LONGEST = 300  # of a line, of which a machine may say whatever it likes
_NARROWEST = 20  # columns for a label, however deep it stands

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
class _Branch:
    """A line of the tree, and those within it."""

    label: str
    inner: list["_Branch"] = field(default_factory=list)

    def add(self, label: str) -> "_Branch":
        self.inner.append(_Branch(clean(label, _LONGEST)))
        return self.inner[-1]


@dataclass
class _Part:
    """Something that holds CPUs: its line in the drawing, and the parts within it."""

    label: str
    cpus: frozenset[int]
    inner: list["_Part"] = field(default_factory=list)


def machine_tree(machine: Machine, width: int | None = None) -> list[str]:
    """All of it, a line for every cache, core, CPU and PCI function; no wider than `width`, if that is given."""
    tree = _Branch(f"{clean(machine.name, _LONGEST)}: {headline(machine)}")
    whole = _Part("", frozenset(machine.cpu_ids))
    for part in _parts(machine):
        _insert(whole, part)
    cores = _cores(machine)
    for part in whole.inner:
        _add_part(tree, part, machine, cores)
    _add_cores(tree, whole, machine, cores)
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
    _add_pci(tree, machine)
    return [*_wrapped(tree.label, width), *_drawn(tree.inner, width)]


def pci_tree(machine: Machine, width: int | None = None) -> list[str]:
    """The PCI functions alone; nothing where there are none."""
    tree = _Branch("")
    _add_pci(tree, machine)
    return list(_drawn(tree.inner, width))


def _drawn(branches: list[_Branch], width: int | None, before: str = "") -> Iterator[str]:
    for branch in branches:
        last = branch is branches[-1]
        after = f"{before}{'    ' if last else '│   '}"
        beside = "│   " if branch.inner else ""
        lines = _wrapped(branch.label, width and max(width - len(after), _NARROWEST))
        yield f"{before}{'└── ' if last else '├── '}{lines[0]}"
        yield from (f"{after}{beside}{line}" for line in lines[1:])
        yield from _drawn(branch.inner, width, after)


def _wrapped(label: str, width: int | None) -> list[str]:
    """A label in lines, the later ones with room for the stroke down to what is within it."""
    return [label] if width is None else textwrap.wrap(label, width, subsequent_indent="  ") or [""]


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
    return f"{cache_name(cache)} P#{cache.id} ({format_bytes(cache.size)})"


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
                own.setdefault(cpu_id, []).append(f"{cache_name(cache)} ({format_bytes(cache.size)}{shared})")
    kinds = {cpu_id: kind.name for kind in machine.kinds for cpu_id in kind.cpus}
    return {
        frozenset(ids): " + ".join([*own.get(ids[0], []), f"Core{_kind(kinds.get(ids[0]))}"]) for ids in groups.values()
    }


def _kind(name: str | None) -> str:
    return f" ({name})" if name else ""


def _add_part(tree: _Branch, part: _Part, machine: Machine, cores: dict[frozenset[int], str]) -> None:
    branch = tree.add(part.label)
    for inner in part.inner:
        _add_part(branch, inner, machine, cores)
    _add_cores(branch, part, machine, cores)


def _add_cores(tree: _Branch, part: _Part, machine: Machine, cores: dict[frozenset[int], str]) -> None:
    """The cores that lie in this part and in none of its inner ones."""
    taken = frozenset[int]().union(*(inner.cpus for inner in part.inner))
    core_ids = {cpu.id: cpu.core for cpu in machine.cpus}
    # A core that a part cuts in two is drawn where its first CPU lies.
    mine = [ids for ids in cores if min(ids) in part.cpus and min(ids) not in taken]
    for ids in sorted(mine, key=lambda ids: (core_ids[min(ids)], min(ids))):
        core = tree.add(f"{cores[ids]} P#{core_ids[min(ids)]}")
        for cpu_id in sorted(ids):
            core.add(f"PU P#{cpu_id}")


def _add_pci(tree: _Branch, machine: Machine) -> None:
    for root in machine.pci:
        bridge = tree.add(f"HostBridge {root.name}")
        for device in root.devices:
            _add_device(bridge, device)


def _add_device(tree: _Branch, device: PciDevice) -> None:
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
