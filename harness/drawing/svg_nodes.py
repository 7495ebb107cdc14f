"""NUMA nodes, their CPUs, memory and devices in an SVG picture."""

from collections.abc import Iterable, Sequence

from numaproof.harness.drawing.bars import row_length, shares
from numaproof.harness.drawing.blocks import Cell, DeviceBlock, DeviceGroup, NodeBlock, Piece
from numaproof.harness.drawing.marks import FREE, sign
from numaproof.harness.drawing.svg_letters import fitted, text_width
from numaproof.harness.drawing.svg_parts import (
    LINE,
    MONO,
    Drawn,
    class_of,
    flow,
    paragraph,
    rect,
    stack,
    swatch,
    text,
    tipped,
)
from numaproof.harness.drawing.words import cut

PAD = 12
NARROWEST_BOX = 216
NARROWEST_TILE = 138
_CELL = 16  # px of a CPU, with the gap to the next thread
_GAP = 5  # px between cores
_BAR = 16


def node(block: NodeBlock, width: float) -> Drawn:
    """What is inside a node's box."""
    if block.detail == "tile":
        return _tile(block, width)
    room = width - 2 * PAD
    return stack(
        [
            _head(block.name, block.told, room),
            paragraph(block.wish, room, "np-alarm"),
            _cells(block.cores, room) if block.cores else _told_bar(block.cpus, room, "cpus"),
            _memory(block, room),
            devices(block.devices, room),
        ],
        8,
    )


def _head(name: str, told: str, room: float) -> Drawn:
    """A name on the left, what is told of it on the right or, where both do not fit, below."""
    if text_width(name, bold=True) + text_width(told) + 8 <= room:
        return Drawn(room, LINE, [text(0, 13, name, "np-b"), text(room, 13, told, "np-soft np-end")])
    below = paragraph(told, room, "np-soft")
    return stack([Drawn(room, LINE, [text(0, 13, fitted(name, room, bold=True), "np-b")]), below], 0)


def _cells(cores: Sequence[Sequence[Cell]], width: float) -> Drawn:
    """Rows of cores, each with the number of its first CPU; the threads of a core stand together."""
    numbers = 7.0 * max(len(str(core[0].cpu)) for core in cores) + 4
    threads = max(1, int((width - numbers) / _CELL))
    pieces = [core[start : start + threads] for core in cores for start in range(0, len(core), threads)]
    pitch = max(map(len, pieces)) * _CELL + _GAP
    many = row_length(int((width - numbers + _GAP) / pitch))
    parts: list[str] = []
    for place, piece in enumerate(pieces):
        row, column = divmod(place, many)
        y = row * (_CELL + 4)
        if not column:
            parts.append(text(numbers - 6, y + 11, str(piece[0].cpu), "np-small np-end"))
        for thread, cell in enumerate(piece):
            x = numbers + column * pitch + thread * _CELL
            drawn = swatch(x, y, _CELL - 1, _CELL - 1, cell.mark)
            parts.append(tipped(cell.tip, class_of(cell.mark), drawn, f' data-cpu="{cell.cpu}"'))
    rows = -(-len(pieces) // many)
    return Drawn(width, rows * (_CELL + 4) - 4, parts)


def _bar(pieces: Sequence[Piece], width: float, height: float, what: str) -> Drawn:
    """A bar whose pieces say whose they are."""
    parts: list[str] = []
    x = 0
    sizes = shares([piece.amount for piece in pieces], int(width)) if pieces else []
    for piece, size in zip(pieces, sizes, strict=True):
        drawn = swatch(x, 0, max(size - 1, 0.5), height, piece.mark)
        parts.append(tipped(piece.tip, class_of(piece.mark), drawn, f' data-{what}="{piece.amount}"'))
        x += size
    return Drawn(width, height if pieces else 0, parts)


def _told_bar(pieces: Sequence[Piece], width: float, what: str) -> Drawn:
    """A bar, and how much each of its pieces is."""
    told = flow(
        (
            Drawn(
                (len(piece.text) + len(sign(piece.mark)) + 1) * MONO,
                14,
                [text(0, 11, f"{sign(piece.mark)} {piece.text}", "np-mono np-soft")],
            )
            for piece in pieces
        ),
        width,
        10,
        0,
    )
    return stack([_bar(pieces, width, _BAR, what), told], 4)


def _memory(block: NodeBlock, width: float) -> Drawn:
    pages = f"; hugepages {block.hugepages}" if block.hugepages else ""
    words = paragraph(f"memory: {block.memory_told}{pages}", width, "np-soft")
    if any(piece.mark != FREE for piece in block.memory):
        return stack([words, _told_bar(block.memory, width, "bytes")], 2)
    return stack([words, _bar(block.memory, width, 8, "bytes")], 2)


def devices(groups: Iterable[DeviceGroup], width: float) -> Drawn:
    """Devices side by side; those behind one bridge are framed."""
    items: list[Drawn] = []
    for group in groups:
        chips = [_chip(block, width) for block in group.devices]
        if not group.bridge:
            items += chips
            continue
        room = min(sum(chip.width for chip in chips) + 6 * (len(chips) - 1), width - 8)
        inner = flow(chips, room, 6)
        used = room if inner.height > chips[0].height else sum(chip.width + 6 for chip in chips) - 6
        frame = rect(0.5, 0.5, used + 8, inner.height + 8, "np-bridge", 6)
        moved = f'<g transform="translate(4.5 4.5)">{"".join(inner.parts)}</g>'
        items.append(Drawn(used + 9, inner.height + 9, [tipped(f"behind {group.bridge}", "", [frame, moved])]))
    return flow(items, width, 6, 5)


def _chip(block: DeviceBlock, width: float) -> Drawn:
    held = block.mark != FREE
    words = block.name + ("" if block.healthy else " unhealthy") + (f" {sign(block.mark)}" if held else "")
    words = cut(words, max(int((width - 14) / MONO), 4))
    size = len(words) * MONO + 12
    kind = f"np-chip {class_of(block.mark)}" + ("" if block.healthy else " np-ill")
    parts = [rect(0.5, 0.5, size - 1, 19, round_=4), text(6, 14, words, "np-mono")]
    return Drawn(size, 20, [tipped(block.tip, kind, parts, f' data-devices="{block.count}"')])


def _tile(block: NodeBlock, width: float) -> Drawn:
    """One of many nodes: its number, bars of CPUs and memory, and how much is free."""
    room = width - 2 * PAD
    short = fitted(block.short, room * 0.6)
    name = fitted(block.name.replace("NUMA ", ""), room - text_width(short) - 4, bold=True)
    parts = [
        Drawn(room, 15, [text(0, 12, name, "np-b"), text(room, 12, short, "np-soft np-end")]),
        _bar(block.cpus, room, 12, "cpus"),
    ]
    if block.memory:
        told = text_width(block.memory_short, 10) + 6
        bar = _bar(block.memory, room - told, 8, "bytes")
        parts.append(Drawn(room, 10, [*bar.parts, text(room, 8, block.memory_short, "np-small np-end")]))
    else:
        parts.append(Drawn(room, 10, [text(0, 8, block.memory_short, "np-small")]))
    return stack([*parts, devices(block.devices, room)], 5)
