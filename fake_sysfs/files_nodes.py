"""The files of NUMA nodes and of huge pages: `/sys/devices/system/node` and `/sys/kernel/mm/hugepages`."""

from numaproof.fake_sysfs.content import Gathering, Link
from numaproof.fake_sysfs.files_cpus import mask_width
from numaproof.fake_sysfs.lists import format_cpulist, format_mask
from numaproof.fake_sysfs.machine import Machine, NumaNode

NODE = "sys/devices/system/node"
HUGEPAGES = "sys/kernel/mm/hugepages"


def gather_nodes(machine: Machine, out: Gathering) -> None:
    """All files that say which nodes there are, what memory and CPUs they have and how far apart they lie."""
    by_node = machine.cpus_by_node()
    with_memory = format_cpulist(node.id for node in machine.nodes if node.memory)
    out.line(f"{NODE}/online", format_cpulist(machine.node_ids))
    out.line(f"{NODE}/possible", format_cpulist((*machine.node_ids, *machine.spare_nodes)))
    out.line(f"{NODE}/has_cpu", format_cpulist(node for node, cpus in by_node.items() if cpus))
    out.line(f"{NODE}/has_memory", with_memory)
    out.line(f"{NODE}/has_normal_memory", with_memory)
    width = mask_width(machine)
    for node in machine.nodes:
        at = f"{NODE}/node{node.id}"
        out.line(f"{at}/cpumap", format_mask(by_node[node.id], width))
        out.line(f"{at}/cpulist", format_cpulist(by_node[node.id]))
        out.line(f"{at}/distance", " ".join(str(distance) for distance in node.distances))
        out.found[f"{at}/meminfo"] = _meminfo(node).encode()
        pages = {huge.size_kb: huge.pages for huge in node.hugepages}
        for size in machine.hugepage_sizes:
            _pool(f"{at}/hugepages/hugepages-{size}kB", pages.get(size, 0), out)
        _access(at, node, out)
    for cpu in machine.cpus:
        out.found[f"{NODE}/node{cpu.node}/cpu{cpu.id}"] = Link(f"../../cpu/cpu{cpu.id}")
    for size in machine.hugepage_sizes:
        at = f"{HUGEPAGES}/hugepages-{size}kB"
        _pool(at, sum(huge.pages for node in machine.nodes for huge in node.hugepages if huge.size_kb == size), out)
        out.line(f"{at}/resv_hugepages", 0)
        out.line(f"{at}/nr_overcommit_hugepages", 0)


def _pool(at: str, pages: int, out: Gathering) -> None:
    out.line(f"{at}/nr_hugepages", pages)
    out.line(f"{at}/free_hugepages", pages)
    out.line(f"{at}/surplus_hugepages", 0)


def _meminfo(node: NumaNode) -> str:
    total = node.memory // 1024
    used = sum(huge.size_kb * huge.pages for huge in node.hugepages)
    pages = next((huge.pages for huge in node.hugepages if huge.size_kb == 2048), 0)
    rows = [("MemTotal", total, " kB"), ("MemFree", total - used, " kB"), ("MemUsed", used, " kB")]
    rows += [("HugePages_Total", pages, ""), ("HugePages_Free", pages, ""), ("HugePages_Surp", 0, "")]
    return "".join(f"Node {node.id} {name + ':':<15} {value:>8}{unit}\n" for name, value, unit in rows)


def _access(at: str, node: NumaNode, out: Gathering) -> None:
    if node.access is not None:
        place = f"{at}/access0/initiators"
        for name in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth"):
            out.line(f"{place}/{name}", getattr(node.access, name))
        for initiator in node.access.initiators:
            out.link(f"{place}/node{initiator}", f"{NODE}/node{initiator}")
    for cache in node.side_caches:
        place = f"{at}/memory_side_cache/index{cache.level}"
        for name in ("size", "line_size", "indexing", "write_policy"):
            out.line(f"{place}/{name}", getattr(cache, name))
