"""NUMA nodes as blocks: which detail their CPUs are shown in, and whose their CPUs and memory are."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from numaproof.fake_sysfs.machine import Cpu, NumaNode
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.drawing.blocks import Cell, Detail, DeviceGroup, NodeBlock, PackageBlock, Piece
from numaproof.harness.drawing.device_blocks import Devices
from numaproof.harness.drawing.holders import Holders
from numaproof.harness.drawing.marks import FREE, RESERVED, Mark, order
from numaproof.harness.drawing.pieces import at_most
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.words import clean, count, ids_text, nodes_text

MOST_CELLS = 512  # CPUs of a machine that are drawn one by one
MOST_BOXES = 16  # NUMA nodes with CPUs that are drawn large
MOST_TILES = 64  # nodes that are drawn one by one where they are alike and untouched
MOST_PIECES = 24  # of a bar; with more, all that one holder has is one piece, and then the smallest are
MOST_IN_TILE = 8  # likewise
_LONGEST_WISH = 240


def package_blocks(scene: Scene, holders: Holders, devices: Devices) -> tuple[PackageBlock, ...]:
    """Every NUMA node once: those of a package together, those without CPUs last."""
    of_node: dict[int, list[Cpu]] = {node.id: [] for node in scene.machine.nodes}
    for cpu in scene.machine.cpus:
        of_node[cpu.node].append(cpu)
    with_cpus = [node for node in scene.machine.nodes if of_node[node.id]]
    without = [node for node in scene.machine.nodes if not of_node[node.id]]
    detail: Detail = "cells"
    if len(with_cpus) > MOST_BOXES:
        detail = "tile"
    elif len(scene.machine.cpus) > MOST_CELLS:
        detail = "bar"
    kinds = {cpu_id: kind.name for kind in scene.machine.kinds for cpu_id in kind.cpus}
    by_package: dict[tuple[int, ...], list[NodeBlock]] = {}
    for node in with_cpus:
        cpus = of_node[node.id]
        packages = tuple(sorted({cpu.package for cpu in cpus if cpu.online}))
        by_package.setdefault(packages, []).append(_block(scene, holders, devices, node, cpus, detail, kinds))
    found = [PackageBlock(_package_name(ids), tuple(blocks)) for ids, blocks in by_package.items()]
    if detail == "tile":
        found = _joined(scene, list(by_package.items()))
    if without:
        tiles = [_block(scene, holders, devices, node, [], "tile", kinds) for node in without]
        found.append(PackageBlock("without CPUs", tuple(_folded(scene, tiles))))
    return tuple(found)


def _package_name(ids: Iterable[int]) -> str:
    found = tuple(ids)
    if not found:
        return "in no package: all CPUs are offline"
    return f"package{'' if len(found) == 1 else 's'} {ids_text(found)}"


def _joined(scene: Scene, by_package: list[tuple[tuple[int, ...], list[NodeBlock]]]) -> list[PackageBlock]:
    """Packages as rows of tiles; those of a single node side by side are one row."""
    found = []
    for single, group in groupby(by_package, key=lambda one: len(one[1]) == 1):
        members = list(group)
        if single and len(members) > 1:
            name = _package_name(package for ids, _ in members for package in ids) + ", one NUMA node each"
            members = [((), [block for _, blocks in members for block in blocks])]
            found.append(PackageBlock(name, tuple(members[0][1])))
        else:
            found.extend(PackageBlock(_package_name(ids), tuple(blocks)) for ids, blocks in members)
    if sum(len(one.nodes) for one in found) > MOST_TILES:
        found = [replace(one, nodes=tuple(_folded(scene, one.nodes))) for one in found]
    return found


def _block(
    scene: Scene,
    holders: Holders,
    devices: Devices,
    node: NumaNode,
    cpus: list[Cpu],
    detail: Detail,
    kinds: dict[int, str],
) -> NodeBlock:
    marks = {cpu.id: holders.cpu(cpu) for cpu in cpus}
    online = sum(cpu.online for cpu in cpus)
    free = sum(mark == FREE for mark in marks.values())
    memory, memory_told, memory_short = _memory(scene, holders, node, detail)
    name = nodes_text([node.id])
    told, short = _cpus_told(scene, free, online) if cpus else ("no CPUs", "no CPUs")
    cores = _cores(cpus)
    wish = scene.wish if scene.wish is not None and node.id in scene.wish.nodes else None
    packages = sorted({cpu.package for cpu in cpus if cpu.online})
    return NodeBlock(
        ids=(node.id,),
        detail=detail,
        name=name,
        told=told,
        short=short,
        cores=tuple(_cells(core, marks, holders, kinds) for core in cores) if detail == "cells" else (),
        cpus=() if detail == "cells" else _pieces(cores, marks, holders, whole=detail == "tile"),
        memory=memory,
        memory_told=memory_told,
        memory_short=memory_short,
        hugepages=", ".join(f"{pages.pages} x {format_bytes(pages.size_kb * 1024)}" for pages in node.hugepages),
        devices=devices.of_node(node.id, folded=detail == "tile"),
        wish="" if wish is None else clean(wish.text, _LONGEST_WISH) or "a request that was refused",
        tip="; ".join([name, *([_package_name(packages)] if packages else []), told, memory_told]),
    )


def _cpus_told(scene: Scene, free: int, online: int) -> tuple[str, str]:
    """How many CPUs are free, in words, many and few; of a bare machine, how many there are."""
    if scene.is_bare:
        return count(online, "CPU"), count(online, "CPU")
    return f"{free} of {count(online, 'CPU')} free", f"{free}/{online}"


def _cores(cpus: Iterable[Cpu]) -> list[list[Cpu]]:
    """The CPUs of each core, in the order of their first; an offline CPU has no core and stands alone, at the end."""
    found: dict[tuple[int, ...], list[Cpu]] = {}
    for cpu in cpus:
        found.setdefault((cpu.package, cpu.core) if cpu.online else (-1, -1, cpu.id), []).append(cpu)
    return sorted(found.values(), key=lambda core: (not core[0].online, core[0].id))


def _cells(core: list[Cpu], marks: dict[int, Mark], holders: Holders, kinds: dict[int, str]) -> tuple[Cell, ...]:
    found = []
    for cpu in core:
        kind = f" ({clean(kinds[cpu.id], 20)})" if cpu.id in kinds else ""
        place = f", core {cpu.core}{kind}" if cpu.online else ""
        found.append(Cell(cpu.id, marks[cpu.id], f"CPU {cpu.id}{place}: {holders.cpu_names(cpu)}"))
    return tuple(found)


def _pieces(cores: list[list[Cpu]], marks: dict[int, Mark], holders: Holders, *, whole: bool) -> tuple[Piece, ...]:
    """CPUs as pieces of a bar: cores side by side that are alike, each holder's apart; or all of a holder in one."""
    runs: list[tuple[Mark, list[int]]] = []
    if not whole:
        for alike, group in groupby(cores, key=lambda core: tuple(marks[cpu.id] for cpu in core)):
            members = [cpu.id for core in group for cpu in core]
            runs += [(mark, [cpu for cpu in members if marks[cpu] == mark]) for mark in sorted(set(alike), key=order)]
    if whole or len(runs) > MOST_PIECES:
        by_mark: dict[Mark, list[int]] = {}
        for cpu, mark in marks.items():
            by_mark.setdefault(mark, []).append(cpu)
        runs = [(mark, by_mark[mark]) for mark in sorted(by_mark, key=order)]
    found = [
        Piece(mark, len(ids), count(len(ids), "CPU"), f"CPUs {ids_text(ids)}: {holders.name(mark)}")
        for mark, ids in runs
    ]
    return at_most(found, MOST_IN_TILE if whole else MOST_PIECES, lambda amount: count(amount, "CPU"))


