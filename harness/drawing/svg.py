"""The drawing as one self-contained SVG picture, which a page may hold several of."""

from collections.abc import Iterator, Sequence
from html import escape

from numaproof.harness.drawing.blocks import Matrix, NodeBlock, PackageBlock, Picture, PodBlock
from numaproof.harness.drawing.layout import layout
from numaproof.harness.drawing.marks import Mark
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.svg_letters import fitted, text_width
from numaproof.harness.drawing.svg_nodes import NARROWEST_BOX, NARROWEST_TILE, PAD, devices, node
from numaproof.harness.drawing.svg_parts import (
    LINE,
    MONO,
    STYLE,
    Drawn,
    at,
    class_of,
    flow,
    paragraph,
    rect,
    stack,
    swatch,
    text,
    tipped,
)

_MARGIN = 20
_GAP = 14  # px between packages
_NARROWEST_PACKAGE = 420
_NARROWEST = 320
_FIGURE = 30  # px of a figure in a matrix
_FEW_PODS = 4  # that are told below one another, wherever there is room


def draw_svg(scene: Scene, *, width: int = 1000) -> str:
    """The picture, `width` pixels wide: colours for light and dark screens, letters for people who see none of them."""
    picture = layout(scene)
    width = max(width, _NARROWEST)
    room = width - 2 * _MARGIN
    whole = stack(
        [
            _head(picture, room),
            _refused(picture, room),
            _legend(picture, room),
            _packages(picture.packages, room),
            *(_elsewhere(name, devices(groups, room - 2 * PAD), room) for name, groups in picture.elsewhere),
            _figures(picture, room),
        ],
        _GAP,
    )
    height = whole.height + 2 * _MARGIN
    told = "; ".join([picture.headline, *(f"{pod.sign} {pod.label}: {pod.told}" for pod in picture.pods)])
    refused = f"; refused: {picture.refused}" if picture.refused else ""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="np-map" role="img" aria-label="{escape(picture.title)}" '
            f'width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}">',
            f"<title>{escape(picture.title)}</title>",
            f"<desc>{escape(told + refused)}</desc>",
            f"<style>{STYLE}</style>",
            rect(0, 0, width, round(height), "np-page", 8),
            at(_MARGIN, _MARGIN, whole.parts),
            "</svg>",
            "",
        ]
    )


def _head(picture: Picture, room: float) -> Drawn:
    title = Drawn(room, 24, [text(0, 17, fitted(picture.title, room, 17, bold=True), "np-title")])
    return stack([title, paragraph(picture.headline, room, "np-soft")], 0)


def _refused(picture: Picture, room: float) -> Drawn:
    if not picture.refused:
        return Drawn(0, 0, [])
    words = paragraph(f"refused: {picture.refused}", room - 2 * PAD, "np-alarm")
    frame = rect(1, 1, room - 2, words.height + 10, "np-wish", 6)
    return Drawn(room, words.height + 12, [frame, at(PAD, 6, words.parts)])


