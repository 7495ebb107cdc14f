"""Where everything of a drawn layered graph stands: boxes of vertices, lines of edges, and the costs beside them.

The chosen vertices of a layer stand first, so that the chosen path runs down the left side and crosses nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal

from rich.cells import cell_len

from numaproof.harness.report.cost_answer import Answer
from numaproof.harness.report.cost_words import ids_text, number, plain, short

FONT = 12  # px; nothing is written smaller
CHARACTER = 7.4  # px that a character of the font takes at most: it is of one width
LINE = 16
MOST_VERTICES = 12  # whose edges are all drawn, with their costs
MOST_CHOSEN = 120  # edges between chosen vertices of a larger graph that are drawn: the dearest
LONGEST_LABEL = 26  # characters; the whole name is in the box's tooltip

_MARGIN = 20
_BETWEEN_BOXES = 26
_BETWEEN_ROWS = 30
_BETWEEN_LAYERS = 90
_WIDEST_ROW = 1100
_WIDEST_SIDE = 600  # px beside the boxes, for the black edges
_STRETCHES = (1.0, 1.4, 2.0, 2.8)  # of all distances, until every cost finds a place
_ALONG = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.15, 0.85, 0.1, 0.9)  # places on a line to write its cost at

Kind = Literal["start", "red", "green", "black"]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A part of the drawing that is taken."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Rectangle") -> bool:
        """Whether they share more than a border."""
        beside = self.x + self.width <= other.x or other.x + other.width <= self.x
        return not (beside or self.y + self.height <= other.y or other.y + other.height <= self.y)


@dataclass(frozen=True, slots=True)
class Box:
    """A vertex: where, and what is written in it."""

    vertex: int
    place: Rectangle
    lines: tuple[str, ...]
    tooltip: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Label:
    """A cost beside its line."""

    text: str
    place: Rectangle


@dataclass(frozen=True, slots=True)
class Line:
    """An edge: a cubic curve by its four points."""

    kind: Kind
    points: tuple[Point, Point, Point, Point]
    chosen: bool
    tooltip: str
    label: Label | None  # None: it has no cost to show, or its cost stands in the list below


@dataclass(frozen=True, slots=True)
class Title:
    """A layer's name and numbers, left of it."""

    lines: tuple[str, ...]
    tooltip: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """All of it; whatever has a place lies within the size."""

    width: float
    height: float
    start: Rectangle
    titles: tuple[Title, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    listed: tuple[str, ...]  # edges with their costs that found no place in the drawing
    whole: bool  # whether all edges are drawn
    dropped: int  # edges between chosen vertices that are not drawn: there are too many


@dataclass(frozen=True, slots=True)
class _Edge:
    kind: Kind
    one: int | None  # None: the start
    other: int
    chosen: bool
    cost: Fraction
    text: str  # the cost as it is written; "" where it is not


def layout(answer: Answer) -> Drawing:
    """The drawing of an answer's graph, stretched as far as its costs need it."""
    edges = list(_edges(answer))
    drawing = _place(answer, edges, _STRETCHES[0])
    for stretch in _STRETCHES[1:]:
        if not drawing.listed:
            break
        drawing = _place(answer, edges, stretch)
    return drawing


def text_width(text: str) -> float:
    """The width of a text in px."""
    return cell_len(text) * CHARACTER


def _edges(answer: Answer) -> Iterator[_Edge]:
    """The edges that are drawn: of a small graph all; of a large one the chosen, and each vertex's cheapest upwards."""
    graph, units, layers = answer.graph, answer.units, answer.graph.layers
    whole = len(graph.vertices) <= MOST_VERTICES
    for vertex in layers[0].vertices:
        if whole or vertex in units:
            yield _Edge("start", None, vertex, vertex in units, Fraction(0), "")
    layer_of = {vertex: place for place, layer in enumerate(layers) for vertex in layer.vertices}
    if whole:
        pairs: Iterable[tuple[int, int]] = combinations(range(len(graph.vertices)), 2)
    else:
        above = {
            (min(upper.vertices, key=lambda one: graph.weights[one][vertex]), vertex)
            for upper, lower in pairwise(layers)
            for vertex in lower.vertices
        }
        pairs = sorted(above | set(_dearest(answer)))
    for one, other in pairs:
        apart = layer_of[other] - layer_of[one]
        kind: Kind = "green" if apart == 0 else "red" if apart == 1 else "black"
        chosen = one in units and other in units
        cost = graph.cost(one, other)
        times = len(units[one]) * len(units[other]) if chosen else 1
        text = number(cost) + (f" x{times}" if times > 1 else "")
        yield _Edge(kind, one, other, chosen, cost, text if whole or chosen else "")


def _dearest(answer: Answer) -> list[tuple[int, int]]:
    """The edges between chosen vertices, as far as they are drawn."""
    graph, units = answer.graph, answer.units

    def together(ends: tuple[int, int]) -> int:
        return graph.weights[ends[0]][ends[1]] * len(units[ends[0]]) * len(units[ends[1]])

    return sorted(combinations(sorted(units), 2), key=together, reverse=True)[:MOST_CHOSEN]


def _place(answer: Answer, edges: Sequence[_Edge], stretch: float) -> Drawing:
    titles = [_title_lines(answer, place) for place in range(len(answer.graph.layers))]
    left = _MARGIN + max(text_width(line) for lines in titles for line in lines) + _BETWEEN_BOXES
    black = sum(edge.kind == "black" for edge in edges)
    step = min(_BETWEEN_BOXES * stretch, _WIDEST_SIDE / max(black, 1))
    inner = left + black * step + _BETWEEN_BOXES
    boxes, spans = _boxes(answer, inner, stretch)
    place_of = {box.vertex: box.place for box in boxes}
    right = max(box.place.x + box.place.width for box in boxes)
    start = Rectangle(inner, _MARGIN, text_width("start") + 16, LINE + 8)
    lines: list[Line] = []
    listed: list[str] = []
    taken = [start, *(box.place for box in boxes)]
    free = Rectangle(left, 0, right + _BETWEEN_BOXES - left, spans[-1][1] + _BETWEEN_LAYERS * stretch)
    turned = 0
    # The chosen come first: they get the best places.
    for edge in sorted(edges, key=lambda one: not one.chosen):
        upper = start if edge.one is None else place_of[edge.one]
        lower = place_of[edge.other]
        if edge.kind == "green":
            points = _arc(upper, lower, stretch)
        elif edge.kind == "black":
            turned += 1
            points = _detour(upper, lower, left + (black - turned) * step + _BETWEEN_BOXES / 2, stretch)
        else:
            points = _straight(upper, lower)
        label = _label(edge.text, points, taken, free) if edge.text else None
        if label is not None:
            taken.append(label.place)
        elif edge.text:
            listed.append(f"{_ends(answer, edge)}: {edge.text}")
        tooltip = "" if edge.one is None else f"{_ends(answer, edge)}: {number(edge.cost)}"
        lines.append(Line(edge.kind, points, edge.chosen, tooltip, label))
    bottom = max([spans[-1][1], *(point[1] for line in lines for point in line.points)], default=0)
    bottom = max([bottom, *(one.y + one.height for one in taken)])
    placed = tuple(
        Title(lines_, plain(layer.resource), _MARGIN, top + LINE)
        for lines_, layer, (top, _) in zip(titles, answer.graph.layers, spans, strict=True)
    )
    whole = len(answer.graph.vertices) <= MOST_VERTICES
    chosen = sum(edge.chosen for edge in edges if edge.kind != "start")
    # What lies on top is drawn last.
    return Drawing(
        right + _BETWEEN_BOXES + _MARGIN,
        bottom + _MARGIN,
        start,
        placed,
        tuple(boxes),
        tuple(sorted(lines, key=lambda one: one.chosen)),
        tuple(listed),
        whole,
        math.comb(len(answer.units), 2) - chosen,
    )


def _title_lines(answer: Answer, place: int) -> tuple[str, ...]:
    layer = answer.graph.layers[place]
    there = sum(answer.graph.vertices[one].size for one in layer.vertices)
    return short(plain(layer.resource), LONGEST_LABEL), f"{layer.wanted} of {there} wanted"


def _boxes(answer: Answer, left: float, stretch: float) -> tuple[list[Box], list[tuple[float, float]]]:
    """The boxes of all layers from the top, and from where to where each layer reaches down."""
    contents = {vertex: _box_lines(answer, vertex) for vertex in range(len(answer.graph.vertices))}
    gap, row_gap = _BETWEEN_BOXES * stretch, _BETWEEN_ROWS * stretch
    chosen = [
        _rows([one for one in layer.vertices if one in answer.units], contents, gap) for layer in answer.graph.layers
    ]
    others = [
        _rows([one for one in layer.vertices if one not in answer.units], contents, gap)
        for layer in answer.graph.layers
    ]
    second = left + max((_row_width(row, contents, gap) for rows in chosen for row in rows), default=0) + gap
    boxes: list[Box] = []
    spans: list[tuple[float, float]] = []
    top = _MARGIN + LINE + 8 + _BETWEEN_LAYERS * stretch / 2
    for ours, rest in zip(chosen, others, strict=True):
        bottom = top
        for rows, x in ((ours, left), (rest, second)):
            y = top
            for row in rows:
                height = max(len(contents[one]) for one in row) * LINE + 10
                boxes.extend(_row(answer, row, contents, (x, y), gap))
                bottom = max(bottom, y + height)
                y += height + row_gap
        spans.append((top, bottom))
        widest = max((len(row) for row in (*ours, *rest)), default=1)
        # Arcs within a layer hang below it, the wider the lower.
        top = bottom + _BETWEEN_LAYERS * stretch + (min(widest, MOST_VERTICES) * 12)
    return boxes, spans


def _rows(vertices: Sequence[int], contents: Mapping[int, tuple[str, ...]], gap: float) -> list[list[int]]:
    rows: list[list[int]] = []
    for vertex in vertices:
        if not rows or _row_width([*rows[-1], vertex], contents, gap) > _WIDEST_ROW:
            rows.append([])
        rows[-1].append(vertex)
    return rows


def _row_width(row: Sequence[int], contents: Mapping[int, tuple[str, ...]], gap: float) -> float:
    return sum(_box_width(contents[one]) + gap for one in row) - gap


def _box_width(lines: Sequence[str]) -> float:
    return max(text_width(line) for line in lines) + 16


def _row(
    answer: Answer, row: Sequence[int], contents: Mapping[int, tuple[str, ...]], corner: Point, gap: float
) -> Iterator[Box]:
    x, y = corner
    for vertex in row:
        lines = contents[vertex]
        place = Rectangle(x, y, _box_width(lines), len(lines) * LINE + 10)
        made_of = answer.graph.vertices[vertex]
        tooltip = f"{plain(made_of.resource)}: {ids_text(made_of.ids)}"
        yield Box(vertex, place, lines, tooltip, vertex in answer.units)
        x += place.width + gap


def _box_lines(answer: Answer, vertex: int) -> tuple[str, ...]:
    made_of, ids = answer.graph.vertices[vertex], answer.units.get(vertex, ())
    lines = [short(ids_text(made_of.ids), LONGEST_LABEL)]
    if made_of.size > 1:
        lines.append(f"{made_of.size} alike")
    if 0 < len(ids) < made_of.size:
        lines.append(short(f"chosen: {ids_text(ids)}", LONGEST_LABEL))
    within = next((edge.cost for edge in answer.edges if edge.one == edge.other == vertex), None)
    if within is not None:
        lines.append(f"among them: {number(within)}")
    return tuple(lines)


def _ends(answer: Answer, edge: _Edge) -> str:
    ends = (edge.one, edge.other) if edge.one is not None else (edge.other,)
    vertices = [answer.graph.vertices[end] for end in ends]
    return " - ".join(f"{plain(vertex.resource)}/{ids_text(vertex.ids)}" for vertex in vertices)


def _straight(upper: Rectangle, lower: Rectangle) -> tuple[Point, Point, Point, Point]:
    a = (upper.x + upper.width / 2, upper.y + upper.height)
    d = (lower.x + lower.width / 2, lower.y)
    third = ((d[0] - a[0]) / 3, (d[1] - a[1]) / 3)
    return a, (a[0] + third[0], a[1] + third[1]), (d[0] - third[0], d[1] - third[1]), d


def _arc(one: Rectangle, other: Rectangle, stretch: float) -> tuple[Point, Point, Point, Point]:
    """From below to below, the wider the deeper."""
    a = (one.x + one.width / 2, one.y + one.height)
    d = (other.x + other.width / 2, other.y + other.height)
    deep = max(a[1], d[1]) + min(24 + abs(d[0] - a[0]) / 9, _BETWEEN_LAYERS) * stretch
    return a, (a[0], deep), (d[0], deep), d


def _detour(upper: Rectangle, lower: Rectangle, side: float, stretch: float) -> tuple[Point, Point, Point, Point]:
    """Around the layers between, by their left side."""
    a = (upper.x + upper.width / 3, upper.y + upper.height)
    d = (lower.x + lower.width / 3, lower.y)
    # Half way a cubic curve has come three quarters of the way to its inner points.
    control = (side - (a[0] + d[0]) / 8) / 0.75
    reach = _BETWEEN_LAYERS * stretch / 3
    return a, (control, a[1] + reach), (control, d[1] - reach), d


def _label(text: str, points: Sequence[Point], taken: Sequence[Rectangle], free: Rectangle) -> Label | None:
    """The cost on its line, where nothing else stands; None if there is no such place."""
    width, height = text_width(text) + 4, LINE - 2
    for along in _ALONG:
        x, y = _on_curve(points, along)
        place = Rectangle(x - width / 2, y - height / 2, width, height)
        inside = (
            free.x <= place.x and place.x + width <= free.x + free.width and place.y + height <= free.y + free.height
        )
        if inside and not any(place.overlaps(one) for one in taken):
            return Label(text, place)
    return None


def _on_curve(points: Sequence[Point], t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    return (
        sum(weight * point[0] for weight, point in zip(weights, points, strict=True)),
        sum(weight * point[1] for weight, point in zip(weights, points, strict=True)),
    )
