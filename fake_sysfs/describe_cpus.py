"""The CPU side of a machine file: groups of packages, dies, nodes, cores and threads become CPUs and caches."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.forms import Form, Key, any_of, list_of, mapping_of, shape
from numaproof.fake_sysfs.machine import Cache, CacheKind, Cpu, CpuKind
from numaproof.fake_sysfs.section import NAME_OR_NONE, SIZE_TEXT, Section, choice, parsed, whole, whole_number
from numaproof.fake_sysfs.sizes import SIZE, parse_size
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.fake_sysfs.validate import MAX_CPUS, MAX_NODES
from numaproof.near import did_you_mean

_CACHES: Mapping[str, tuple[int, CacheKind]] = {
    "l1d": (1, "Data"),
    "l1i": (1, "Instruction"),
    "l2": (2, "Unified"),
    "l3": (3, "Unified"),
    "l4": (4, "Unified"),
}
_SHARES = ("core", "node", "die", "package")
_DEFAULT_SHARE = {"l1d": "core", "l1i": "core", "l2": "core", "l3": "die", "l4": "package"}
CACHE = shape(
    "cache",
    "A cache that every core has, alone or with others.",
    {
        "size": Key(SIZE_TEXT, "its size"),
        "share": Key(any_of(choice(*_SHARES), whole(1)), "who shares one: core, node, die, package, or so many cores"),
        "ways": Key(whole(), "its ways of associativity"),
        "line": Key(whole(1), "bytes of a line; without it, 64"),
    },
)
CACHES = Form(
    {
        "type": "object",
        "properties": {
            name: Form({**any_of(SIZE_TEXT, CACHE).words, "description": f"a size, or a mapping; one for each {share}"})
            for name, share in _DEFAULT_SHARE.items()
        },
        "additionalProperties": False,
    }
)
CORES = shape(
    "cores",
    "Equal cores of a NUMA node.",
    {
        "count": Key(whole(1), "how many of them; without it, 1"),
        "threads": Key(whole(1), "CPUs of each; without it, as of the machine or the group"),
        "kind": Key(NAME_OR_NONE, "on a hybrid machine the name of their kind"),
        "mhz": Key(whole(1), "their clock; without it, the CPU's"),
        "caches": Key(CACHES, "their caches, beside those of the machine or the group"),
    },
)
HUGEPAGES = mapping_of(whole(), propertyNames={"pattern": f"^(?:{SIZE.pattern})$"}, examples=[{"2Mi": 512, "1Gi": 4}])
GROUP = shape(
    "group",
    "Equal packages: so many, each with so many dies and NUMA nodes, each node with these cores.",
    {
        "packages": Key(whole(1), "packages, or sockets; without it, 1"),
        "dies": Key(whole(1), "dies of each package; without it, 1"),
        "nodes": Key(whole(1), "NUMA nodes of each package; without it, as many as dies"),
        "cores": Key(any_of(whole(1), list_of(CORES)), "cores of each NUMA node; a list where they are not alike"),
        "threads": Key(whole(1), "CPUs of each core; without it, 1"),
        "memory": Key(SIZE_TEXT, "memory of each NUMA node; without it, 4GiB"),
        "hugepages": Key(HUGEPAGES, "huge pages of each NUMA node, by their size"),
        "caches": Key(CACHES, "the caches: of each core, but l3 of each die and l4 of each package, or as share says"),
    },
)


@dataclass(frozen=True, slots=True)
class CacheShape:
    """A cache that every core of an entry has, alone or with others."""

    size: int
    share: str | int  # one of _SHARES, or a number of cores of one node
    ways: int = 0
    line: int = 64


@dataclass(frozen=True, slots=True)
class CoreEntry:
    """`count` equal cores of a node."""

    count: int
    threads: int
    caches: Mapping[str, CacheShape]
    kind: str = ""  # "": not a hybrid machine
    mhz: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Equal packages: so many, each with so many dies and nodes, each node with these cores."""

    packages: int
    dies: int
    nodes: int
    cores: tuple[CoreEntry, ...]

    @property
    def cores_of_node(self) -> int:
        return sum(entry.count for entry in self.cores)


@dataclass(frozen=True, slots=True)
class _Core:
    package: int
    die: int
    node: int
    entry: CoreEntry
    index: int  # within its entry and node: neighbours may share a cache


