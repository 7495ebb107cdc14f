"""A scene as a tree of blocks: what is shown, folded, named and marked, for every renderer alike."""

from collections.abc import Iterable

from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.drawing.blocks import Matrix, PackageBlock, Picture, PodBlock
from numaproof.harness.drawing.device_blocks import Devices
from numaproof.harness.drawing.figures import distances, links
from numaproof.harness.drawing.headline import headline
from numaproof.harness.drawing.holders import LONGEST_LABEL, Holders
from numaproof.harness.drawing.marks import FREE, MIXED, OFFLINE, RESERVED, SEVERAL, Mark, sign
from numaproof.harness.drawing.node_blocks import package_blocks
from numaproof.harness.drawing.scene import Holding, Scene, Wish
from numaproof.harness.drawing.words import clean, count, ids_text, nodes_text

MOST_PODS = 60  # in the legend; the cells' tips name every one
_LONGEST_TITLE = 100
_LONGEST_REFUSAL = 240


def layout(scene: Scene) -> Picture:
    """Everything that a drawing of this scene says, and in which order."""
    machine = scene.machine
    holders = Holders(scene)
    devices = Devices(scene, holders)
    present = [(pod, holding) for pod, holding in enumerate(scene.holdings) if not holding.gone]
    pods = tuple(_pod(scene, holders, pod, holding) for pod, holding in present[:MOST_PODS])
    packages = package_blocks(scene, holders, devices)
    figures = (distances(machine), links(machine))
    wish = scene.wish
    return Picture(
        title=clean(scene.title or machine.name, _LONGEST_TITLE) or "a machine",
        headline=headline(machine),
        refused="" if wish is None else _refused(wish),
        pods=pods,
        more="" if len(present) <= MOST_PODS else f"and {len(present) - MOST_PODS} more pods",
        signs=_signs(scene, holders, devices, packages),
        packages=packages,
        elsewhere=devices.elsewhere(),
        matrices=tuple(figure for figure in figures if isinstance(figure, Matrix)),
        notes=(*(figure for figure in figures if isinstance(figure, str) and figure), *_notes(scene)),
    )


def _refused(wish: Wish) -> str:
    where = f" lacks least on {nodes_text(wish.nodes)}:" if wish.nodes else ""
    return f"{clean(wish.label, LONGEST_LABEL) or '?'}:{where} {clean(wish.text, _LONGEST_REFUSAL)}"


def _pod(scene: Scene, holders: Holders, pod: int, holding: Holding) -> PodBlock:
    mark = Mark("pod", pod)
    told = []
    if holding.cpus:
        told.append(f"{count(len(holding.cpus), 'CPU')} {ids_text(holding.cpus, 30)}")
    memory = sum(holding.memory.values())
    if memory:
        nodes = [node for node, size in holding.memory.items() if size]
        told.append(f"{format_bytes(memory)} on node{'' if len(nodes) == 1 else 's'} {ids_text(nodes, 20)}")
    if holding.devices:
        told.append(count(len(holding.devices), "device"))
    strangers = holding.cpus - {cpu.id for cpu in scene.machine.cpus}
    if strangers:
        told.append(f"not on this machine: CPU {ids_text(strangers, 20)}")
    return PodBlock(mark, sign(mark), holders.labels[pod], "; ".join(told) or "nothing of its own")


def _signs(
    scene: Scene, holders: Holders, devices: Devices, packages: Iterable[PackageBlock]
) -> tuple[tuple[Mark, str], ...]:
    """What marks mean that are not a pod's, of those that can be seen; a bare machine is free, which goes unsaid."""
    marks = {holders.cpu(cpu) for cpu in scene.machine.cpus} | devices.marks()
    if any(scene.reserved_memory.values()):
        marks.add(RESERVED)
    blocks = [node for package in packages for node in package.nodes]
    marks |= {piece.mark for node in blocks for piece in (*node.cpus, *node.memory) if piece.mark == MIXED}
    meanings = {
        FREE: "free",
        RESERVED: "reserved for the system",
        MIXED: "pods with little each",
        OFFLINE: "offline",
        SEVERAL: "held by several pods",
    }
    return tuple(
        (mark, text) for mark, text in meanings.items() if mark in marks and not (mark == FREE and scene.is_bare)
    )


def _notes(scene: Scene) -> list[str]:
    machine, found = scene.machine, []
    if machine.kinds:
        kinds = [f"CPU {ids_text(kind.cpus)} {clean(kind.name, 20)}" for kind in machine.kinds]
        found.append(f"kinds of cores: {', '.join(kinds)}")
    if machine.isolated:
        found.append(f"isolated by the kernel: CPU {ids_text(machine.isolated)}")
    if machine.spare_nodes:
        found.append(f"possible, but not online: NUMA node {ids_text(machine.spare_nodes)}")
    return found