def _memory(scene: Scene, holders: Holders, node: NumaNode, detail: Detail) -> tuple[tuple[Piece, ...], str, str]:
    """A node's memory as pieces of a bar, and what is free of it in words, many and few."""
    parts = [(RESERVED, scene.reserved_memory.get(node.id, 0))]
    parts += [(Mark("pod", pod), holding.memory.get(node.id, 0)) for pod, holding in enumerate(scene.holdings)]
    free = node.memory - sum(size for _, size in parts)
    parts.append((FREE, max(free, 0)))
    found = [
        Piece(mark, size, format_bytes(size), f"memory: {format_bytes(size)} {holders.name(mark)}")
        for mark, size in parts
        if size > 0
    ]
    pieces = at_most(found, MOST_IN_TILE if detail == "tile" else MOST_PIECES, format_bytes)
    if free < 0:
        return pieces, f"{format_bytes(-free)} more than its {format_bytes(node.memory)} held", "overfull"
    if not node.memory:
        return (), "no memory", "no memory"
    if not scene.counts_memory:
        return pieces, format_bytes(node.memory), format_bytes(node.memory)
    return pieces, f"{format_bytes(free)} of {format_bytes(node.memory)} free", format_bytes(free)


def _folded(scene: Scene, blocks: Sequence[NodeBlock]) -> list[NodeBlock]:
    """Nodes in a row that are alike, and of which nobody has anything, as one block of several ids."""
    found: list[NodeBlock] = []
    for key, group in groupby(blocks, key=_likeness):
        members = list(group)
        if key is None or len(members) == 1:
            found.extend(members)
            continue
        first, ids = members[0], tuple(block.ids[0] for block in members)
        cpus = sum(piece.amount for block in members for piece in block.cpus)
        memory = sum(piece.amount for block in members for piece in block.memory)
        each = f"{len(members)} nodes, each: {first.told}"
        found.append(
            replace(
                first,
                ids=ids,
                name=nodes_text(ids),
                told=each,
                short=_cpus_told(scene, cpus, cpus)[1] if cpus else first.short,
                cpus=tuple(replace(one, amount=cpus, text=count(cpus, "CPU"), tip="free") for one in first.cpus[:1]),
                memory=tuple(replace(one, amount=memory, text=format_bytes(memory)) for one in first.memory[:1]),
                memory_short=format_bytes(memory) if memory else first.memory_short,
                tip=f"{nodes_text(ids)}; {each}; {first.memory_told}",
            )
        )
    return found


def _likeness(block: NodeBlock) -> tuple[object, ...] | None:
    """What two nodes have in common to be shown as one; None: this one is shown by itself."""
    pieces = (*block.cpus, *block.memory)
    groups: tuple[DeviceGroup, ...] = block.devices
    if block.wish or groups or any(piece.mark != FREE for piece in pieces):
        return None
    return block.told, block.memory_told, block.hugepages
