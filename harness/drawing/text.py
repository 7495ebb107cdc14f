"""The drawing for a terminal: letters for pods, a line never wider than asked, colour only on top."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from numaproof.harness.drawing.bars import row_length, shares
from numaproof.harness.drawing.blocks import (
    Cell,
    DeviceBlock,
    DeviceGroup,
    Matrix,
    NodeBlock,
    PackageBlock,
    Picture,
    Piece,
)
from numaproof.harness.drawing.layout import layout
from numaproof.harness.drawing.marks import COLOURS, FREE, Kind, Mark, sign
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.words import ELLIPSIS

Span = tuple[str, Mark | None]  # None: plain text
Line = list[Span]

_NARROWEST = 24  # below, lines are made for this width and cut
_WIDEST_BAR = 64
_TILE_BARS = (8, 4, 0)  # the first that fits
_FEW_PODS = 4  # that are told below one another, wherever there is room
_BETWEEN = "  "  # columns
_EDGE, _WISH_EDGE, _CORNER, _RULE = "│", "┊", "┌", "─"
_INSTEAD = {"│": "|", "┊": "!", "┌": "+", "─": "-", "├": "+", "└": "`", "…": "~"}

_POD_COLOURS = ("94", "33", "32", "95", "36", "31", "93", "92")
assert len(_POD_COLOURS) == COLOURS
_KIND_COLOURS: Mapping[Kind, str] = {"reserved": "2", "mixed": "90", "offline": "90", "several": "41;97"}


def draw_text(scene: Scene, width: int = 80, *, colour: bool = False) -> list[str]:
    """The drawing as lines of at most `width` columns; with colour, also in the sixteen of a terminal."""
    lines = _picture(layout(scene), max(width, _NARROWEST))
    return [_rendered(_cut(line, width), colour=colour) for line in lines]


def figure_lines(figure: Matrix | str, width: int) -> list[str]:
    """Distances or links alone, in the same way."""
    lines = _wrapped(figure, width, "  ") if isinstance(figure, str) else _matrix(figure, width)
    return [_rendered(_cut(line, width), colour=False) for line in lines if figure]


def to_encoding(lines: Iterable[str], encoding: str) -> list[str]:
    """The same drawing for an output of some encoding, as wide as before; what that cannot show is `?`."""
    signs = {ord(own): other for own, other in _INSTEAD.items() if not _encodes(own, encoding)}
    return [line.translate(signs).encode(encoding, "replace").decode(encoding) for line in lines]


def to_ascii(lines: Iterable[str]) -> list[str]:
    """The same drawing for an output that knows ASCII alone."""
    return to_encoding(lines, "ascii")


def _encodes(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _picture(picture: Picture, width: int) -> Iterator[Line]:
    yield from _wrapped(f"{picture.title}: {picture.headline}", width, "  ")
    if picture.refused:
        yield from _wrapped(f"refused: {picture.refused}", width, "  ")
    yield from _legend(picture, width)
    for package in picture.packages:
        yield []
        yield from _package(package, width)
    for name, groups in picture.elsewhere:
        yield []
        yield from _wrapped(f"devices {name}", width, "  ")
        yield from (_after("  ", line) for line in _devices(groups, width - 2))
    for matrix in picture.matrices:
        yield []
        yield from _matrix(matrix, width)
    if picture.notes:
        yield []
    for note in picture.notes:
        yield from _wrapped(note, width, "  ")


def _legend(picture: Picture, width: int) -> Iterator[Line]:
    signs = max((len(pod.sign) for pod in picture.pods), default=1)
    names = min(max((len(pod.label) for pod in picture.pods), default=0), width // 2)
    entries: list[Line] = [
        [(pod.sign.ljust(signs), pod.mark), (f" {pod.label.ljust(names)}  {pod.told}", None)] for pod in picture.pods
    ]
    if len(entries) > _FEW_PODS and 2 * max(map(_length, entries)) + len(_BETWEEN) <= width:
        yield from _columns(entries, width)
    else:
        for pod in picture.pods:
            head = [(pod.sign.ljust(signs), pod.mark), (" ", None)]
            lines = list(_wrapped(f"{pod.label.ljust(names)}  {pod.told}", width - signs - 1, "  "))
            yield [*head, *lines[0]]
            yield from (_after(" " * (signs + 1), line) for line in lines[1:])
    if picture.more:
        yield from _wrapped(picture.more, width, "  ")
    items: list[Line] = [[(sign(mark), mark), (f" {text}", None)] for mark, text in picture.signs]
    yield from _flow(items, width, "   ")


def _package(package: PackageBlock, width: int) -> Iterator[Line]:
    yield from _wrapped(package.name, width, "  ")
    tiles = [node for node in package.nodes if node.detail == "tile"]
    if tiles:
        yield from _tiles(tiles, width)
    for node in package.nodes:
        if node.detail != "tile":
            yield from _node(node, width)


def _node(node: NodeBlock, width: int) -> Iterator[Line]:
    edge = _WISH_EDGE if node.wish else _CORNER
    rule = width - len(node.name) - len(node.told) - 5
    if rule > 0:
        yield [(f"{edge} {node.name} {_RULE * rule} {node.told}", None)]
    else:
        yield [(f"{edge} {node.name}", None)]
        yield [(f"{edge if node.wish else _EDGE} {node.told}", None)]
    side = f"{_WISH_EDGE if node.wish else _EDGE} "
    for line in _inside(node, width - len(side)):
        yield _after(side, line)


def _inside(node: NodeBlock, width: int) -> Iterator[Line]:
    if node.wish:
        yield from _wrapped(f"refused here: {node.wish}", width, "  ")
    if node.cores:
        yield from _cells(node.cores, width)
    else:
        yield from _bar(node.cpus, width)
        yield from _flow([[(f"{sign(p.mark)} ", p.mark), (p.text, None)] for p in node.cpus], width, "  ")
    yield from _memory(node, width)
    yield from _devices(node.devices, width)


def _cells(cores: Sequence[Sequence[Cell]], width: int) -> Iterator[Line]:
    """Rows of cores, each with the number of its first CPU; the threads of a core stand together."""
    signs = max(len(sign(cell.mark)) for core in cores for cell in core)
    numbers = max(len(str(core[0].cpu)) for core in cores)
    room = width - numbers - 1
    between = "/" if signs > 1 else ""  # without it, nobody could tell A AA from AA A
    threads = max(1, (room + len(between)) // (signs + len(between)))
    parts = [core[at : at + threads] for core in cores for at in range(0, len(core), threads)]
    widest = max(map(len, parts)) * (signs + len(between)) - len(between)
    many = row_length((room + 1) // (widest + 1))
    for at in range(0, len(parts), many):
        row: Line = [(f"{parts[at][0].cpu:>{numbers}}", None)]
        for part in parts[at : at + many]:
            for place, cell in enumerate(part):
                row += [(between if place else " ", None), (sign(cell.mark).ljust(signs), cell.mark)]
        yield row


def _bar(pieces: Sequence[Piece], width: int) -> Iterator[Line]:
    room = min(width - 2, _WIDEST_BAR)
    if pieces and room >= len(pieces):
        yield _drawn(pieces, room)


def _drawn(pieces: Sequence[Piece], room: int) -> Line:
    """A bar of so many columns, each piece drawn by its sign; one column at least where there is room for all."""
    sizes = shares([piece.amount for piece in pieces], room)
    filled = [(_filled(piece.mark, size), piece.mark) for piece, size in zip(pieces, sizes, strict=True) if size]
    return [("[", None), *filled, ("]", None)]


def _filled(mark: Mark, size: int) -> str:
    """A piece of a bar. A pod's letters stand at its beginning alone, for AA is no A twice; or not, if too narrow."""
    if mark.kind != "pod":
        return sign(mark) * size
    return sign(mark).ljust(size, "=") if len(sign(mark)) <= size else "#" * size


