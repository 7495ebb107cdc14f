"""A machine as a machine file says it: the way back from a model to a description that people can change."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from numaproof.fake_sysfs.describe import build
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import X86_HUGEPAGE_SIZES, Cache, Cpu, Machine, NumaNode
from numaproof.fake_sysfs.machine_file_pci import pci_keys
from numaproof.fake_sysfs.sizes import format_size
from numaproof.fake_sysfs.strict_yaml import Where

_CACHE_NAMES = {"Data": "d", "Instruction": "i", "Unified": ""}
_Cores = tuple[tuple[Cpu, ...], ...]


def description_of(machine: Machine) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a machine file says of a machine, in few keys; and what of the machine no such file can say."""
    best: tuple[dict[str, Any], tuple[str, ...]] | None = None
    for numbering in ("linux", "compact"):
        for with_lists in (False, True):
            told = _description(machine, numbering, with_lists=with_lists)
            lost = _lost(told, machine)
            if not lost:
                return told, ()
            if lost[0] and (best is None or len(lost) < len(best[1])):
                best = told, lost
    if best is None:
        raise MachineError(f"machine {machine.name}: no machine file can say how its CPUs lie; keep it as a tree")
    return best


def _lost(told: Mapping[str, Any], machine: Machine) -> tuple[str, ...]:
    """What is another machine's when the description is read again; an empty word: it cannot be read at all."""
    try:
        made = build(_as_text(told), Where("machine.yaml"), lambda name: {})
    except MachineError:
        return ("",)
    names = [one.name for one in fields(Machine)]
    return tuple(name.replace("_", " ") for name in names if getattr(made, name) != getattr(machine, name))


def _as_text(value: Any) -> Any:
    """A description as the reader of machine files has it: every scalar is a text."""
    if isinstance(value, Mapping):
        return {str(key): _as_text(one) for key, one in value.items()}
    return [_as_text(one) for one in value] if isinstance(value, list) else str(value)


def _description(machine: Machine, numbering: str, *, with_lists: bool) -> dict[str, Any]:
    packages = _packages(machine)
    told: dict[str, Any] = {"name": machine.name}
    if machine.notes:
        told["notes"] = list(machine.notes)
    told["cpu"] = {"model": machine.cpu_model, "vendor": machine.cpu_vendor, "mhz": machine.mhz}
    groups = [
        {"packages": len(list(alike)), **group} for group, alike in groupby(_group(machine, one) for one in packages)
    ]
    told |= groups[0] if len(groups) == 1 else {"groups": groups}
    nodes = [node for package in packages for node in package]
    if numbering != "linux":
        told["numbering"] = numbering
    if with_lists:
        told["cpulist"] = {
            node: format_cpulist(cpu.id for core in cores for cpu in core)
            for package in packages
            for node, cores in package.items()
        }
    if nodes != list(range(len(nodes))):
        told["node-ids"] = nodes
    return told | _memory(machine, nodes) | _rest(machine) | pci_keys(machine)


def _rest(machine: Machine) -> dict[str, Any]:
    sizes = [format_size(size * 1024) for size in machine.hugepage_sizes]
    lists = {
        "spare-nodes": machine.spare_nodes,
        "offline": [cpu.id for cpu in machine.cpus if not cpu.online],
        "isolated": machine.isolated,
    }
    told: dict[str, Any] = {key: format_cpulist(ids) for key, ids in lists.items() if ids}
    return told | ({"hugepage-sizes": sizes} if machine.hugepage_sizes != X86_HUGEPAGE_SIZES else {})


def _packages(machine: Machine) -> list[dict[int, _Cores]]:
    """Of each package its NUMA nodes with their cores; CPUs that are offline fill up cores, or make some."""
    found: dict[tuple[int, int], dict[tuple[int, int], list[Cpu]]] = defaultdict(lambda: defaultdict(list))
    for cpu in machine.cpus:
        if cpu.online:
            found[cpu.package, cpu.node][cpu.package, cpu.core].append(cpu)
    threads = max((len(core) for cores in found.values() for core in cores.values()), default=1)
    for (package, node), cores in found.items():
        off = [cpu for cpu in machine.cpus if not cpu.online and cpu.node == node]
        for core in cores.values():
            while off and len(core) < threads:
                core.append(off.pop(0))
        for number in range(0, len(off), threads):
            cores[package, -1 - number] = off[number : number + threads]
    made: dict[int, dict[int, _Cores]] = defaultdict(dict)
    for package, node in sorted(found):
        cores = found[package, node]
        made[package][node] = tuple(sorted((tuple(core) for core in cores.values()), key=lambda core: min(_ids(core))))
    return list(made.values())


def _ids(core: Sequence[Cpu]) -> list[int]:
    return [cpu.id for cpu in core]