def _legend(picture: Picture, room: float) -> Drawn:
    """The pods from top to bottom, in as many columns as have them in a line each; then what other signs mean."""
    signs = flow((_sign(mark, words) for mark, words in picture.signs), room, 16)
    widest = max((_line_width(pod) for pod in picture.pods), default=room)
    columns = int((room + _MARGIN) / (widest + _MARGIN)) if len(picture.pods) > _FEW_PODS else 1
    more = paragraph(picture.more, room, "np-soft")
    if columns < 2:
        return stack([*(_pod(pod, room) for pod in picture.pods), more, signs], 4)
    height = -(-len(picture.pods) // columns)
    each = (room + _MARGIN) / columns
    parts = [
        at(place // height * each, place % height * (LINE + 4), _pod(pod, each - _MARGIN).parts)
        for place, pod in enumerate(picture.pods)
    ]
    return stack([Drawn(room, height * (LINE + 4) - 4, parts), more, signs], 4)


def _box_width(pod: PodBlock) -> float:
    return max(16.0, 7.0 * len(pod.sign) + 6)


def _line_width(pod: PodBlock) -> float:
    return _box_width(pod) + 16 + text_width(pod.label, bold=True) + text_width(pod.told)


def _pod(pod: PodBlock, room: float) -> Drawn:
    box = _box_width(pod)
    x = box + 8
    label = fitted(pod.label, room - x, bold=True)
    parts = [tipped(pod.label, class_of(pod.mark), swatch(0, 1, box, 16, pod.mark)), text(x, 13, label, "np-b")]
    if _line_width(pod) <= room:
        beside = x + text_width(label, bold=True) + 8
        return Drawn(room, LINE, [*parts, text(beside, 13, pod.told, "np-soft")])
    below = paragraph(pod.told, room - x, "np-soft")
    return Drawn(room, LINE + below.height, [*parts, at(x, LINE, below.parts)])


def _sign(mark: Mark, words: str) -> Drawn:
    parts = [f'<g class="{class_of(mark)}">{"".join(swatch(0, 1, 16, 16, mark))}</g>', text(22, 13, words, "np-soft")]
    return Drawn(22 + text_width(words), LINE, parts)


def _packages(packages: Sequence[PackageBlock], room: float) -> Drawn:
    """Packages in columns of one width; those whose nodes are tiles take the whole width."""
    large = [package for package in packages if package.nodes[0].detail != "tile"]
    rows = [
        _row([_package(package, width) for package in large[start : start + columns]], width)
        for columns, width in [_columns(len(large), room, _NARROWEST_PACKAGE, _GAP)]
        for start in range(0, len(large), columns)
    ]
    rows += [_row([_package(package, room)], room) for package in packages if package.nodes[0].detail == "tile"]
    return stack(rows, _GAP)


def _columns(number: int, room: float, narrowest: float, gap: float) -> tuple[int, float]:
    """How many columns, and how wide each is; the rows are filled evenly."""
    most = max(1, min(number, int((room + gap) / (narrowest + gap))))
    rows = -(-number // most)
    columns = -(-number // rows) if rows else 1
    return columns, (room + gap) / columns - gap


def _row(packages: Sequence[Drawn], width: float) -> Drawn:
    """Panels side by side, all as high as the highest."""
    height = max(package.height for package in packages) + 2 * PAD
    parts = []
    for place, package in enumerate(packages):
        panel = rect(0, 0, width, height, "np-panel", 8)
        parts.append(at(place * (width + _GAP), 0, [panel, at(PAD, PAD, package.parts)]))
    return Drawn(width, height, parts)


def _package(package: PackageBlock, width: float) -> Drawn:
    room = width - 2 * PAD
    tiles = package.nodes[0].detail == "tile"
    gap = 8 if tiles else 10
    columns, each = _columns(len(package.nodes), room, NARROWEST_TILE if tiles else NARROWEST_BOX, gap)
    if tiles and len(package.nodes) < columns * 2:
        each = min(each, 1.4 * NARROWEST_TILE)
    rows = [
        _nodes(package.nodes[start : start + columns], each, gap) for start in range(0, len(package.nodes), columns)
    ]
    return stack([paragraph(package.name, room, "np-soft"), *rows], gap)


def _nodes(blocks: Sequence[NodeBlock], width: float, gap: float) -> Drawn:
    """The boxes of NUMA nodes side by side, all as high as the highest; a refused request is a dashed frame."""
    drawn = [node(block, width) for block in blocks]
    pad = 9 if blocks[0].detail == "tile" else PAD
    height = max(one.height for one in drawn) + 2 * pad
    parts = []
    for place, (block, inner) in enumerate(zip(blocks, drawn, strict=True)):
        frame = [rect(0.5, 0.5, width - 1, height - 1, "np-box", 6)]
        if block.wish:
            frame.append(rect(1.5, 1.5, width - 3, height - 3, "np-wish", 5))
        tip = f"{block.tip}; refused: {block.wish}" if block.wish else block.tip
        whole = [tipped(tip, "", frame), at(PAD, pad, inner.parts)]
        ids = ",".join(map(str, block.ids))
        parts.append(at(place * (width + gap), 0, whole, f' data-nodes="{ids}"'))
    return Drawn(width, height, parts)


def _elsewhere(name: str, inner: Drawn, room: float) -> Drawn:
    body = stack([paragraph(f"devices {name}", room - 2 * PAD, "np-soft"), inner], 4)
    height = body.height + 2 * PAD
    return Drawn(room, height, [rect(0, 0, room, height, "np-panel", 8), at(PAD, PAD, body.parts)])


def _figures(picture: Picture, room: float) -> Drawn:
    matrices = flow((part for matrix in picture.matrices for part in _matrix(matrix, room)), room, 36, 14)
    return stack([matrices, *(paragraph(note, room, "np-soft") for note in picture.notes)], 4)


def _matrix(matrix: Matrix, room: float) -> Iterator[Drawn]:
    """Figures in a grid, the larger the darker; one that is too wide goes on below."""
    names = max(text_width(matrix.title, bold=True), *(MONO * len(name) for name, _ in matrix.rows)) + 8
    figures = sorted({int(word) for _, row in matrix.rows for word in row if word.isdigit()})
    for part in matrix.in_parts(max(1, int((room - names) / _FIGURE))):
        yield _grid(part, names, figures)


def _grid(matrix: Matrix, names: float, figures: Sequence[int]) -> Drawn:
    cell, line = _FIGURE, 20
    parts = [text(0, 13, matrix.title, "np-b")]
    parts += [
        text(names + place * cell + cell / 2, 13, column, "np-small np-mid")
        for place, column in enumerate(matrix.columns)
    ]
    for number, (name, row) in enumerate(matrix.rows, start=1):
        parts.append(text(0, number * line + 14, name, "np-mono np-soft"))
        for place, word in enumerate(row):
            share = (figures.index(int(word)) + 1) / len(figures) if word.isdigit() else 0
            x = names + place * cell
            shade = f' fill-opacity="{0.05 + 0.3 * share:.2f}"'
            parts.append(rect(x, number * line, cell - 2, line - 2, "np-heat", 3, shade))
            parts.append(text(x + cell / 2 - 1, number * line + 13.5, word, "np-mono np-mid"))
    return Drawn(names + len(matrix.columns) * cell, (len(matrix.rows) + 1) * line, parts)
