"""Any tree, ours or a real host's, becomes a machine; what a real host lacks is filled in by what kernels assume."""

import json
import os
import re
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import EXTRA
from numaproof.fake_sysfs.machine import UNKNOWN, CpuKind, DeviceLink, Machine
from numaproof.fake_sysfs.read_cpus import read_caches, read_cpus, read_isolated
from numaproof.fake_sysfs.read_nodes import read_nodes
from numaproof.fake_sysfs.read_pci import read_pci
from numaproof.fake_sysfs.tree import Tree

_MODEL = re.compile(r"^(?:model name|cpu|Processor)\s*:\s*(\S.*?)\s*$", re.MULTILINE)
_VENDOR = re.compile(r"^vendor(?:_id)?\s*:\s*(\S.*?)\s*$", re.MULTILINE)
DEFAULT_MHZ = 2000  # of a host that does not say


def read(root: Path | str) -> Machine:
    """The machine that a tree shows: `root` holds `sys` (and `proc`), or is itself a `sys`; MachineError if neither."""
    tree = _open(root)
    extra = _extra(tree)
    found = read_nodes(tree)
    cpus = read_cpus(tree, found.node_of_cpu, found.nodes[0].id)
    online = {cpu.id for cpu in cpus if cpu.online}
    cpuinfo = tree.proc_text("cpuinfo") or ""
    pci = read_pci(tree, {node.id for node in found.nodes})
    known = {device.address for root_bridge in pci for device in root_bridge.walk()}
    return Machine(
        name=extra.get("name", Path(root).absolute().name or "host"),
        cpus=cpus,
        nodes=found.nodes,
        caches=read_caches(tree, online),
        pci=pci,
        links=tuple(DeviceLink(a, b, count) for a, b, count in extra.get("links", ()) if {a, b} <= known),
        spare_nodes=found.spare,
        kinds=_kinds(tree, online),
        isolated=read_isolated(tree, (cpu.id for cpu in cpus)),
        hugepage_sizes=found.hugepage_sizes,
        cpu_model=extra.get("cpu_model", _first(_MODEL, cpuinfo)),
        cpu_vendor=extra.get("cpu_vendor", _first(_VENDOR, cpuinfo)),
        mhz=extra.get("mhz", _mhz(tree, cpuinfo)),
        notes=tuple(extra.get("notes", ())),
    )


def _open(root: Path | str) -> Tree:
    place = os.fspath(root).rstrip("/")
    if os.path.isdir(f"{place}/sys/devices/system"):  # noqa: PTH112 (one spelling for all paths of a tree)
        return Tree(f"{place}/sys", f"{place}/proc")
    if os.path.isdir(f"{place}/devices/system"):  # noqa: PTH112
        return Tree(place, None)
    raise MachineError(f"{root}: is not the tree of a machine: it holds neither sys/devices/system nor devices/system")


def _extra(tree: Tree) -> dict[str, Any]:
    """What we noted down about a machine of ours; nothing for a real host."""
    path = EXTRA.removeprefix("sys/")
    text = tree.text(path)
    if text is None:
        return {}
    try:
        said = json.loads(text)
        kinds = {"name": str, "cpu_model": str, "cpu_vendor": str, "mhz": int, "notes": list, "links": list}
        good = isinstance(said, dict) and all(isinstance(said.get(key), kind) for key, kind in kinds.items())
        good = good and all(isinstance(note, str) for note in said["notes"])
        good = good and all([type(part) for part in link] == [str, str, int] for link in said["links"])
    except (ValueError, TypeError):
        good = False
    if not good:
        raise MachineError(
            f"{tree.sys}/{path}: is not as numaproof writes it; write the tree again, or remove this file"
        )
    return dict(said)


def _kinds(tree: Tree, online: set[int]) -> tuple[CpuKind, ...]:
    found = []
    for name in tree.names("devices"):
        cpus = tree.ids(f"devices/{name}/cpus") if name.startswith("cpu_") else None
        here = [cpu for cpu in cpus or () if cpu in online]
        if here:
            khz = tree.number(f"devices/system/cpu/cpu{here[0]}/cpufreq/cpuinfo_max_freq")
            found.append(CpuKind(name.removeprefix("cpu_"), tuple(here), max(1, (khz or 0) // 1000)))
    return tuple(found)


def _mhz(tree: Tree, cpuinfo: str) -> int:
    khz = tree.number("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    if khz is None:
        said = re.search(r"^cpu MHz\s*:\s*([0-9]{1,9})", cpuinfo, re.MULTILINE)
        khz = int(said[1]) * 1000 if said else 0
    return khz // 1000 or DEFAULT_MHZ


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else UNKNOWN
