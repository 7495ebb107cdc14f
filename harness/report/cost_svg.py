"""The layered graph of a request as one self-contained SVG picture."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from numaproof.harness.report.cost_answer import Answer
from numaproof.harness.report.cost_layout import FONT, LINE, Box, Drawing, Line, Rectangle, layout, text_width
from numaproof.harness.report.cost_words import chosen_text, number, proof_text, request_text

_MARGIN = 20
_HEAD = 14  # px of the heading
_STYLE = f"""
text {{ font: {FONT}px monospace; fill: #222; }}
.head {{ font-size: {_HEAD}px; font-weight: bold; }}
path {{ fill: none; stroke-width: 1; }}
.start {{ stroke: #888; }} .red {{ stroke: #c62828; }} .green {{ stroke: #2e7d32; }}
.black {{ stroke: #000; stroke-width: .6; }}
.faint {{ opacity: .35; }} .chosen {{ stroke-width: 3.5; }} .black.chosen {{ stroke-width: 2; }}
.box {{ fill: #fff; stroke: #777; }} .box.taken {{ fill: #fff3c4; stroke: #222; stroke-width: 2.5; }}
.cost {{ fill: #fff; opacity: .85; }} .taken-cost {{ font-weight: bold; }}
"""


def svg(answer: Answer) -> str:
    """The picture: layers from the top, the chosen path, costs beside the edges; a legend says what is left out."""
    drawing = layout(answer)
    solution = answer.solution
    title = f"Layered graph of {request_text(answer.request)}"
    cost = f"cost {number(solution.cost)} (raw {number(solution.raw_cost)}): {proof_text(solution)}"
    chosen = f"chosen: {chosen_text(solution.chosen)}"
    legend = list(_legend(drawing))
    inner = max(drawing.width, *(text_width(text) + 50 for _, text in legend))
    head = (_wrapped(title, inner), _wrapped(cost, inner), _wrapped(chosen, inner))
    lines = [line for part in head for line in part]
    width = max(inner, *(text_width(line) * _HEAD / FONT for line in lines)) + 2 * _MARGIN
    top = _MARGIN + len(lines) * LINE
    below = top + drawing.height + LINE
    height = below + len(legend) * LINE + _MARGIN
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"{chosen}; {cost}")}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    body += [
        _text(line, _MARGIN, _MARGIN + (place + 0.7) * LINE, "head" if place < len(head[0]) else "")
        for place, line in enumerate(lines)
    ]
    body += [f'<g transform="translate(0 {top})">', *_graph(drawing), "</g>"]
    for place, (kind, text) in enumerate(legend):
        y = below + (place + 0.7) * LINE
        if kind:
            body.append(f'<path class="{kind}" d="M {_MARGIN} {y - 4:.1f} h 40"/>')
        body.append(_text(text, _MARGIN + 50, y))
    return "\n".join([*body, "</svg>", ""])


def _wrapped(text: str, width: float) -> list[str]:
    """A text in lines that fit, broken between words."""
    lines = [""]
    for word in text.replace(",", ", ").split():
        if lines[-1] and text_width(f"{lines[-1]} {word}") * _HEAD / FONT > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _graph(drawing: Drawing) -> Iterator[str]:
    for line in drawing.lines:
        yield _path(line, faint=not drawing.whole and not line.chosen)
    yield _rectangle(drawing.start, "box taken", 12)
    yield _text("start", drawing.start.x + 8, drawing.start.y + LINE)
    for box in drawing.boxes:
        yield from _box(box)
    for line in drawing.lines:
        if line.label is not None:
            place = line.label.place
            yield _rectangle(place, "cost", 2)
            yield _text(line.label.text, place.x + 2, place.y + FONT - 1, "taken-cost" if line.chosen else "")
    for title in drawing.titles:
        yield f"<g><title>{escape(title.tooltip)}</title>"
        yield from (_text(text, title.x, title.y + number_ * LINE) for number_, text in enumerate(title.lines))
        yield "</g>"


def _path(line: Line, *, faint: bool) -> str:
    a, b, c, d = (f"{x:.1f} {y:.1f}" for x, y in line.points)
    words = [line.kind, *(["chosen"] if line.chosen else []), *(["faint"] if faint else [])]
    tooltip = f"<title>{escape(line.tooltip)}</title>" if line.tooltip else ""
    return f'<path class="{" ".join(words)}" d="M {a} C {b}, {c}, {d}">{tooltip}</path>'


def _box(box: Box) -> Iterator[str]:
    yield f"<g><title>{escape(box.tooltip)}</title>"
    yield _rectangle(box.place, "box taken" if box.chosen else "box", 6)
    for place, text in enumerate(box.lines):
        yield _text(text, box.place.x + 8, box.place.y + (place + 1) * LINE)
    yield "</g>"


def _rectangle(place: Rectangle, kind: str, round_: int) -> str:
    return (
        f'<rect class="{kind}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{round_}"/>'
    )


def _text(text: str, x: float, y: float, kind: str = "") -> str:
    words = f' class="{kind}"' if kind else ""
    return f'<text{words} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _legend(drawing: Drawing) -> Iterator[tuple[str, str]]:
    yield "red", "between neighbouring layers"
    yield "green", "within a layer"
    yield "black", "between layers that are no neighbours: counts for the total only"
    yield "start", "from the start, at no cost"
    yield "red chosen", "between chosen vertices; x4: so many pairs of instances at this cost each"
    if not drawing.whole:
        yield (
            "red faint",
            "of a vertex that is not chosen only the cheapest edge to the layer above is drawn, without cost",
        )
    if drawing.dropped:
        yield "", f"{drawing.dropped} cheaper edges between chosen vertices are not drawn"
    if drawing.listed:
        yield "", "costs that have no room in the drawing:"
        yield from (("", f"  {text}") for text in drawing.listed)
