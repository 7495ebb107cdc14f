"""Snapshots of old or broken kernels, brought to what a kernel of today says; every guess is told in a note."""

import posixpath
import re
from collections.abc import Iterable, Mapping

from numaproof.fake_sysfs.collect import leads_to
from numaproof.fake_sysfs.content import FileContent, Link
from numaproof.fake_sysfs.isolcpus import isolated_among, parse_isolcpus
from numaproof.fake_sysfs.lists import format_cpulist, parse_cpulist, parse_mask

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
BUS = "sys/bus/pci/devices"
LOCAL_DISTANCE, REMOTE_DISTANCE = 10, 20

_TOTAL = re.compile(r"MemTotal:\s*(\d+)")
_MODALIAS = re.compile(
    r"pci:v0{4}([0-9A-F]{4})d0{4}([0-9A-F]{4})sv0{4}([0-9A-F]{4})sd0{4}([0-9A-F]{4})"
    r"bc([0-9A-F]{2})sc([0-9A-F]{2})i([0-9A-F]{2})"
)


def normalise(files: Mapping[str, FileContent]) -> tuple[dict[str, FileContent], tuple[str, ...]]:
    """The same machine's files as a kernel of today shows them, and notes on what had to be guessed."""
    snapshot = _Snapshot(files)
    _strip_nuls(snapshot)
    online = _mend_cpus(snapshot)
    _mend_isolated(snapshot)
    _mend_caches(snapshot)
    node_of_cpu = _mend_nodes(snapshot, online)
    _mend_functions(snapshot, node_of_cpu)
    return snapshot.files, tuple(snapshot.notes)


class _Snapshot:
    """Files that are being mended, and what to say about it."""

    def __init__(self, files: Mapping[str, FileContent]) -> None:
        self.files = dict(files)
        self.notes: list[str] = []

    def text(self, path: str) -> str | None:
        content = self.files.get(path)
        return content.decode(errors="replace").strip() if isinstance(content, bytes) else None

    def number(self, path: str) -> int | None:
        text = self.text(path)
        return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None

    def ids(self, path: str) -> tuple[int, ...] | None:
        """The ids in a list, or in the mask of the same name (`cpulist` and `cpumap`, `x_list` and `x`)."""
        mask = path.removesuffix("_list") if path.endswith("_list") else f"{path.removesuffix('list')}map"
        for name, parse in ((path, parse_cpulist), (mask, parse_mask)):
            text = self.text(name)
            if text is not None:
                try:
                    return parse(text)
                except ValueError:
                    continue
        return None

    def put(self, path: str, value: object) -> None:
        self.files[path] = f"{value}\n".encode()

    def drop(self, directory: str) -> None:
        for path in [path for path in self.files if path.startswith(f"{directory}/")]:
            del self.files[path]

    def numbered(self, pattern: str) -> set[int]:
        """The numbers that the pattern's group takes at the start of a path."""
        compiled = re.compile(pattern)
        return {int(match[1]) for match in map(compiled.match, self.files) if match}


def _strip_nuls(snapshot: _Snapshot) -> None:
    for path, content in snapshot.files.items():
        if isinstance(content, bytes) and b"\0" in content and not path.endswith("/config"):
            snapshot.files[path] = content.replace(b"\0", b"")


def _mend_cpus(snapshot: _Snapshot) -> set[int]:
    """Say which CPUs are there and online; the kernel's own lists came with 2.6.24 and later."""
    there = snapshot.numbered(rf"{CPU}/cpu(\d+)/")
    with_topology = snapshot.numbered(rf"{CPU}/cpu(\d+)/topology/")
    listed = _list(snapshot, f"{CPU}/online")
    if listed is None:
        switched_off = {cpu for cpu in there if snapshot.number(f"{CPU}/cpu{cpu}/online") == 0}
        online = (with_topology or there) - switched_off
    else:
        online = set(listed) & there
    present = set(_list(snapshot, f"{CPU}/present") or there) & there | online
    for cpu in there - present:
        snapshot.drop(f"{CPU}/cpu{cpu}")
    for cpu in present:
        snapshot.put(f"{CPU}/cpu{cpu}/online", int(cpu in online))
    for cpu in online:
        # The masks were renamed in 5.3, and each name has been the only one at some time.
        at = f"{CPU}/cpu{cpu}/topology"
        siblings = snapshot.ids(f"{at}/thread_siblings_list") or snapshot.ids(f"{at}/core_cpus_list")
        if siblings is not None:
            snapshot.put(f"{at}/thread_siblings_list", format_cpulist(online.intersection(siblings) | {cpu}))
    snapshot.put(f"{CPU}/online", format_cpulist(online))
    snapshot.put(f"{CPU}/present", format_cpulist(present))
    snapshot.put(f"{CPU}/possible", format_cpulist(present | set(_list(snapshot, f"{CPU}/possible") or ())))
    return online


