"""The files of CPUs and caches: `/sys/devices/system/cpu` and the kinds of a hybrid machine."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from numaproof.fake_sysfs.content import Gathering, Link
from numaproof.fake_sysfs.lists import format_cpulist, format_mask
from numaproof.fake_sysfs.machine import Cache, Cpu, Machine

CPU = "sys/devices/system/cpu"
KERNEL_MAX = 8191  # NR_CPUS - 1 of the kernels that distributions ship


def gather_cpus(machine: Machine, out: Gathering) -> None:
    """All files that say which CPUs there are, how they are grouped and what they cache."""
    width = mask_width(machine)
    everything = format_cpulist(cpu.id for cpu in machine.cpus)
    out.line(f"{CPU}/online", format_cpulist(machine.cpu_ids))
    out.line(f"{CPU}/offline", format_cpulist(cpu.id for cpu in machine.cpus if not cpu.online))
    out.line(f"{CPU}/possible", everything)
    out.line(f"{CPU}/present", everything)
    out.line(f"{CPU}/isolated", format_cpulist(machine.isolated))
    out.line(f"{CPU}/kernel_max", max(KERNEL_MAX, width - 1))

    speeds = {cpu: kind.mhz for kind in machine.kinds for cpu in kind.cpus}
    groups = _Groups.of(machine)
    caches = _cache_files(machine, width, out)
    masks: dict[tuple[int, ...], tuple[bytes, bytes]] = {}

    def siblings(ids: tuple[int, ...]) -> tuple[bytes, bytes]:
        if ids not in masks:
            masks[ids] = (out.shared(format_mask(ids, width) + "\n"), out.shared(format_cpulist(ids) + "\n"))
        return masks[ids]

    for cpu in machine.cpus:
        at = f"{CPU}/cpu{cpu.id}"
        out.line(f"{at}/online", int(cpu.online))
        out.found[f"{at}/node{cpu.node}"] = Link(f"../../node/node{cpu.node}")
        if not cpu.online:
            continue
        out.line(f"{at}/cpufreq/cpuinfo_max_freq", speeds.get(cpu.id, machine.mhz) * 1000)
        core = groups.cores[cpu.package, cpu.core]
        package = groups.packages[cpu.package]
        cluster = groups.clusters.get(cpu.id, core)
        out.line(f"{at}/topology/core_id", cpu.core)
        out.line(f"{at}/topology/physical_package_id", cpu.package)
        out.line(f"{at}/topology/die_id", cpu.die)
        out.line(f"{at}/topology/cluster_id", cluster[0])
        for name, ids in (
            ("thread_siblings", core),
            ("core_cpus", core),
            ("cluster_cpus", cluster),
            ("die_cpus", groups.dies[cpu.package, cpu.die]),
            ("core_siblings", package),
            ("package_cpus", package),
        ):
            out.found[f"{at}/topology/{name}"], out.found[f"{at}/topology/{name}_list"] = siblings(ids)
        for index, contents in enumerate(caches.get(cpu.id, ())):
            for name, content in contents:
                out.found[f"{at}/cache/index{index}/{name}"] = content
    for kind in machine.kinds:
        out.line(f"sys/devices/cpu_{kind.name}/cpus", format_cpulist(kind.cpus))
        out.link(f"sys/bus/event_source/devices/cpu_{kind.name}", f"sys/devices/cpu_{kind.name}")


def mask_width(machine: Machine) -> int:
    """The kernel's nr_cpu_ids: how many bits a CPU mask has."""
    return machine.cpus[-1].id + 1


@dataclass(frozen=True, slots=True)
class _Groups:
    """Which online CPUs belong together."""

    cores: dict[tuple[int, int], tuple[int, ...]]
    dies: dict[tuple[int, int], tuple[int, ...]]
    packages: dict[int, tuple[int, ...]]
    clusters: dict[int, tuple[int, ...]]  # by CPU: who shares its L2, which is what x86 calls a cluster

    @classmethod
    def of(cls, machine: Machine) -> "_Groups":
        online = [cpu for cpu in machine.cpus if cpu.online]
        return cls(
            cores=_grouped(online, lambda cpu: (cpu.package, cpu.core)),
            dies=_grouped(online, lambda cpu: (cpu.package, cpu.die)),
            packages=_grouped(online, lambda cpu: cpu.package),
            clusters={cpu: c.cpus for c in machine.caches if (c.level, c.kind) == (2, "Unified") for cpu in c.cpus},
        )


K = TypeVar("K", bound=Hashable)


def _grouped(cpus: Iterable[Cpu], key: Callable[[Cpu], K]) -> dict[K, tuple[int, ...]]:
    found: dict[K, list[int]] = defaultdict(list)
    for cpu in cpus:
        found[key(cpu)].append(cpu.id)
    return {group: tuple(ids) for group, ids in found.items()}


def _cache_files(machine: Machine, width: int, out: Gathering) -> dict[int, list[list[tuple[str, bytes]]]]:
    """For each CPU the contents of its cache/indexN directories: level by level, data before instructions."""
    found: dict[int, list[list[tuple[str, bytes]]]] = defaultdict(list)
    for cache in sorted(machine.caches, key=lambda cache: (cache.level, cache.kind)):
        contents = [(name, out.shared(f"{value}\n")) for name, value in _cache_lines(cache, width)]
        for cpu in cache.cpus:
            found[cpu].append(contents)
    return found


def _cache_lines(cache: Cache, width: int) -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [
        ("id", cache.id),
        ("level", cache.level),
        ("type", cache.kind),
        ("size", f"{cache.size // 1024}K"),
        ("shared_cpu_map", format_mask(cache.cpus, width)),
        ("shared_cpu_list", format_cpulist(cache.cpus)),
        ("coherency_line_size", cache.line_size),
        ("physical_line_partition", 1),
    ]
    if cache.ways:
        lines.append(("ways_of_associativity", cache.ways))
    if cache.ways and cache.line_size:
        lines.append(("number_of_sets", cache.size // (cache.ways * cache.line_size)))
    return lines