def _memory(node: NodeBlock, width: int) -> Iterator[Line]:
    pages = f"; hugepages {node.hugepages}" if node.hugepages else ""
    yield from _wrapped(f"memory: {node.memory_told}{pages}", width, "  ")
    if _is_held(node.memory):
        yield from _bar(node.memory, width)
        parts: list[Line] = [[(f"{sign(p.mark)} ", p.mark), (p.text, None)] for p in node.memory]
        yield from _flow(parts, width, "  ")


def _devices(groups: Iterable[DeviceGroup], width: int) -> Iterator[Line]:
    """Devices side by side; those behind one bridge are in brackets."""
    items: list[Line] = []
    for group in groups:
        blocks = [_device(block) for block in group.devices]
        if group.bridge:
            whole: Line = [("[", None)]
            for place, block in enumerate(blocks):
                whole += [(", ", None)] * (place > 0) + block
            whole.append(("]", None))
            if _length(whole) <= width:
                items.append(whole)
                continue
        items += blocks
    yield from _flow(items, width, "   ")


def _device(block: DeviceBlock) -> Line:
    held: Line = [] if block.mark == FREE else [(" ", None), (sign(block.mark), block.mark)]
    return [(block.name, None), *held, ("" if block.healthy else " unhealthy", None)]


def _tiles(nodes: Sequence[NodeBlock], width: int) -> Iterator[Line]:
    """Many nodes in columns: their CPUs, what is free of them, their memory, what is free of it."""
    for bar in _TILE_BARS:
        shown = [bar if any(_is_held(node.cpus) for node in nodes) else 0]
        shown += [bar if any(_is_held(node.memory) for node in nodes) else 0]
        rows = [_tile(node, *shown) for node in nodes]
        widths = [max(_length(row[place]) for row in rows) for place in range(5)]
        lines = [_padded(row, widths) for row in rows]
        if max(map(_length, lines)) <= width:
            break
    if any(shown):
        told = [" [CPUs]"] * bool(shown[0]) + [" free/all"] * any(node.cpus for node in nodes)
        yield [(f"  node{''.join(told)}{' [memory]' if shown[1] else ' memory'}", None)]
    if any(node.devices for node in nodes):
        for node, line in zip(nodes, lines, strict=True):
            yield line
            yield from (_after("    ", more) for more in _devices(node.devices, width - 4))
    else:
        yield from _columns(lines, width)
    yield from (line for node in nodes if node.wish for line in _wrapped(f"! {node.name}: {node.wish}", width, "  "))