def _mend_isolated(snapshot: _Snapshot) -> None:
    """Say which CPUs are isolated; an older kernel says it on its command line alone."""
    listed: tuple[int, ...] = ()
    for path, parse in ((f"{CPU}/isolated", parse_cpulist), ("proc/cmdline", parse_isolcpus)):
        text = snapshot.text(path)
        if text is None:
            continue
        try:
            listed = parse(text)
            break
        except ValueError:
            snapshot.notes.append(f"isolated CPUs: {path} of the snapshot holds no list of them; it is passed over")
    present = snapshot.numbered(rf"{CPU}/cpu(\d+)/")
    isolated = isolated_among(listed, present)
    kept = present.intersection(listed).difference(isolated)
    if kept:
        snapshot.notes.append(f"CPU {format_cpulist(kept)}: isolated like all others; imported as the kernel's own")
    snapshot.put(f"{CPU}/isolated", format_cpulist(isolated))


def _list(snapshot: _Snapshot, path: str) -> tuple[int, ...] | None:
    try:
        return parse_cpulist(snapshot.text(path) or "") or None
    except ValueError:
        return None


def _mend_caches(snapshot: _Snapshot) -> None:
    """Sizes in kilobytes: some architectures say megabytes."""
    for path in [path for path in snapshot.files if path.startswith(f"{CPU}/") and path.endswith("/size")]:
        match = re.fullmatch(r"(\d+)([MG])B?", snapshot.text(path) or "")
        if match:
            snapshot.put(path, f"{int(match[1]) * {'M': 1024, 'G': 1024 * 1024}[match[2]]}K")


def _mend_nodes(snapshot: _Snapshot, online_cpus: set[int]) -> dict[int, int]:
    """Say which nodes there are, whose each CPU is, how far apart they lie and what memory they have."""
    there = snapshot.numbered(rf"{NODE}/node(\d+)/")
    listed = _list(snapshot, f"{NODE}/online")
    online = there if listed is None else there & set(listed)
    for node in there - online:
        snapshot.drop(f"{NODE}/node{node}")
    present = snapshot.numbered(rf"{CPU}/cpu(\d+)/")
    node_of_cpu = _nodes_of_cpus(snapshot, present, online)
    nodes = sorted(online | set(node_of_cpu.values()))
    lost = sorted(set(nodes) - online)
    if lost and online:
        snapshot.notes.append(
            f"NUMA node {format_cpulist(lost)}: offline in the snapshot though CPUs belong to it; imported as online"
        )
    _mend_distances(snapshot, nodes)
    _mend_memory(snapshot, nodes)
    possible = set(nodes) | set(_list(snapshot, f"{NODE}/possible") or ())
    snapshot.put(f"{NODE}/online", format_cpulist(nodes))
    snapshot.put(f"{NODE}/possible", format_cpulist(possible))
    for path in [path for path in snapshot.files if re.match(rf"{NODE}/node\d+/cpu(\d+|map)$", path)]:
        del snapshot.files[path]
    for node in nodes:
        mine = {cpu for cpu, owner in node_of_cpu.items() if owner == node}
        snapshot.put(f"{NODE}/node{node}/cpulist", format_cpulist(mine & online_cpus))
        for cpu in mine:
            snapshot.files[f"{NODE}/node{node}/cpu{cpu}"] = Link(f"../../cpu/cpu{cpu}")
    return node_of_cpu


def _nodes_of_cpus(snapshot: _Snapshot, cpus: Iterable[int], nodes: set[int]) -> dict[int, int]:
    """The node of each CPU: by the nodes' lists where one node claims it, else by the links, else by its neighbour."""
    claims: dict[int, set[int]] = {}
    links: dict[int, set[int]] = {}
    for node in nodes:
        for cpu in snapshot.ids(f"{NODE}/node{node}/cpulist") or ():
            claims.setdefault(cpu, set()).add(node)
    for path in snapshot.files:
        match = re.match(rf"{NODE}/node(?P<node>\d+)/cpu(?P<cpu>\d+)$|{CPU}/cpu(?P<of>\d+)/node(?P<its>\d+)$", path)
        if match:
            node, cpu = int(match["node"] or match["its"]), int(match["cpu"] or match["of"])
            links.setdefault(cpu, set()).add(node)
    found: dict[int, int] = {}
    guessed: list[int] = []
    last = min(nodes, default=0)
    for cpu in sorted(cpus):
        said = next((by[cpu] for by in (claims, links) if len(by.get(cpu, ())) == 1), None)
        if said is None and nodes:
            guessed.append(cpu)
        last = found[cpu] = last if said is None else min(said)
    if guessed and len(nodes) > 1:
        snapshot.notes.append(
            f"CPU {format_cpulist(guessed)}: the snapshot does not say whose; put with the CPU before"
        )
    overlapping = [cpu for cpu, owners in claims.items() if len(owners) > 1]
    if overlapping:
        snapshot.notes.append(
            f"CPU {format_cpulist(overlapping)}: claimed by several NUMA nodes; imported where its links are"
        )
    return found


