"""lstopo's XML of hwloc 1 and 2: packages, dies, cores, CPUs, caches, NUMA nodes with memory, and PCI devices."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import (
    UNKNOWN,
    X86_HUGEPAGE_SIZES,
    Cache,
    CacheKind,
    Cpu,
    CpuKind,
    Hugepages,
    Machine,
    NumaNode,
    SideCache,
)
from numaproof.fake_sysfs.texts.read_lstopo_pci import read_pci
from numaproof.fake_sysfs.texts.told import ASSUMED, MOST_CPUS, MOST_NODES, ids_of
from numaproof.fake_sysfs.texts.topology_xml import Element, read_elements

_CACHE = re.compile(r"L([1-5])(i?)Cache|Cache")
_KINDS: Mapping[str, CacheKind] = {"0": "Unified", "1": "Data", "2": "Instruction"}
_CORE_TYPES = {"IntelAtom": "atom", "IntelCore": "core"}  # as hwloc calls what the kernel calls cpu_atom and cpu_core
_LATENCY = 4  # the bit of a matrix of distances whose values are latencies
_FARTHEST = 255
_DEFAULT_MHZ = 2000
_HIGHEST = 1 << 20  # of the numbers of packages, dies, cores and caches
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_GROUP = re.compile(r"[0-9a-fA-F]{1,8}")


@dataclass(slots=True)
class _Objects:
    """What the XML tells of, and the CPUs below each element: the tree says it, whichever masks are written out."""

    nodes: list[Element] = field(default_factory=list)
    caches: list[Element] = field(default_factory=list)
    pus: dict[int, Element] = field(default_factory=dict)
    cpus: dict[Element, list[int]] = field(default_factory=lambda: defaultdict(list))


def read_lstopo(text: str, name: str) -> Machine:
    """The machine; of XML that is cut off or damaged, what comes before, which is said."""
    top, problem = read_elements(text)
    notes = [f"lstopo's XML cannot be read from {problem}: the machine has what comes before"] if problem else []
    objects = _objects(top)
    if not objects.pus:
        raise MachineError("lstopo's XML has no PU, so no CPU; give the whole file")
    ids = _node_ids(objects.nodes)
    owner = _owners(top, objects, ids, notes)
    cpus = _cpus(objects, owner)
    rows = _distances(top, [ids[node] for node in objects.nodes])
    nodes = tuple(_node(node, ids[node], rows.get(ids[node], ())) for node in objects.nodes)
    if len(nodes) > 1 and not rows:
        notes.append("distances are not told: 10 within a NUMA node, 20 from one to another")
    sizes = {size for element in top.walk() if element.tag == "page_type" for size, _ in [_page_type(element)] if size}
    return Machine(
        name=name,
        cpus=cpus,
        nodes=nodes or (_whole(top, notes),),
        caches=tuple(_caches(objects)),
        pci=read_pci(top, objects.cpus, owner, ids),
        kinds=_kinds(top, set(objects.pus)),
        hugepage_sizes=tuple(sorted(sizes - {min(sizes)})) if len(sizes) > 1 else X86_HUGEPAGE_SIZES,
        cpu_model=_info(top, "CPUModel") or UNKNOWN,
        cpu_vendor=_info(top, "CPUVendor") or UNKNOWN,
        mhz=max((_speed(kind) for kind in top.of("cpukind")), default=0) or _DEFAULT_MHZ,
        notes=tuple(f"{ASSUMED}{note}" for note in notes),
    )


def _objects(top: Element) -> _Objects:
    found = _Objects()
    for element in top.walk():
        kind = element.get("type") if element.tag == "object" else ""
        if kind == "NUMANode":
            found.nodes.append(element)
        elif _CACHE.fullmatch(kind):
            found.caches.append(element)
        elif kind == "PU":
            cpu = element.number("os_index")
            if cpu is None or cpu >= MOST_CPUS:
                raise MachineError(
                    f"lstopo's XML has a PU of os_index {element.get('os_index')!r}: not 0-{MOST_CPUS - 1}"
                )
            if found.pus.setdefault(cpu, element) is element:
                for above in element.above_all():
                    found.cpus[above].append(cpu)
    return found


def _node_ids(nodes: Iterable[Element]) -> dict[Element, int]:
    found: dict[Element, int] = {}
    for node in nodes:
        number = node.number("os_index")
        if number is None or number >= MOST_NODES or number in found.values():
            raise MachineError(
                f"lstopo's XML has a NUMA node of os_index {node.get('os_index')!r}: not 0-{MOST_NODES - 1}, or twice"
            )
        found[node] = number
    return found


def _owners(top: Element, objects: _Objects, ids: Mapping[Element, int], notes: list[str]) -> dict[int, int]:
    """The node of each CPU: the nearest, of several the lowest. lstopo shows a node without CPUs beside another's."""
    beside = {node: objects.cpus[_beside(node) if top.get("version") else node] for node in ids}
    owner: dict[int, int] = {}
    for node in sorted(ids, key=lambda node: (len(beside[node]), ids[node])):
        for cpu in beside[node]:
            owner.setdefault(cpu, ids[node])
    without = [ids[node] for node in ids if beside[node] and ids[node] not in set(owner.values())]
    if without:
        notes.append(
            f"NUMA node {format_cpulist(without)}: has no CPUs of its own, as lstopo shows it beside another one's"
        )
    lost = sorted(set(objects.pus) - set(owner))
    if lost and ids:
        first = min(ids.values())
        notes.append(f"CPU {format_cpulist(lost)}: on NUMA node {first}, as the XML does not tell")
        owner |= dict.fromkeys(lost, first)
    return owner or dict.fromkeys(lost, 0)


