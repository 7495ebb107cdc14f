"""Machine files: YAML that names a preset and overrides it, or builds a machine from groups."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.alter import without_cpus
from numaproof.fake_sysfs.describe_cpus import GROUP, HUGEPAGES, Group, Layout, lay_out, read_group
from numaproof.fake_sysfs.describe_pci import DEVICES, LINK, ROOT, read_links, read_pci
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.forms import Form, Key, Later, any_of, list_of, mapping_of, shape
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.machine import (
    X86_HUGEPAGE_SIZES,
    Access,
    Hugepages,
    Machine,
    NumaNode,
    SideCache,
)
from numaproof.fake_sysfs.section import CPULIST, LINE, SIZE_TEXT, TEXT, Section, choice, parsed, whole, whole_number
from numaproof.fake_sysfs.sizes import parse_size
from numaproof.fake_sysfs.strict_yaml import Document, Where

_NUMBERINGS = ("linux", "compact")
_BY_NODE = {"propertyNames": {"pattern": whole().words["pattern"]}}
_CPU = shape(
    "cpu",
    "What the CPUs are called.",
    {
        "model": Key(LINE, "the model's name, as /proc/cpuinfo has it"),
        "vendor": Key(LINE, "GenuineIntel, AuthenticAMD, ...; without it, GenuineIntel"),
        "mhz": Key(whole(1), "their clock; without it, 2000"),
    },
)
_ACCESS = shape(
    "access",
    "How near a NUMA node's memory is to its initiators, in the kernel's figures.",
    {
        "initiators": Key(CPULIST, "the NUMA nodes whose CPUs it is nearest to, as a list"),
        "read-latency": Key(whole(), "nanoseconds"),
        "write-latency": Key(whole(), "nanoseconds"),
        "read-bandwidth": Key(whole(), "MiB/s"),
        "write-bandwidth": Key(whole(), "MiB/s"),
    },
)
_SIDE_CACHE = shape(
    "sideCache",
    "A cache on the memory's side.",
    {
        "level": Key(whole(1), "its level; without it, 1"),
        "size": Key(SIZE_TEXT, "its size"),
        "line": Key(whole(), "bytes of a line; without it, 64"),
        "indexing": Key(whole(), "0: direct-mapped, 1: other, 2: unknown"),
        "write-policy": Key(whole(), "0: write-back, 1: write-through, 2: unknown"),
    },
)
_NUMA = shape(
    "numaNode",
    "What is special about a NUMA node; one that no group makes has no CPUs.",
    {
        "memory": Key(SIZE_TEXT, "its memory"),
        "hugepages": Key(HUGEPAGES, "its huge pages, by their size"),
        "access": Key(_ACCESS, "how near its memory is, where the kernel says so"),
        "side-caches": Key(list_of(_SIDE_CACHE), "caches on the memory's side"),
    },
)
_DISTANCES = shape(
    "distances",
    "Distances between NUMA nodes.",
    {
        "local": Key(whole(1), "of a node to itself; without it, 10"),
        "package": Key(whole(1), "between nodes of one package; without it, as remote"),
        "remote": Key(whole(1), "between all others; without it, 20"),
    },
)
_ROW = any_of(list_of(whole()), Form({"type": ["string", "integer"], "minimum": 0, "pattern": r"^[0-9a-fA-FxX\s+]*$"}))


def _presets() -> Form:
    from numaproof.fake_sysfs.catalogue import preset_names  # noqa: PLC0415 (which builds its machines by this file)

    return choice(*preset_names())


MACHINE = shape(
    "machine",
    "A machine that need not exist: a shape, and what is special about it; or a preset with changes.",
    {
        "name": Key(TEXT, "what it is called; without it, as the file"),
        "preset": Key(any_of(Later(_presets)), "where it starts from; what is given here replaces what that says"),
        "notes": Key(list_of(TEXT), "what else is known of it"),
        "sources": Key(list_of(TEXT), "where its figures come from"),
        "figures": Key(mapping_of(TEXT), "by figure: what it rests on, where it is not from a source"),
        "cpu": Key(_CPU, "what the CPUs are called"),
        "groups": Key(list_of(GROUP, least=1), "packages that differ, each with counts of its own"),
        **GROUP.keys,
        "numbering": Key(
            choice(*_NUMBERINGS), "of CPUs; linux: first one thread of every core, then the other; compact: in a row"
        ),
        "cpulist": Key(mapping_of(CPULIST, **_BY_NODE), "by NUMA node: the numbers of its CPUs"),
        "node-ids": Key(list_of(whole()), "the ids of the NUMA nodes with CPUs, one for each"),
        "numa": Key(mapping_of(_NUMA, **_BY_NODE), "by NUMA node: what is special about it"),
        "distances": Key(
            any_of(_DISTANCES, list_of(_ROW)), "local, package and remote; or a matrix, a row for each NUMA node"
        ),
        "spare-nodes": Key(CPULIST, "NUMA nodes that are possible, but not online"),
        "offline": Key(CPULIST, "CPUs that are offline"),
        "isolated": Key(CPULIST, "CPUs that the boot argument isolcpus= names"),
        "hugepage-sizes": Key(list_of(SIZE_TEXT), "the sizes of huge pages that there are; without it, 2Mi and 1Gi"),
        "pci": Key(list_of(ROOT), "host bridges, with the PCI devices behind them"),
        "devices": Key(DEVICES, "PCI devices as a flat list: each bus gets a host bridge"),
        "links": Key(list_of(LINK), "links between devices, such as NVLink"),
    },
)
KEYS = tuple(MACHINE.keys)
_COUNTS = ("packages", "dies", "nodes", "cores", "threads")
_LISTS_OF_COUNTS = ("cpulist", "node-ids", "offline", "isolated")
_DEFAULT_MEMORY = 4 << 30

Description = Mapping[str, Any]


def describe(document: Document, preset: Callable[[str], Description]) -> Machine:
    """The machine that a file describes; `preset` gives the description that a name stands for."""
    return build(document.value, document.where, preset)


def build(data: Description, where: Where, preset: Callable[[str], Description]) -> Machine:
    """The machine of a description; its `preset:` comes first, its own keys override it."""
    return _machine(_resolved(Section(where, data, MACHINE), preset))


def _resolved(section: Section, preset: Callable[[str], Description]) -> Section:
    if "preset" not in section:
        return section
    name = section.text("preset", "")
    with _placed(section.at("preset")):
        data = preset(name)
    base = _resolved(Section(Where(f"preset {name}"), data, MACHINE), preset)
    return Section(section.where, _overridden(base.data, section.data), MACHINE)


def _overridden(base: Description, own: Description) -> Description:
    """`own` on top of `base`: a mapping is merged key by key, notes are added, anything else replaces what was there.

    Whoever gives other counts does not keep the lists that were made for the old ones, nor the name.
    """
    merged = {key: value for key, value in base.items() if key != "name"}
    if "groups" in own:
        merged = {key: value for key, value in merged.items() if key not in GROUP.keys}
    if set(own) & {*_COUNTS, "groups"}:
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
    cpu = section.inner("cpu")
    mhz = cpu.integer("mhz", 2000)
    group_sections = _group_sections(section)
    layout = _layout(section, [read_group(group) for group in group_sections], mhz)
    sizes = tuple(_page_size(where, item) for where, item in section.items("hugepage-sizes")) or X86_HUGEPAGE_SIZES
    made = partial(
        Machine,
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
    offline = section.ids("offline")
    # What does not go together is found out when the machine is made: then no key is known, but the file.
    with _placed(Where(section.where.file)):
        return without_cpus(made(), offline)


@contextmanager
def _placed(where: Where) -> Iterator[None]:
    """A mistake that is found where nobody knows of files is told with this place."""
    try:
        yield
    except MachineError as error:
        raise MachineError(f"{where}: {error}") from None


def _group_sections(section: Section) -> list[Section]:
    """The groups of a description, or its own keys as the only one; what is not a count may be given once for all."""
    own = {key: section.data[key] for key in GROUP.keys if key in section}
    if "groups" not in section:
        return [Section(section.where, own, GROUP)]
    counts = [key for key in _COUNTS if key in own]
    if counts:
        raise section.wrong(counts[0], "give counts either here or in each of `groups`")
    groups = [Section(group.where, {**own, **group.data}, GROUP) for group in section.each("groups")]
    if not groups:
        raise section.wrong("groups", "give at least one group")
    return groups


def _layout(section: Section, groups: list[Group], mhz: int) -> Layout:
    numbering = section.text("numbering", "linux")
    if "numbering" in section and not section.form("numbering").fits(numbering):
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
    own = {whole_number(node, where): Section(where, value, _NUMA) for where, node, value in section.pairs("numa")}
    group_of = dict(layout.nodes)
    nodes = []
    for node in sorted({*group_of, *own}):
        given = own.get(node, Section(section.at("numa"), {}, _NUMA))
        group = groups[group_of[node]] if node in group_of else Section(section.where, {}, GROUP)
        memory = group.size("memory", _DEFAULT_MEMORY if node in group_of else 0)
        nodes.append(
            NumaNode(
                id=node,
                memory=given.size("memory", memory),
                hugepages=_hugepages(given if "hugepages" in given else group),
                access=_access(given),
                side_caches=tuple(_side_cache(cache) for cache in given.each("side-caches")),
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
    given = section.inner("distances")
    local = given.integer("local", 10)
    remote = given.integer("remote", 20)
    near = given.integer("package", remote)

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
    given = section.inner("access")
    figures = [given.integer(key, 0) for key in _ACCESS.keys if key != "initiators"]
    return Access(given.ids("initiators"), *figures)


def _side_cache(given: Section) -> SideCache:
    return SideCache(
        given.integer("level", 1),
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
