"""CPUs, which of them are isolated, and caches of a tree."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from numaproof.fake_sysfs.isolcpus import isolated_among, parse_isolcpus
from numaproof.fake_sysfs.machine import Cache, CacheKind, Cpu
from numaproof.fake_sysfs.tree import Tree, whole_number

CPU = "devices/system/cpu"
DEFAULT_LINE_SIZE = 64
_KINDS: Mapping[str | None, CacheKind] = {"Data": "Data", "Instruction": "Instruction", "Unified": "Unified"}


def read_cpus(tree: Tree, node_of_cpu: Mapping[int, int], first_node: int) -> tuple[Cpu, ...]:
    """The CPUs that have a directory; one that no node claims goes where its package is, else to the first node."""
    ids = tree.numbered(CPU, "cpu")
    listed = _as_set(tree.ids(f"{CPU}/online"))
    online = [cpu for cpu in ids if _is_online(tree, cpu, listed)]
    places = [_place(tree, cpu) for cpu in online]
    cores = _core_ids(places)
    node_of_package: dict[int, int] = {}
    for place in places:
        if place.cpu in node_of_cpu:
            node_of_package.setdefault(place.package, node_of_cpu[place.cpu])
    found = [
        Cpu(
            place.cpu,
            cores[place.cpu],
            place.die,
            place.package,
            node_of_cpu.get(place.cpu, node_of_package.get(place.package, first_node)),
        )
        for place in places
    ]
    off = set(ids) - set(online)
    return (*found, *(Cpu.offline(cpu, node_of_cpu.get(cpu, first_node)) for cpu in off))


def _as_set(ids: Iterable[int] | None) -> set[int] | None:
    return None if ids is None else set(ids)


def _is_online(tree: Tree, cpu: int, listed: set[int] | None) -> bool:
    if listed is not None:
        return cpu in listed
    return tree.number(f"{CPU}/cpu{cpu}/online") != 0


@dataclass(frozen=True, slots=True)
class _Place:
    cpu: int
    core: int | None
    die: int
    package: int
    siblings: tuple[int, ...]  # (): the tree does not say


def _place(tree: Tree, cpu: int) -> _Place:
    at = f"{CPU}/cpu{cpu}/topology"
    siblings = tree.ids(f"{at}/thread_siblings_list") or tree.mask(f"{at}/thread_siblings") or ()
    return _Place(
        cpu=cpu,
        core=_from_zero(tree.number(f"{at}/core_id")),
        die=_from_zero(tree.number(f"{at}/die_id")) or 0,
        package=_from_zero(tree.number(f"{at}/physical_package_id")) or 0,
        siblings=siblings if cpu in siblings else (),
    )


def _from_zero(number: int | None) -> int | None:
    """Virtual machines and some architectures say -1 for what they do not know."""
    return None if number is None or number < 0 else number


def _core_ids(places: Iterable[_Place]) -> dict[int, int]:
    """A core id for each CPU that only its siblings share within the package.

    Some kernels number cores anew on each die or node, or not at all: there the siblings say what one core is.
    """
    owner: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    found: dict[int, int] = {}
    left: list[_Place] = []
    for place in places:
        if place.core is None:
            left.append(place)
            continue
        core = (place.die, place.siblings)
        if owner.setdefault((place.package, place.core), core) == core:
            found[place.cpu] = place.core
        else:
            left.append(place)
    fresh: dict[int, int] = defaultdict(int)
    given: dict[tuple[int, int, tuple[int, ...]], int] = {}
    for place in left:
        core_key = (place.package, place.die, place.siblings or (place.cpu,))
        if core_key not in given:
            while (place.package, fresh[place.package]) in owner:
                fresh[place.package] += 1
            given[core_key] = fresh[place.package]
            owner[place.package, fresh[place.package]] = (place.die, place.siblings)
        found[place.cpu] = given[core_key]
    return found


def read_isolated(tree: Tree, cpus: Iterable[int]) -> tuple[int, ...]:
    """The isolated ones of these CPUs: by the kernel's list, else, as older kernels have none, by its command line."""
    listed = tree.ids(f"{CPU}/isolated")
    if listed is None:
        try:
            listed = parse_isolcpus(tree.proc_text("cmdline") or "")
        except ValueError:
            listed = ()
    return isolated_among(listed, cpus)


def read_caches(tree: Tree, online: set[int]) -> tuple[Cache, ...]:
    """Every cache instance, once, with the online CPUs that share it."""
    found: list[tuple[int | None, Cache]] = []
    covered: dict[int, set[tuple[int, CacheKind]]] = {cpu: set() for cpu in online}
    for cpu in sorted(online):
        indexes = tree.numbered(f"{CPU}/cpu{cpu}/cache", "index")
        if len(indexes) == len(covered[cpu]):
            continue  # all its caches were met at the CPUs that share them
        for index in indexes:
            at = f"{CPU}/cpu{cpu}/cache/index{index}"
            level = tree.number(f"{at}/level")
            kind = _KINDS.get(tree.text(f"{at}/type"))
            if not level or kind is None or (level, kind) in covered[cpu]:
                continue
            shared = tree.ids(f"{at}/shared_cpu_list") or tree.mask(f"{at}/shared_cpu_map") or ()
            cpus = tuple(c for c in shared if c in online and (level, kind) not in covered[c])
            cache = _cache(tree, at, level, kind, cpus if cpu in cpus else (cpu,))
            for c in cache.cpus:
                covered[c].add((level, kind))
            found.append((tree.number(f"{at}/id"), cache))
    return _with_ids(found)


def _cache(tree: Tree, at: str, level: int, kind: CacheKind, cpus: tuple[int, ...]) -> Cache:
    size = whole_number((tree.text(f"{at}/size") or "").removesuffix("K"))
    line = tree.number(f"{at}/coherency_line_size")
    return Cache(
        level=level,
        kind=kind,
        size=max(0, size or 0) * 1024,
        cpus=cpus,
        id=0,
        line_size=DEFAULT_LINE_SIZE if line is None else max(0, line),
        ways=max(0, tree.number(f"{at}/ways_of_associativity") or 0),
    )


def _with_ids(found: Iterable[tuple[int | None, Cache]]) -> tuple[Cache, ...]:
    """The kernel's ids where they are complete and unique for a level and kind; else numbers from 0."""
    groups: dict[tuple[int, CacheKind], list[tuple[int | None, Cache]]] = defaultdict(list)
    for number, cache in found:
        groups[cache.level, cache.kind].append((number, cache))
    numbered: list[Cache] = []
    for members in groups.values():
        said = {number for number, _ in members}
        good = None not in said and len(said) == len(members)
        for index, (number, cache) in enumerate(members):
            numbered.append(replace(cache, id=number if good and number is not None else index))
    return tuple(numbered)