def _beside(node: Element) -> Element:
    """What a node of hwloc 2 is attached to, through caches of memory."""
    return next((above for above in node.above_all() if above.get("type") not in ("NUMANode", "MemCache")), node)


def _cpus(objects: _Objects, owner: Mapping[int, int]) -> tuple[Cpu, ...]:
    packages: dict[Element | None, int] = {}
    dies: dict[Element | None, int] = {}
    cores: dict[Element, int] = {}
    taken: dict[object, set[int]] = defaultdict(set)
    found = []
    for cpu, pu in objects.pus.items():
        around = {above.get("type"): above for above in reversed(list(pu.above_all()))}
        package = around.get("Package", around.get("Socket"))
        at = _numbered(package, packages, taken["package"]) if package is not None else 0
        die = around.get("Die")
        on = _numbered(die, dies, taken["die", at]) if die is not None else 0
        core = _numbered(around.get("Core", pu), cores, taken["core", at])
        found.append(Cpu(cpu, core, on, at, owner[cpu]))
    return tuple(found)


def _numbered(element: Element, known: dict[Any, int], taken: set[int]) -> int:
    """The kernel's number of a thing, if no other of its kind has it there; else the next that is free."""
    if element not in known:
        number = element.number("os_index")
        if number is None or number in taken or number > _HIGHEST:
            number = next(free for free in range(len(taken) + 1) if free not in taken)
        taken.add(number)
        known[element] = number
    return known[element]


def _caches(objects: _Objects) -> Iterator[Cache]:
    taken: dict[object, set[int]] = defaultdict(set)
    known: dict[Element, int] = {}
    for cache in objects.caches:
        name = _CACHE.fullmatch(cache.get("type"))
        level = int(name[1]) if name and name[1] else cache.number("depth")
        kind = _KINDS.get(cache.get("cache_type"), "Instruction" if name and name[2] else "Unified")
        if level and objects.cpus[cache]:
            yield Cache(
                level=level,
                kind=kind,
                size=(cache.number("cache_size") or 0) // 1024 * 1024,
                cpus=tuple(objects.cpus[cache]),
                id=_numbered(cache, known, taken[level, kind]),
                line_size=cache.number("cache_linesize") or 0,
                ways=cache.number("cache_associativity") or 0,
            )


def _node(node: Element, number: int, distances: tuple[int, ...]) -> NumaNode:
    memory = (node.number("local_memory") or 0) // 1024 * 1024
    pages = sorted(_page_type(element) for element in node.of("page_type"))[1:]  # the smallest are no huge ones
    huge = tuple(Hugepages(size, count) for size, count in pages if size)
    if sum(one.size_kb * one.pages * 1024 for one in huge) > memory:
        huge = ()
    caches = [above for above in node.above_all() if above.get("type") == "MemCache"]
    return NumaNode(
        number, memory, huge, distances, side_caches=tuple(map(_side_cache, range(1, 1 + len(caches)), caches))
    )


