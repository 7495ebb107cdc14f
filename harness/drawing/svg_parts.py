"""Strokes of an SVG picture: its style, and the few shapes that it is made of."""

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from numaproof.harness.drawing.marks import COLOURS, Mark, sign
from numaproof.harness.drawing.svg_letters import wrapped

LINE = 18  # px from one line of text to the next
MONO = 6.7  # px of a character of ids, at 11 px

# Fill and ink of each pod's colour, in light and in dark: Okabe and Ito's, whose order keeps neighbours apart.
_LIGHT = (
    *(("#0072b2", "#fff"), ("#e69f00", "#111"), ("#009e73", "#06120e"), ("#cc79a7", "#111")),
    *(("#56b4e9", "#111"), ("#d55e00", "#140800"), ("#f0e442", "#111"), ("#3d3d3d", "#fff")),
)
_DARK = (
    *(("#2b7fc4", "#fff"), ("#e69f00", "#111"), ("#17a87f", "#06120e"), ("#d68bb5", "#111")),
    *(("#7cc8f3", "#111"), ("#e0701a", "#140800"), ("#f0e442", "#111"), ("#e6e6e6", "#111")),
)
assert len(_LIGHT) == len(_DARK) == COLOURS


def _colours(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"--np-f{place}:{fill};--np-i{place}:{ink};" for place, (fill, ink) in enumerate(pairs))


# Every rule begins with the picture's class, and every name with np-: a page may hold other things, and many pictures.
_RULES = (
    "text{font:12px system-ui,sans-serif;fill:var(--np-ink)}",
    ".np-title{font-size:17px;font-weight:600}",
    ".np-b{font-weight:600}",
    ".np-soft{fill:var(--np-soft)}",
    ".np-small{font-size:10px;fill:var(--np-soft)}",
    ".np-mono{font:11px ui-monospace,monospace}",
    ".np-sign{font:600 10px ui-monospace,monospace;text-anchor:middle}",
    ".np-end{text-anchor:end}.np-mid{text-anchor:middle}",
    ".np-alarm{fill:var(--np-alarm);font-weight:600}",
    ".np-page{fill:var(--np-page)}",
    ".np-panel{fill:var(--np-panel)}",
    ".np-box{fill:var(--np-box);stroke:var(--np-line)}",
    ".np-bridge{fill:none;stroke:var(--np-line)}",
    ".np-wish{fill:none;stroke:var(--np-alarm);stroke-width:2;stroke-dasharray:6 4}",
    ".np-free rect{fill:var(--np-free)}.np-free .np-sign{fill:var(--np-faint)}",
    ".np-reserved rect{fill:var(--np-kept)}.np-reserved path{stroke:var(--np-hatch);stroke-width:1.4}",
    ".np-reserved .np-sign{paint-order:stroke;stroke:var(--np-kept);stroke-width:3px}",
    ".np-offline rect{fill:none;stroke:var(--np-faint);stroke-dasharray:2 2}.np-offline .np-sign{fill:var(--np-soft)}",
    ".np-mixed rect{fill:var(--np-faint)}.np-mixed text{fill:var(--np-page)}",
    ".np-several rect{fill:var(--np-alarm)}.np-several text{fill:#fff}",
    ".np-chip rect{stroke:var(--np-line)}.np-ill rect{stroke:var(--np-alarm);stroke-width:2;stroke-dasharray:3 2}",
    ".np-again rect{stroke:var(--np-ink);stroke-width:1.5}",
    ".np-heat{fill:var(--np-heat)}",
    *(
        f".np-pod{place} rect{{fill:var(--np-f{place})}}.np-pod{place} text{{fill:var(--np-i{place})}}"
        for place in range(COLOURS)
    ),
)
STYLE = (
    ".np-map{--np-page:#fff;--np-panel:#f1f3f6;--np-box:#fff;--np-line:#cfd5de;--np-ink:#1a1f27;--np-soft:#596271;"
    "--np-faint:#97a0ae;--np-free:#e3e7ed;--np-kept:#d3d8e0;--np-hatch:#8a94a3;--np-alarm:#c0261c;--np-heat:#0072b2;"
    + _colours(_LIGHT)
    + "max-width:100%;height:auto}\n"
    "@media screen and (prefers-color-scheme:dark){.np-map{"
    "--np-page:#12161c;--np-panel:#1b212a;--np-box:#232a35;--np-line:#3d4757;--np-ink:#e8ecf2;--np-soft:#a3adbc;"
    "--np-faint:#728095;--np-free:#343e4c;--np-kept:#465163;--np-hatch:#8d99ab;--np-alarm:#ff8577;--np-heat:#56b4e9;"
    + _colours(_DARK)
    + "}.np-map .np-several text{fill:#111}}\n"
    # Two selectors of a rule are kept in rules of their own, so that each can be scoped.
    + "\n".join(".np-map " + rule.replace("}.", "}.np-map .") for rule in _RULES)
)