def read_group(section: Section) -> Group:
    """A group as it is written, checked for what does not divide evenly."""
    packages = section.integer("packages", 1)
    dies = section.integer("dies", 1)
    nodes = section.integer("nodes", dies)
    threads = section.integer("threads", 1)
    caches = read_caches(section)
    if isinstance(section.data.get("cores"), list):
        cores = tuple(
            _core_entry(Section(where, item, CORES), threads, caches) for where, item in section.items("cores")
        )
    else:
        cores = (CoreEntry(_number_of_cores(section), threads, caches),)
    group = Group(packages, dies, nodes, cores)
    if nodes % dies and dies % nodes:
        raise section.wrong("dies", f"{dies} dies and {nodes} nodes a package: one must be a multiple of the other")
    if dies > nodes and group.cores_of_node % (dies // nodes):
        raise section.wrong("cores", f"{group.cores_of_node} cores a node cannot be split over {dies // nodes} dies")
    total = packages * nodes * sum(entry.count * entry.threads for entry in cores)
    if total > MAX_CPUS or packages * nodes > MAX_NODES:
        raise MachineError(
            f"{section.where}: {total} CPUs on {packages * nodes} nodes: at most {MAX_CPUS} and {MAX_NODES}"
        )
    return group


def _number_of_cores(section: Section) -> int:
    return whole_number(section.data["cores"], section.at("cores"), minimum=1) if "cores" in section else 1


def _core_entry(section: Section, threads: int, caches: Mapping[str, CacheShape]) -> CoreEntry:
    return CoreEntry(
        count=section.integer("count", 1),
        threads=section.integer("threads", threads),
        caches={**caches, **read_caches(section)},
        kind=section.text("kind", ""),
        mhz=section.integer("mhz", 0),
    )


def read_caches(section: Section) -> Mapping[str, CacheShape]:
    """`caches:` of a section: a size, or a mapping with size, share, ways and line."""
    return {name: _cache_shape(where, name, item) for where, name, item in section.pairs("caches")}


def _cache_shape(where: Where, name: str, item: Any) -> CacheShape:
    if name not in _CACHES:
        raise MachineError(
            f"{where}: no such cache; the known ones are {', '.join(_CACHES)}{did_you_mean(name, _CACHES)}"
        )
    if isinstance(item, str):
        return CacheShape(parsed(item, where, parse_size) // 1024 * 1024, _DEFAULT_SHARE[name])
    section = Section(where, item, CACHE)
    share: str | int = section.text("share", _DEFAULT_SHARE[name])
    if share not in _SHARES:
        if not str(share).isdigit():
            raise section.wrong("share", f"must be {', '.join(_SHARES)} or a number of cores")
        share = whole_number(share, section.at("share"), minimum=1)
    return CacheShape(section.size("size", 0), share, section.integer("ways", 0), section.integer("line", 64))


@dataclass(frozen=True, slots=True)
class Layout:
    """CPUs and caches as laid out from groups; `nodes` are the ids of the nodes that got CPUs, with their group."""

    cpus: tuple[Cpu, ...]
    caches: tuple[Cache, ...]
    kinds: tuple[CpuKind, ...]
    nodes: tuple[tuple[int, int], ...]


def lay_out(
    groups: Sequence[Group], node_ids: Sequence[int], cpulists: Mapping[int, tuple[int, ...]], compact: bool, at: Where
) -> Layout:
    """Number the CPUs: as Linux does on x86 (all first threads, then all second ones), compactly, or by given lists."""
    cores, nodes = _cores(groups, node_ids, at)
    threads = _numbered(cores, cpulists, compact, at)
    cpus: list[Cpu] = []
    next_core: dict[int, int] = defaultdict(int)
    for index in sorted(range(len(cores)), key=lambda index: threads[index][0]):
        core = cores[index]
        core_id = next_core[core.package]
        next_core[core.package] += 1
        cpus.extend(Cpu(cpu, core_id, core.die, core.package, core.node) for cpu in threads[index])
    return Layout(tuple(cpus), _caches(cores, threads), _kinds(cores, threads), nodes)


def _cores(
    groups: Sequence[Group], node_ids: Sequence[int], at: Where
) -> tuple[list[_Core], tuple[tuple[int, int], ...]]:
    wanted = sum(group.packages * group.nodes for group in groups)
    ids = tuple(node_ids) or tuple(range(wanted))
    if len(ids) != wanted or len(set(ids)) != wanted:
        raise MachineError(f"{at}: node-ids: {list(ids)}: the groups have {wanted} nodes; give each its own id")
    cores: list[_Core] = []
    nodes: list[tuple[int, int]] = []
    package = 0
    for number, group in enumerate(groups):
        for _ in range(group.packages):
            for index in range(group.nodes):
                node = ids[len(nodes)]
                nodes.append((node, number))
                cores.extend(_cores_of_node(group, package, index, node))
            package += 1
    return cores, tuple(nodes)


def _cores_of_node(group: Group, package: int, index: int, node: int) -> Iterable[_Core]:
    met = index * group.cores_of_node
    per_die = group.nodes * group.cores_of_node // group.dies
    for entry in group.cores:
        for nth in range(entry.count):
            yield _Core(package, met // per_die, node, entry, nth)
            met += 1


def _numbered(
    cores: Sequence[_Core], cpulists: Mapping[int, tuple[int, ...]], compact: bool, at: Where
) -> list[tuple[int, ...]]:
    """The CPU ids of each core's threads."""
    order = _slots(range(len(cores)), cores, compact)
    if not cpulists:
        ids = dict(zip(order, range(len(order)), strict=True))
    else:
        ids = {}
        by_node: dict[int, list[int]] = defaultdict(list)
        for index, core in enumerate(cores):
            by_node[core.node].append(index)
        strange = sorted(set(cpulists) ^ set(by_node))
        if strange:
            raise MachineError(
                f"{at}: cpulist: node {strange[0]}: give a list for each node that has CPUs, and no other"
            )
        _check_disjoint(cpulists, at)
        for node, members in by_node.items():
            slots = _slots(members, cores, compact)
            if len(slots) != len(cpulists[node]):
                raise MachineError(
                    f"{at}: cpulist: node {node}: {len(cpulists[node])} CPUs, but the node has {len(slots)}: "
                    "its cores times their threads"
                )
            ids.update(zip(slots, cpulists[node], strict=True))
    return [tuple(ids[index, thread] for thread in range(core.entry.threads)) for index, core in enumerate(cores)]


def _check_disjoint(cpulists: Mapping[int, tuple[int, ...]], at: Where) -> None:
    owner: dict[int, int] = {}
    for node, cpus in cpulists.items():
        for cpu in cpus:
            if owner.setdefault(cpu, node) != node:
                raise MachineError(
                    f"{at}: cpulist: node {node}: cpu {cpu}: is in the list of node {owner[cpu]} already"
                )


def _slots(members: Iterable[int], cores: Sequence[_Core], compact: bool) -> list[tuple[int, int]]:
    """(core, thread) in the order in which CPU ids are given out."""
    slots = [(index, thread) for index in members for thread in range(cores[index].entry.threads)]
    return slots if compact else sorted(slots, key=lambda slot: (slot[1], slot[0]))


def _caches(cores: Sequence[_Core], threads: Sequence[tuple[int, ...]]) -> tuple[Cache, ...]:
    shared: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for index, core in enumerate(cores):
        for name, cache in core.entry.caches.items():
            shared[name, cache, _sharers(core, cache, index)].extend(threads[index])
    found: list[Cache] = []
    counts: dict[str, int] = defaultdict(int)
    for (name, cache, _), cpus in sorted(shared.items(), key=lambda item: min(item[1])):
        level, kind = _CACHES[name]
        found.append(Cache(level, kind, cache.size, tuple(cpus), counts[name], cache.line, cache.ways))
        counts[name] += 1
    return tuple(found)


def _sharers(core: _Core, shape: CacheShape, index: int) -> tuple[object, ...]:
    """What cores must have in common to share a cache."""
    if shape.share == "core":
        return (index,)
    if shape.share == "node":
        return ("node", core.node)
    if shape.share == "die":
        return ("die", core.package, core.die)
    if shape.share == "package":
        return ("package", core.package)
    return ("cores", core.node, id(core.entry), core.index // int(shape.share))


def _kinds(cores: Sequence[_Core], threads: Sequence[tuple[int, ...]]) -> tuple[CpuKind, ...]:
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for core, cpus in zip(cores, threads, strict=True):
        if core.entry.kind:
            found[core.entry.kind, core.entry.mhz].extend(cpus)
    return tuple(CpuKind(name, tuple(cpus), mhz) for (name, mhz), cpus in found.items())