def _mend_distances(snapshot: _Snapshot, nodes: list[int]) -> None:
    rows: dict[int, dict[int, int]] = {}
    possible = sorted(set(_list(snapshot, f"{NODE}/possible") or nodes))
    for node in nodes:
        words = (snapshot.text(f"{NODE}/node{node}/distance") or "").split()
        values = [int(word) for word in words if word.isdigit() and 1 <= int(word) <= 255]
        # Some kernels leave no gap for offline nodes, some do.
        columns = next((ids for ids in (nodes, possible) if len(ids) == len(values) == len(words)), None)
        rows[node] = dict(zip(columns, values, strict=True)) if columns else {}
    unknown = [node for node in nodes if set(nodes) - set(rows[node])]
    if unknown and len(nodes) > 1:
        snapshot.notes.append(
            f"NUMA node {format_cpulist(unknown)}: the snapshot has no distances; the other nodes' are taken,"
            f" else {LOCAL_DISTANCE} and {REMOTE_DISTANCE}"
        )
    for node in nodes:
        default = {other: LOCAL_DISTANCE if other == node else REMOTE_DISTANCE for other in nodes}
        row = [rows[node].get(other, rows[other].get(node, default[other])) for other in nodes]
        snapshot.put(f"{NODE}/node{node}/distance", " ".join(map(str, row)))


def _mend_memory(snapshot: _Snapshot, nodes: list[int]) -> None:
    """The memory of nodes that do not say theirs: what the others leave of the host's."""
    known = {node: _total(snapshot, f"{NODE}/node{node}/meminfo") for node in nodes}
    silent = [node for node in nodes if known[node] is None]
    if not silent:
        return
    host = _total(snapshot, "proc/meminfo")
    left = max(0, (host or 0) - sum(total or 0 for total in known.values()))
    for node in silent:
        snapshot.put(f"{NODE}/node{node}/meminfo", f"Node {node} MemTotal: {left // len(silent)} kB")
    if len(nodes) > 1 or host is None:
        snapshot.notes.append(
            f"NUMA node {format_cpulist(silent)}: the snapshot does not say its memory; imported with"
            f" {left // len(silent)} kB each"
        )


def _total(snapshot: _Snapshot, path: str) -> int | None:
    match = _TOTAL.search(snapshot.text(path) or "")
    return int(match[1]) if match else None


def _mend_functions(snapshot: _Snapshot, node_of_cpu: Mapping[int, int]) -> None:
    """Say who made each PCI function and where it lies, by whatever file of it tells."""
    for path in [path for path in snapshot.files if path.startswith(f"{BUS}/")]:
        content = snapshot.files[path]
        at = posixpath.dirname(path)
        if isinstance(content, Link) and at == BUS:
            at = leads_to(path, content)
        if isinstance(content, Link) and not any(f"{at}/{name}" in snapshot.files for name in _TELLING):
            del snapshot.files[path]  # it leads nowhere
            continue
        _mend_identity(snapshot, at)
        _mend_locality(snapshot, at, node_of_cpu)


_TELLING = ("class", "vendor", "modalias", "config", "uevent")
_IDENTITY = ("vendor", "device", "subsystem_vendor", "subsystem_device")


def _mend_identity(snapshot: _Snapshot, at: str) -> None:
    values = _from_modalias(snapshot, at) | _from_config(snapshot, at)
    for name, value in values.items():
        if snapshot.text(f"{at}/{name}") is None:
            snapshot.put(f"{at}/{name}", value)


def _from_modalias(snapshot: _Snapshot, at: str) -> dict[str, str]:
    match = _MODALIAS.search(snapshot.text(f"{at}/modalias") or snapshot.text(f"{at}/uevent") or "")
    if not match:
        return {}
    found = {name: f"0x{number.lower()}" for name, number in zip(_IDENTITY, match.groups()[:4], strict=True)}
    return {**found, "class": f"0x{''.join(match.groups()[4:]).lower()}"}


def _from_config(snapshot: _Snapshot, at: str) -> dict[str, str]:
    config = snapshot.files.get(f"{at}/config")
    if not isinstance(config, bytes) or len(config) < 0x40:
        return {}
    vendor, device = (int.from_bytes(config[place : place + 2], "little") for place in (0, 2))
    code = int.from_bytes(config[9:12], "little")
    return {"vendor": f"0x{vendor:04x}", "device": f"0x{device:04x}", "class": f"0x{code:06x}"}


def _mend_locality(snapshot: _Snapshot, at: str, node_of_cpu: Mapping[int, int]) -> None:
    if snapshot.number(f"{at}/numa_node") is not None:
        return
    near = snapshot.ids(f"{at}/local_cpulist")
    if near is None:
        text = snapshot.text(f"{at}/local_cpus")
        try:
            near = parse_mask(text) if text is not None else ()
        except ValueError:
            near = ()
    nodes = {node_of_cpu[cpu] for cpu in near if cpu in node_of_cpu}
    # CPUs of one node among several say where it is; CPUs of all nodes say nothing.
    if len(nodes) == 1 and len(set(node_of_cpu.values())) > 1:
        snapshot.put(f"{at}/numa_node", nodes.pop())