class Drawn(NamedTuple):
    """A part of the picture, drawn from its own upper left corner, and its size."""

    width: float
    height: float
    parts: list[str]


def _px(number: float) -> str:
    return f"{round(number, 1):g}"


def rect(x: float, y: float, width: float, height: float, kind: str = "", round_: float = 0, more: str = "") -> str:
    """A rectangle."""
    words = (f' class="{kind}"' if kind else "") + (f' rx="{round_:g}"' if round_ else "") + more
    return f'<rect{words} x="{_px(x)}" y="{_px(y)}" width="{_px(width)}" height="{_px(height)}"/>'


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """A text whose base line is at y."""
    which = f' class="{kind}"' if kind else ""
    return f'<text{which} x="{_px(x)}" y="{_px(y)}">{escape(words)}</text>'


def at(x: float, y: float, parts: Iterable[str], more: str = "") -> str:
    """Parts moved to another place, as a group."""
    return f'<g transform="translate({_px(x)} {_px(y)})"{more}>{"".join(parts)}</g>'


def tipped(tip: str, kind: str, parts: Iterable[str], more: str = "") -> str:
    """Parts that share what is told when one points at them."""
    return f'<g class="{kind}"{more}><title>{escape(tip)}</title>{"".join(parts)}</g>'


def class_of(mark: Mark) -> str:
    """The class that colours what has this mark; pods beyond the colours get one again, with a rim."""
    if mark.kind != "pod":
        return f"np-{mark.kind}"
    return f"np-pod{mark.pod % COLOURS}" + (" np-again" if mark.pod >= COLOURS else "")


def swatch(x: float, y: float, width: float, height: float, mark: Mark) -> list[str]:
    """A filled place with its sign in the middle, if it is wide enough; what is reserved is hatched."""
    parts = [rect(x, y, width, height, round_=2)]
    if mark.kind == "reserved":
        parts.append(f'<path d="{_hatch(x, y, width, height)}"/>')
    words = sign(mark)
    if mark.kind != "free" and width >= 6.5 * len(words) + 2 and height >= 11:
        parts.append(text(x + width / 2, y + height / 2 + 3.6, words, "np-sign"))
    return parts


def _hatch(x: float, y: float, width: float, height: float) -> str:
    """Slanting lines that stay within a rectangle."""
    lines, start = [], 4.0
    while start < width + height - 2:
        low, high = max(start - height, 0), min(start, width)
        lines.append(f"M{_px(x + low)} {_px(y + start - low)}L{_px(x + high)} {_px(y + start - high)}")
        start += 5
    return "".join(lines)


def flow(items: Iterable[Drawn], width: float, gap: float = 8, leading: float = 4) -> Drawn:
    """Parts side by side, as many in a row as fit, rows below one another."""
    parts: list[str] = []
    x = y = tallest = 0.0
    for item in items:
        if x and x + item.width > width:
            x, y, tallest = 0, y + tallest + leading, 0
        parts.append(at(x, y, item.parts))
        x, tallest = x + item.width + gap, max(tallest, item.height)
    return Drawn(width, y + tallest, parts)


def stack(items: Iterable[Drawn], gap: float) -> Drawn:
    """Parts below one another; those without height are left out."""
    parts: list[str] = []
    y = widest = 0.0
    for item in items:
        if item.height:
            parts.append(at(0, y, item.parts))
            y, widest = y + item.height + gap, max(widest, item.width)
    return Drawn(widest, max(y - gap, 0), parts)


def paragraph(words: str, width: float, kind: str = "") -> Drawn:
    """A text in as many lines as it needs."""
    lines = wrapped(words, width, bold="np-alarm" in kind) if words else []
    return Drawn(width, LINE * len(lines), [text(0, LINE * n + 13, line, kind) for n, line in enumerate(lines)])
