"""NUMA nodes of a tree: memory, huge pages, distances, and which CPU belongs to which node."""

import re
from dataclasses import dataclass

from numaproof.fake_sysfs.machine import Access, Hugepages, NumaNode, SideCache
from numaproof.fake_sysfs.tree import Tree, whole_number

NODE = "devices/system/node"
_TOTAL = re.compile(r"MemTotal:\s*([0-9]{1,18})")
_POOL = re.compile(r"hugepages-([0-9]{1,12})kB")


@dataclass(frozen=True, slots=True)
class Nodes:
    """What `devices/system/node` says; a host without it is one node that holds everything."""

    nodes: tuple[NumaNode, ...]
    spare: tuple[int, ...]
    hugepage_sizes: tuple[int, ...]
    node_of_cpu: dict[int, int]


def read_nodes(tree: Tree) -> Nodes:
    """The online nodes of a tree; at least one."""
    there = set(tree.numbered(NODE, "node"))
    online = tree.ids(f"{NODE}/online")
    ids = sorted(there if online is None else there & set(online))
    sizes = {size for size, _ in _pools(tree, "kernel/mm/hugepages")}
    if not ids:
        whole = _hugepages(tree, "kernel/mm/hugepages")
        return Nodes((NumaNode(0, _memory(tree.proc_text("meminfo")), whole),), (), tuple(sorted(sizes)), {})
    # One node's memory is the host's: where the node does not say, the host does.
    host = _memory(tree.proc_text("meminfo")) if len(ids) == 1 else 0
    rows = [_distances(tree, node) for node in ids]
    if any(len(row) != len(ids) for row in rows):
        rows = [() for _ in ids]
    nodes = tuple(_node(tree, node, row, set(ids), host) for node, row in zip(ids, rows, strict=True))
    sizes.update(pages.size_kb for node in nodes for pages in node.hugepages)
    sizes.update(size for node in ids for size, _ in _pools(tree, f"{NODE}/node{node}/hugepages"))
    spare = set(tree.ids(f"{NODE}/possible") or ()) - set(ids)
    return Nodes(nodes, tuple(sorted(spare)), tuple(sorted(sizes)), _node_of_cpu(tree, ids))


def _node(tree: Tree, node: int, distances: tuple[int, ...], ids: set[int], host: int) -> NumaNode:
    at = f"{NODE}/node{node}"
    return NumaNode(
        id=node,
        memory=_memory(tree.text(f"{at}/meminfo")) or host,
        hugepages=_hugepages(tree, f"{at}/hugepages"),
        distances=distances,
        access=_access(tree, f"{at}/access0/initiators", ids),
        side_caches=tuple(_side_cache(tree, at, level) for level in tree.numbered(f"{at}/memory_side_cache", "index")),
    )


def _node_of_cpu(tree: Tree, ids: list[int]) -> dict[int, int]:
    """The node of each CPU, offline ones included, by the lists, masks and links that there are; the first one wins."""
    found: dict[int, int] = {}
    for node in ids:
        at = f"{NODE}/node{node}"
        listed = tree.ids(f"{at}/cpulist")
        cpus = (tree.mask(f"{at}/cpumap") if listed is None else listed) or ()
        for cpu in (*cpus, *tree.numbered(at, "cpu")):
            found.setdefault(cpu, node)
    return found


def _memory(meminfo: str | None) -> int:
    total = _TOTAL.search(meminfo or "")
    return int(total[1]) * 1024 if total else 0


def _pools(tree: Tree, at: str) -> list[tuple[int, str]]:
    matches = ((_POOL.fullmatch(name), name) for name in tree.names(at))
    return [(int(match[1]), f"{at}/{name}") for match, name in matches if match]


def _hugepages(tree: Tree, at: str) -> tuple[Hugepages, ...]:
    return tuple(Hugepages(size, tree.number(f"{place}/nr_hugepages") or 0) for size, place in _pools(tree, at))


def _distances(tree: Tree, node: int) -> tuple[int, ...]:
    row = [whole_number(word) for word in (tree.text(f"{NODE}/node{node}/distance") or "").split()]
    return tuple(distance for distance in row if distance is not None)


def _access(tree: Tree, at: str, ids: set[int]) -> Access | None:
    if not tree.names(at):
        return None
    latency_and_bandwidth = {
        name: tree.number(f"{at}/{name}") or 0
        for name in ("read_latency", "write_latency", "read_bandwidth", "write_bandwidth")
    }
    return Access(tuple(node for node in tree.numbered(at, "node") if node in ids), **latency_and_bandwidth)


def _side_cache(tree: Tree, at: str, level: int) -> SideCache:
    place = f"{at}/memory_side_cache/index{level}"
    figures = {name: tree.number(f"{place}/{name}") or 0 for name in ("size", "line_size", "indexing", "write_policy")}
    return SideCache(level, **figures)
