"""What of a tree says something about the machine: picked from a live host or a stranger's tree as data.

A live tree changes while it is walked: what has vanished, or refuses to be read, is left out.
"""

import os
import posixpath
import re
from collections.abc import Iterator

from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.isolcpus import isolcpus_words

_LONGEST = 64 << 20
_COMMAND_LINE = "proc/cmdline"

# Where files and links lie, part by part; a part in the shape of a pattern is matched whole.
_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_PLACES = (
    "proc/(cpuinfo|meminfo|cmdline)",
    "sys/devices/system/numaproof.json",
    f"{_CPU}/(online|offline|possible|present|isolated|kernel_max)",
    rf"{_CPU}/cpu\d+/(online|node\d+)",
    rf"{_CPU}/cpu\d+/topology/[a-z_]+",
    rf"{_CPU}/cpu\d+/cache/index\d+/[a-z_]+",
    rf"{_CPU}/cpu\d+/cpufreq/(cpuinfo_max_freq|base_frequency)",
    f"{_NODE}/(online|possible|has_[a-z_]+)",
    rf"{_NODE}/node\d+/(cpumap|cpulist|distance|meminfo|cpu\d+)",
    rf"{_NODE}/node\d+/hugepages/hugepages-\d+kB/[a-z_]+",
    rf"{_NODE}/node\d+/access\d+/initiators/[a-z0-9_]+",
    rf"{_NODE}/node\d+/memory_side_cache/index\d+/[a-z_]+",
    r"sys/devices/cpu_\w+/cpus",
    r"sys/bus/event_source/devices/cpu_\w+",
    r"sys/kernel/mm/hugepages/hugepages-\d+kB/[a-z_]+",
)
_FUNCTION = (
    "(vendor|device|class|revision|subsystem_vendor|subsystem_device|modalias|uevent|config|resource)",
    "(numa_node|local_cpus|local_cpulist|sriov_totalvfs|sriov_numvfs|sriov_drivers_autoprobe)",
    r"(driver|iommu_group|physfn|virtfn\d+|subsystem)",
    r"net/[^/]+/(address|mtu|speed|operstate|ifindex|type|dev_id|dev_port|device)",
    r"infiniband/[^/]+/(node_guid|device)",
    r"vfio-dev/vfio\d+",
    r"[a-z-]+/[^/]+/(dev|device)",
    r"[a-z-]+/[^/]+/[^/]+/(dev|device)",
)
# Short cuts into the tree that tools take; kept where they lead to something that is kept.
_SHORT_CUTS = (r"sys/class/(net|infiniband|block|drm|[a-z_-]+)/[^/]+", r"sys/dev/(char|block)/\d+:\d+")
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def collect(root: str) -> dict[str, FileContent]:
    """The files, links and empty directories of the tree at `root` that a machine can be read from."""
    found: dict[str, FileContent] = {}
    for pattern in _PLACES:
        _gather(root, pattern, found)
    _keep_isolcpus_alone(found)
    for name in _names(f"{root}/sys/bus/pci/devices"):
        if _ADDRESS.fullmatch(name):
            _gather_function(root, f"sys/bus/pci/devices/{name}", found)
    kept = _directories(found)
    for pattern in _SHORT_CUTS:
        short: dict[str, FileContent] = {}
        _gather(root, pattern, short)
        found.update(
            (path, content)
            for path, content in short.items()
            if isinstance(content, Link) and leads_to(path, content) in kept
        )
    return found


def _keep_isolcpus_alone(found: dict[str, FileContent]) -> None:
    # The rest of a command line says nothing about the machine, and may be private: the root's UUID, tokens, addresses.
    content = found.pop(_COMMAND_LINE, None)
    words = isolcpus_words(content.decode(errors="replace")) if isinstance(content, bytes) else []
    if words:
        found[_COMMAND_LINE] = f"{' '.join(words)}\n".encode()


def leads_to(path: str, link: Link) -> str:
    """The path, below the tree's root, that a link's text names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link.target))


def _gather_function(root: str, path: str, found: dict[str, FileContent]) -> None:
    content = _content(f"{root}/{path}", path)
    place = path
    if isinstance(content, Link):
        place = leads_to(path, content)
        found[path] = content
    for pattern in _FUNCTION:
        _gather(root, pattern, found, place)


def _gather(root: str, pattern: str, found: dict[str, FileContent], below: str = "") -> None:
    for path in _matching(root, below, _parts(pattern)):
        content = _content(f"{root}/{path}", path)
        if content is not None:
            found[path] = content


def _parts(pattern: str) -> list[re.Pattern[str]]:
    # No pattern has a slash but between its parts and in [^/].
    return [re.compile(part.replace("\0", "[^/]")) for part in pattern.replace("[^/]", "\0").split("/")]


def _matching(root: str, below: str, parts: list[re.Pattern[str]]) -> Iterator[str]:
    plain = parts[0].pattern
    for name in [plain] if plain.isidentifier() else _names(f"{root}/{below}"):
        if parts[0].fullmatch(name):
            path = f"{below}/{name}" if below else name
            if len(parts) == 1:
                yield path
            # A link on the way (`subsystem`, `driver`) leads to other devices, not to more of this one; the kernel's
            # cpufreq is the one that leads to a thing's own files.
            elif name == "cpufreq" or not os.path.islink(f"{root}/{path}"):  # noqa: PTH114
                yield from _matching(root, path, parts[1:])


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208 (names, and tens of thousands of them)
    except OSError:
        return []


def _content(full: str, path: str) -> FileContent | None:
    """What lies there; None for what cannot be read, and for a link that leaves the tree."""
    try:
        if os.path.islink(full):  # noqa: PTH114
            link = Link(os.readlink(full))  # noqa: PTH115
            outside = link.target.startswith("/") or leads_to(path, link).startswith("..")
            return None if outside else link
        if os.path.isdir(full):  # noqa: PTH112
            return Directory()
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            # A sysfs file tells a page as its size, whatever it holds.
            blocks: list[bytes] = []
            left = _LONGEST
            while left > 0 and (block := os.read(descriptor, min(1 << 20, left))):
                blocks.append(block)
                left -= len(block)
            return b"".join(blocks)
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _directories(found: dict[str, FileContent]) -> set[str]:
    """Every directory in which something lies."""
    kept: set[str] = set()
    for path in found:
        above = posixpath.dirname(path)
        while above and above not in kept:
            kept.add(above)
            above = posixpath.dirname(above)
    return kept