def _is_held(pieces: Iterable[Piece]) -> bool:
    return any(piece.mark != FREE for piece in pieces)


def _columns(lines: Sequence[Line], width: int) -> Iterator[Line]:
    """Lines from top to bottom, in as many columns as fit."""
    widest = max(map(_length, lines))
    columns = max(1, (width + len(_BETWEEN)) // (widest + len(_BETWEEN)))
    height = -(-len(lines) // columns)
    for place in range(height):
        row: Line = []
        for line in lines[place::height]:
            row += [(_BETWEEN, None)] * bool(row) + line + [(" " * (widest - _length(line)), None)]
        yield row


def _tile(node: NodeBlock, cpus: int, memory: int) -> list[Line]:
    """What is told of a node, with bars of at most so many columns."""
    ids = node.name.rpartition(" ")[2]
    room = min(cpus, sum(piece.amount for piece in node.cpus))
    return [
        [("! " if node.wish else "  ", None), (ids, None)],
        _drawn(node.cpus, room) if room else [],
        [(node.short, None)],
        _drawn(node.memory, memory) if node.memory and memory else [],
        [(node.memory_short, None)],
    ]


def _padded(row: Sequence[Line], widths: Sequence[int]) -> Line:
    line: Line = []
    for cell, width in zip(row, widths, strict=True):
        if width:
            line += [(" ", None)] * bool(line) + cell + [(" " * (width - _length(cell)), None)]
    return line


def _matrix(matrix: Matrix, width: int) -> Iterator[Line]:
    """Figures in rows; a matrix that is too wide goes on below."""
    names = max(len(matrix.title), *(len(name) for name, _ in matrix.rows))
    cells = max(len(cell) for row in (matrix.columns, *(row for _, row in matrix.rows)) for cell in row)
    for part in matrix.in_parts(max(1, (width - names) // (cells + 1))):
        for name, row in ((part.title, part.columns), *part.rows):
            yield [(name.ljust(names) + "".join(f" {cell:>{cells}}" for cell in row), None)]


def _flow(items: Iterable[Line], width: int, between: str) -> Iterator[Line]:
    """Items side by side, as many in a line as fit."""
    row: Line = []
    for item in items:
        if row and _length(row) + len(between) + _length(item) > width:
            yield row
            row = []
        row = [*row, (between, None), *item] if row else list(item)
    if row:
        yield row


def _wrapped(text: str, width: int, indent: str) -> Iterator[Line]:
    """A text in lines that fit, broken between words; later lines are indented."""
    line = ""
    for word in text.split(" "):
        if line.strip() and len(line) + 1 + len(word) > width:
            yield [(line.rstrip(), None)]
            line = indent + word
        else:
            line = f"{line} {word}" if line else word
    yield [(line.rstrip(), None)]


def _after(head: str, line: Line) -> Line:
    return [(head, None), *line]


def _length(line: Line) -> int:
    return sum(len(text) for text, _ in line)


def _cut(line: Line, width: int) -> Line:
    """A line that is too long ends in an ellipsis."""
    if _length(line) <= width:
        return line
    found: Line = []
    left = width - len(ELLIPSIS)
    for text, mark in line:
        found.append((text[:left], mark))
        left -= len(found[-1][0])
    return [*found, (ELLIPSIS, None)]


def _rendered(line: Line, *, colour: bool) -> str:
    if not colour:
        return "".join(text for text, _ in line).rstrip()
    return "".join(_coloured(text, mark) for text, mark in line)


def _coloured(text: str, mark: Mark | None) -> str:
    if mark is None or mark == FREE or not text:
        return text
    code = _POD_COLOURS[mark.pod % COLOURS] if mark.kind == "pod" else _KIND_COLOURS[mark.kind]
    return f"\x1b[{code}m{text}\x1b[0m"