def _side_cache(level: int, cache: Element) -> SideCache:
    return SideCache(level, cache.number("cache_size") or 0, cache.number("cache_linesize") or 0)


def _whole(top: Element, notes: list[str]) -> NumaNode:
    """The only node of a machine whose XML has none: hwloc 1 leaves it out where the kernel knows no NUMA."""
    machine = next(iter(top.of("object")), top)
    notes.append("one NUMA node, with all CPUs and the memory of the machine: the XML has none")
    return _node(machine, 0, ())


def _page_type(element: Element) -> tuple[int, int]:
    """Pages of a size, in kB, and how many there are; a size of 0 for no such thing."""
    return (element.number("size") or 0) // 1024, element.number("count") or 0


def _distances(top: Element, nodes: list[int]) -> dict[int, tuple[int, ...]]:
    """A row for each node, in the order of the nodes' numbers; nothing if the XML has no whole matrix."""
    for ids, values in (*_matrices(top), *_old_matrices(top, nodes)):
        if sorted(ids) != sorted(nodes) or len(values) != len(ids) ** 2:
            continue
        if not all(1 <= value <= _FARTHEST for value in values):
            continue
        place = {node: index for index, node in enumerate(ids)}
        ordered = sorted(ids)
        return {a: tuple(values[place[a] * len(ids) + place[b]] for b in ordered) for a in ordered}
    return {}


def _matrices(top: Element) -> Iterator[tuple[list[int], list[int]]]:
    for matrix in top.of("distances2"):
        about_nodes = matrix.get("type") == "NUMANode" and matrix.get("indexing") in ("os", "")
        if about_nodes and (matrix.number("kind") or 0) & _LATENCY:
            yield _numbers(matrix, "indexes"), _numbers(matrix, "u64values")


def _numbers(matrix: Element, tag: str) -> list[int]:
    words = [word for part in matrix.of(tag) for word in "".join(part.texts).split()]
    return [int(word) if word.isascii() and word.isdigit() and len(word) <= 9 else 0 for word in words]


def _old_matrices(top: Element, nodes: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """hwloc 1 writes figures that are multiplied by a base, for the nodes in the order of the text."""
    for matrix in top.walk():
        if matrix.tag == "distances" and matrix.number("nbobjs") == len(nodes):
            base = _decimal(matrix.get("latency_base"))
            yield nodes, [round(base * _decimal(value.get("value"))) for value in matrix.of("latency")]


def _decimal(text: str) -> float:
    return float(text) if _DECIMAL.fullmatch(text) else 0.0


def _kinds(top: Element, here: set[int]) -> tuple[CpuKind, ...]:
    """Kinds of cores, where hwloc has names for them."""
    found: dict[str, CpuKind] = {}
    for kind in top.of("cpukind"):
        name = _CORE_TYPES.get(_info(kind, "CoreType"))
        cpus = tuple(cpu for cpu in _mask(kind.get("cpuset")) if cpu in here)
        if name and cpus:
            found.setdefault(name, CpuKind(name, cpus, _speed(kind) or _DEFAULT_MHZ))
    return tuple(found.values())


def _speed(kind: Element) -> int:
    text = _info(kind, "FrequencyMaxMHz")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0


def _mask(text: str) -> tuple[int, ...]:
    """hwloc writes 0x before each group of 32 bits, and leaves groups of zeros empty; one without end says nothing."""
    groups = [group.removeprefix("0x") or "0" for group in text.split(",")]
    if len(groups) > MOST_CPUS // 32 or not all(_GROUP.fullmatch(group) for group in groups):
        return ()
    return ids_of(int("".join(group.zfill(8) for group in groups), 16))


def _info(element: Element, name: str) -> str:
    """The value that hwloc notes down under a name, in one line; "" if it does not."""
    for one in element.walk():
        if one.tag == "info" and one.get("name") == name:
            return " ".join(one.get("value").split())[:200]
    return ""
