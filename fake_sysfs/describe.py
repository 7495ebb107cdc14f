"""Machine files: YAML that names a preset and overrides it, or builds a machine from groups."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.describe_cpus import GROUP_KEYS, Group, Layout, lay_out, read_group
from numaproof.fake_sysfs.describe_pci import read_links, read_pci
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.machine import (
    X86_HUGEPAGE_SIZES,
    Access,
    Hugepages,
    Machine,
    NumaNode,
    SideCache,
)
from numaproof.fake_sysfs.section import Section, parsed, whole_number
from numaproof.fake_sysfs.sizes import parse_size
from numaproof.fake_sysfs.strict_yaml import Document, Where

KEYS = (
    "name",
    "preset",
    "notes",
    "sources",
    "figures",
    "cpu",
    "groups",
    *GROUP_KEYS,
    "numbering",
    "cpulist",
    "node-ids",
    "numa",
    "distances",
    "spare-nodes",
    "offline",
    "isolated",
    "hugepage-sizes",
    "pci",
    "devices",
    "links",
)
_CPU_KEYS = ("model", "vendor", "mhz")
_NUMA_KEYS = ("memory", "hugepages", "access", "side-caches")
_ACCESS_KEYS = ("initiators", "read-latency", "write-latency", "read-bandwidth", "write-bandwidth")
_SIDE_CACHE_KEYS = ("level", "size", "line", "indexing", "write-policy")
_DISTANCE_KEYS = ("local", "package", "remote")
_LISTS_OF_COUNTS = ("cpulist", "node-ids", "offline", "isolated")
_NUMBERINGS = ("linux", "compact")
_DEFAULT_MEMORY = 4 << 30

Description = Mapping[str, Any]


def describe(document: Document, preset: Callable[[str], Description]) -> Machine:
    """The machine that a file describes; `preset` gives the description that a name stands for."""
    return build(document.value, document.where, preset)


def build(data: Description, where: Where, preset: Callable[[str], Description]) -> Machine:
    """The machine of a description; its `preset:` comes first, its own keys override it."""
    return _machine(_resolved(Section(where, data, KEYS), preset))


def _resolved(section: Section, preset: Callable[[str], Description]) -> Section:
    if "preset" not in section:
        return section
    name = section.text("preset", "")
    base = _resolved(Section(Where(f"preset {name}"), preset(name), KEYS), preset)
    return Section(section.where, _overridden(base.data, section.data), KEYS)


def _overridden(base: Description, own: Description) -> Description:
    """`own` on top of `base`: a mapping is merged key by key, notes are added, anything else replaces what was there.

    Whoever gives other counts does not keep the lists that were made for the old ones, nor the name.
    """
    merged = {key: value for key, value in base.items() if key != "name"}
    if "groups" in own:
        merged = {key: value for key, value in merged.items() if key not in GROUP_KEYS}
    if set(own) & {"packages", "dies", "nodes", "cores", "threads", "groups"}:
        merged = {key: value for key, value in merged.items() if key not in _LISTS_OF_COUNTS}
    for key, value in own.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = {**old, **value}
        elif key in ("notes", "sources") and isinstance(old, list) and isinstance(value, list):
            merged[key] = [*old, *value]
        else:
            merged[key] = value
    merged.pop("preset", None)
    return merged


def _machine(section: Section) -> Machine:
    cpu = Section(section.at("cpu"), section.data.get("cpu", {}), _CPU_KEYS)
    mhz = cpu.integer("mhz", 2000, minimum=1)
    group_sections = _group_sections(section)
    layout = _layout(section, [read_group(group) for group in group_sections], mhz)
    sizes = tuple(_page_size(where, item) for where, item in section.items("hugepage-sizes")) or X86_HUGEPAGE_SIZES
    machine = Machine(
        name=section.text("name", "") or Path(section.where.file).stem or "machine",
        cpus=layout.cpus,
        nodes=_nodes(section, group_sections, layout),
        caches=layout.caches,
        pci=read_pci(section),
        links=read_links(section),
        spare_nodes=section.ids("spare-nodes"),
        kinds=layout.kinds,
        isolated=section.ids("isolated"),
        hugepage_sizes=sizes,
        cpu_model=cpu.text("model", "numaproof CPU"),
        cpu_vendor=cpu.text("vendor", "GenuineIntel"),
        mhz=mhz,
        notes=_notes(section),
    )
    return without_cpus(machine, section.ids("offline"))


def _group_sections(section: Section) -> list[Section]:
    """The groups of a description, or its own keys as the only one; what is not a count may be given once for all."""
    own = {key: section.data[key] for key in GROUP_KEYS if key in section}
    if "groups" not in section:
        return [Section(section.where, own, GROUP_KEYS)]
    counts = [key for key in ("packages", "dies", "nodes", "cores", "threads") if key in own]
    if counts:
        raise section.wrong(counts[0], "give counts either here or in each of `groups`")
    groups = [
        Section(where, {**own, **Section(where, item, GROUP_KEYS).data}, GROUP_KEYS)
        for where, item in section.items("groups")
    ]
    if not groups:
        raise section.wrong("groups", "give at least one group")
    return groups


def _layout(section: Section, groups: list[Group], mhz: int) -> Layout:
    numbering = section.text("numbering", "linux")
    if numbering not in _NUMBERINGS:
        raise section.wrong("numbering", f"must be one of {', '.join(_NUMBERINGS)}")
    cpulists = {
        whole_number(node, where): parsed(value, where, parse_cpulist)
        for where, node, value in section.pairs("cpulist")
    }
    node_ids = tuple(whole_number(item, where) for where, item in section.items("node-ids"))
    layout = lay_out(groups, node_ids, cpulists, numbering == "compact", section.where)
    kinds = tuple(kind if kind.mhz else replace(kind, mhz=mhz) for kind in layout.kinds)
    return replace(layout, kinds=kinds)


def _nodes(section: Section, groups: list[Section], layout: Layout) -> tuple[NumaNode, ...]:
    """The nodes that the groups made, and the CPU-less ones that only `numa:` names."""
    own = {whole_number(node, where): Section(where, value, _NUMA_KEYS) for where, node, value in section.pairs("numa")}
    group_of = dict(layout.nodes)
    nodes = []
    for node in sorted({*group_of, *own}):
        given = own.get(node, Section(section.at("numa"), {}, _NUMA_KEYS))
        group = groups[group_of[node]] if node in group_of else Section(section.where, {}, GROUP_KEYS)
        memory = group.size("memory", _DEFAULT_MEMORY if node in group_of else 0)
        nodes.append(
            NumaNode(
                id=node,
                memory=given.size("memory", memory),
                hugepages=_hugepages(given if "hugepages" in given else group),
                access=_access(given),
                side_caches=tuple(_side_cache(where, item) for where, item in given.items("side-caches")),
            )
        )
    rows = _distances(section, [node.id for node in nodes], _packages(layout))
    return tuple(replace(node, distances=row) for node, row in zip(nodes, rows, strict=True))


def _packages(layout: Layout) -> dict[int, int]:
    return {cpu.node: cpu.package for cpu in layout.cpus}


def _distances(section: Section, nodes: list[int], package: Mapping[int, int]) -> list[tuple[int, ...]]:
    """A matrix as it is written, or one made of `local`, `package` and `remote`."""
    if isinstance(section.data.get("distances"), list):
        rows = []
        for where, row in section.items("distances"):
            values = row if isinstance(row, list) else str(row).split()
            rows.append(tuple(whole_number(value, where) for value in values))
        if len(rows) != len(nodes) or any(len(row) != len(nodes) for row in rows):
            sizes = ", ".join(str(len(row)) for row in rows)
            raise MachineError(
                f"{section.at('distances')}: {len(rows)} rows of {sizes} entries for {len(nodes)} nodes: "
                "give each node a row with one entry for each node"
            )
        return rows
    given = Section(section.at("distances"), section.data.get("distances", {}), _DISTANCE_KEYS)
    local = given.integer("local", 10, minimum=1)
    remote = given.integer("remote", 20, minimum=1)
    near = given.integer("package", remote, minimum=1)

    def distance(a: int, b: int) -> int:
        if a == b:
            return local
        return near if a in package and package[a] == package.get(b) else remote

    return [tuple(distance(a, b) for b in nodes) for a in nodes]


def _hugepages(section: Section) -> tuple[Hugepages, ...]:
    return tuple(
        Hugepages(_page_size(where, size), whole_number(pages, where))
        for where, size, pages in section.pairs("hugepages")
    )


def _page_size(where: Where, text: Any) -> int:
    size = parsed(text, where, parse_size)
    if size < 1024 or size % 1024:
        raise MachineError(f"{where}: {text}: is not a page size; write 2Mi or 1Gi")
    return size // 1024


def _access(section: Section) -> Access | None:
    if "access" not in section:
        return None
    given = Section(section.at("access"), section.data["access"], _ACCESS_KEYS)
    return Access(given.ids("initiators"), *(given.integer(key, 0) for key in _ACCESS_KEYS[1:]))


def _side_cache(where: Where, item: Any) -> SideCache:
    given = Section(where, item, _SIDE_CACHE_KEYS)
    return SideCache(
        given.integer("level", 1, minimum=1),
        given.size("size", 0),
        given.integer("line", 64),
        given.integer("indexing", 0),
        given.integer("write-policy", 0),
    )


def _notes(section: Section) -> tuple[str, ...]:
    """Notes, what each doubtful figure rests on, and the sources: all of it goes with the machine."""
    notes = [parsed(item, where, str) for where, item in section.items("notes")]
    notes += [f"{name}: {parsed(item, where, str)}" for where, name, item in section.pairs("figures")]
    notes += [f"source: {parsed(item, where, str)}" for where, item in section.items("sources")]
    return tuple(notes)