def _group(machine: Machine, package: Mapping[int, _Cores]) -> dict[str, Any]:
    """The counts of a package, without those that are usual."""
    dies = len({cpu.die for cores in package.values() for core in cores for cpu in core if cpu.online})
    entries = [list(_entries(machine, cores)) for cores in package.values()]
    told: dict[str, Any] = {"dies": dies} if dies > 1 else {}
    if len(package) != dies:
        told["nodes"] = len(package)
    if any(one != entries[0] for one in entries):
        return {**told, "cores": entries[0]}  # which is then told as lost
    if len(entries[0]) == 1 and not {"kind", "mhz"} & entries[0][0].keys():
        only = dict(entries[0][0])
        return {**told, "cores": only.pop("count"), **only}
    return {**told, "cores": entries[0]}


def _entries(machine: Machine, cores: _Cores) -> Iterator[dict[str, Any]]:
    """Cores of a NUMA node, those that are alike and side by side as one entry."""
    kinds = {cpu: kind for kind in machine.kinds for cpu in kind.cpus}
    by_cpu: dict[int, list[Cache]] = defaultdict(list)
    for cache in machine.caches:
        for cpu in cache.cpus:
            by_cpu[cpu].append(cache)

    def entry(core: tuple[Cpu, ...]) -> dict[str, Any]:
        online = next((cpu for cpu in core if cpu.online), core[0])
        told: dict[str, Any] = {"threads": len(core)}
        if kind := kinds.get(online.id):
            told |= {"kind": kind.name, "mhz": kind.mhz}
        caches = {
            f"l{one.level}{_CACHE_NAMES[one.kind]}": _cache(machine, one, online)
            for one in sorted(by_cpu[online.id], key=lambda one: (one.level, one.kind))
        }
        return told | ({"caches": caches} if caches else {})

    for told, alike in groupby(entry(core) for core in cores):
        yield {"count": len(list(alike)), **told}


def _cache(machine: Machine, cache: Cache, of: Cpu) -> dict[str, Any]:
    """A cache as a core has it: with whom it is shared is told by what the sharers have in common."""
    told: dict[str, Any] = {"size": format_size(cache.size), "share": _share(machine, cache, of)}
    if cache.ways:
        told["ways"] = cache.ways
    if cache.line_size != 64:
        told["line"] = cache.line_size
    return told


def _share(machine: Machine, cache: Cache, of: Cpu) -> str | int:
    online = [cpu for cpu in machine.cpus if cpu.online and cpu.package == of.package]
    alike = {
        "core": [cpu.id for cpu in online if cpu.core == of.core],
        "node": [cpu.id for cpu in online if cpu.node == of.node],
        "die": [cpu.id for cpu in online if cpu.die == of.die],
        "package": [cpu.id for cpu in online],
    }
    shared = next((name for name, ids in alike.items() if tuple(ids) == cache.cpus), None)
    return shared or len({cpu.core for cpu in online if cpu.id in cache.cpus})


def _memory(machine: Machine, with_cpus: Sequence[int]) -> dict[str, Any]:
    """Memory and huge pages, once where all NUMA nodes with CPUs have the same, and else of each; distances."""
    own = {node.id: _of_node(node) for node in machine.nodes}
    first = own[with_cpus[0]]
    told: dict[str, Any] = {}
    for key in ("memory", "hugepages"):
        if key in first and all(own[node].get(key) == first[key] for node in with_cpus):
            told[key] = first[key]
            for node in with_cpus:
                del own[node][key]
    if numa := {node: one for node, one in own.items() if one or node not in with_cpus}:
        told["numa"] = numa
    return told | {"distances": _distances(machine)}


def _of_node(node: NumaNode) -> dict[str, Any]:
    told: dict[str, Any] = {"memory": format_size(node.memory)}
    if node.hugepages:
        told["hugepages"] = {format_size(page.size_kb * 1024): page.pages for page in node.hugepages}
    if node.access is not None:
        access = node.access
        told["access"] = {
            "initiators": format_cpulist(access.initiators),
            "read-latency": access.read_latency,
            "write-latency": access.write_latency,
            "read-bandwidth": access.read_bandwidth,
            "write-bandwidth": access.write_bandwidth,
        }
    if node.side_caches:
        told["side-caches"] = [
            {
                "level": one.level,
                "size": format_size(one.size),
                "line": one.line_size,
                "indexing": one.indexing,
                "write-policy": one.write_policy,
            }
            for one in node.side_caches
        ]
    return told


def _distances(machine: Machine) -> dict[str, int] | list[list[int]]:
    """Three figures where they say all of it, and else the matrix."""
    package = {cpu.node: cpu.package for cpu in machine.cpus if cpu.online}
    figures: dict[str, set[int]] = {"local": set(), "package": set(), "remote": set()}
    for node in machine.nodes:
        for other, distance in zip(machine.nodes, node.distances, strict=True):
            near = node.id in package and package[node.id] == package.get(other.id)
            figures["local" if node is other else "package" if near else "remote"].add(distance)
    if all(len(values) <= 1 for values in figures.values()):
        return {key: values.pop() for key, values in figures.items() if values}
    return [list(node.distances) for node in machine.nodes]
