"""What lscpu, lstopo and numactl see in a tree, and whether it is what a machine says."""

import ctypes
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from numaproof.fake_sysfs.lists import parse_cpulist, parse_mask
from numaproof.fake_sysfs.machine import Machine

_TIMEOUT = 600  # a tool that hangs must not hang the suite; no tool is that slow


@dataclass(slots=True)
class Seen:
    """NUMA nodes as a tool shows them: node -> CPUs, memory (in the tool's own unit) and row of distances."""

    cpus: dict[int, tuple[int, ...]] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    distances: dict[int, tuple[int, ...]] = field(default_factory=dict)
    groups: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)  # "Package", "Core", "L2Cache 1048576", ...


def assert_real_tools_agree(tree: Path, machine: Machine) -> Seen:
    """lscpu, lstopo and numactl see the nodes, CPUs, memory and distances of the machine; what lstopo saw beyond."""
    assert_lscpu_agrees(tree, machine)
    assert_numactl_agrees(tree, machine)
    return assert_lstopo_agrees(tree, machine)


def assert_lscpu_agrees(tree: Path, machine: Machine) -> None:
    """lscpu shows CPUs, and the nodes that have some of them or none."""
    text = lscpu_text(tree)
    rows = dict(re.findall(r"^([^:]+):[ \t]*(.*)$", text, re.MULTILINE))
    _same("lscpu: online CPUs", parse_cpulist(rows["On-line CPU(s) list"]), machine.cpu_ids)
    nodes = {int(found[1]): rows[name] for name in rows if (found := re.fullmatch(r"NUMA node(\d+) CPU\(s\)", name))}
    _same("lscpu: CPUs", {node: parse_cpulist(cpus) for node, cpus in nodes.items()}, machine.cpus_by_node())
    _same("lscpu: number of nodes", int(rows["NUMA node(s)"]), len(machine.nodes))


def assert_lstopo_agrees(tree: Path, machine: Machine) -> Seen:
    """lstopo shows all; it counts a CPU-less node's neighbours as its CPUs, so those nodes' CPUs say nothing."""
    seen = lstopo_of_tree(tree)
    by_node = {node: cpus for node, cpus in machine.cpus_by_node().items() if cpus}
    _same("lstopo: CPUs", {node: cpus for node, cpus in seen.cpus.items() if node in by_node}, by_node)
    _same("lstopo: memory", seen.memory, {node.id: node.memory for node in machine.nodes})
    if len(machine.nodes) > 1:
        _same("lstopo: distances", seen.distances, {node.id: node.distances for node in machine.nodes})
    return seen


def assert_numactl_agrees(tree: Path, machine: Machine) -> None:
    """numactl shows all, CPUs only of machines that are no wider than the mask which it sizes by this host."""
    seen = numactl(tree)
    _same("numactl: memory", seen.memory, {node.id: node.memory >> 20 for node in machine.nodes})
    _same("numactl: distances", seen.distances, {node.id: node.distances for node in machine.nodes})
    if fits_numactl(machine):
        _same("numactl: CPUs", seen.cpus, machine.cpus_by_node())


def fits_numactl(machine: Machine) -> bool:
    """Whether numactl shows the CPUs of a machine on this host, which sizes its mask."""
    return bool(machine.cpus[-1].id < ctypes.CDLL("libnuma.so.1").numa_num_possible_cpus())


def _same(what: str, seen: object, expected: object) -> None:
    assert seen == expected, f"{what}: the tool sees {seen}, the machine has {expected}"


def groups(machine: Machine) -> dict[str, set[tuple[int, ...]]]:
    """The CPUs of each package, core and cache of a machine, under hwloc's names for them."""
    online = [cpu for cpu in machine.cpus if cpu.online]
    found: dict[str, set[tuple[int, ...]]] = {
        "Package": {tuple(cpu.id for cpu in online if cpu.package == package) for package in machine.package_ids}
    }
    cores: dict[tuple[int, int], list[int]] = {}
    for cpu in online:
        cores.setdefault((cpu.package, cpu.core), []).append(cpu.id)
    found["Core"] = {tuple(cpus) for cpus in cores.values()}
    for cache in machine.caches:
        kind = "i" if cache.kind == "Instruction" else ""
        found.setdefault(f"L{cache.level}{kind}Cache {cache.size}", set()).add(cache.cpus)
    return found


def lstopo_of_tree(tree: Path) -> Seen:
    """What lstopo sees in a tree."""
    return lstopo(["--disallowed"], _in_tree(tree))


def lstopo_console(tree: Path, *arguments: str) -> str:
    """What lstopo prints about a tree for people."""
    return _output(["lstopo-no-graphics", "--of", "console", *arguments], _in_tree(tree))


def lstopo_xml(tree: Path, *arguments: str) -> str:
    """What lstopo writes about a tree as XML, I/O devices and all."""
    return _output(["lstopo-no-graphics", "--of", "xml", "--disallowed", *arguments], _in_tree(tree))


def lscpu_text(tree: Path, *arguments: str) -> str:
    """What lscpu prints about a tree."""
    return _output(["lscpu", "--sysroot", str(tree), *arguments])


def _in_tree(tree: Path) -> dict[str, str]:
    """Without -x86 hwloc would ask the real CPUs about their caches as well."""
    return {"HWLOC_FSROOT": str(tree), "HWLOC_COMPONENTS": "-x86"}


def lstopo(arguments: list[str], environment: dict[str, str]) -> Seen:
    """The NUMA nodes in lstopo's XML; memory in bytes."""
    text = _output(["lstopo-no-graphics", "--no-io", "--of", "xml", *arguments, "-"], environment)
    top = ET.fromstring(text.encode())
    seen = Seen()
    for item in top.iter("object"):
        name = item.attrib["type"]
        if name in ("Package", "Core") or name.endswith("Cache"):
            name += f" {item.attrib['cache_size']}" if name.endswith("Cache") else ""
            seen.groups.setdefault(name, set()).add(_hwloc_mask(item.attrib["cpuset"]))
        if item.get("type") == "NUMANode":
            node = int(item.attrib["os_index"])
            seen.cpus[node] = _hwloc_mask(item.attrib["cpuset"])
            seen.memory[node] = int(item.get("local_memory", "0"))
    for matrix in top.iter("distances2"):
        if matrix.get("name") == "NUMALatency":
            ids = [int(word) for part in matrix.iter("indexes") for word in (part.text or "").split()]
            values = [int(word) for part in matrix.iter("u64values") for word in (part.text or "").split()]
            rows = [tuple(values[start : start + len(ids)]) for start in range(0, len(values), len(ids))]
            seen.distances = dict(zip(ids, rows, strict=True))
    return seen


def _hwloc_mask(text: str) -> tuple[int, ...]:
    """hwloc writes 0x before each group and leaves groups of zeros empty."""
    groups = [group.removeprefix("0x") or "0" for group in text.split(",")]
    return parse_mask(",".join(groups))


def numactl_text(tree: Path) -> str:
    """What `numactl -H` prints when the tree is mounted over /sys/devices/system."""
    outer = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    script = 'mount --bind "$1/sys/devices/system" /sys/devices/system && exec numactl -H'
    return _output([*outer, "sh", "-c", script, "sh", str(tree)])


def numactl(tree: Path) -> Seen:
    """What `numactl -H` sees in a tree; memory in MB."""
    text = numactl_text(tree)
    seen = Seen()
    for node, cpus in re.findall(r"^node (\d+) cpus:(.*)$", text, re.MULTILINE):
        seen.cpus[int(node)] = tuple(int(cpu) for cpu in cpus.split())
    for node, size in re.findall(r"^node (\d+) size: (\d+) MB$", text, re.MULTILINE):
        seen.memory[int(node)] = int(size)
    for node, row in re.findall(r"^ *(\d+): +(.*)$", text, re.MULTILINE):
        seen.distances[int(node)] = tuple(int(value) for value in row.split())
    return seen


def _output(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, "LC_ALL": "C", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT,
    )
    assert done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stderr}"
    return done.stdout
