"""An explanation as one self-contained page: the verdict, why, what would help, every policy and scope, the drawing."""

from collections.abc import Iterable
from html import escape

from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.report.explain_matrix import MatrixRow, matrix_rows
from numaproof.harness.report.explain_text import OBSTACLES, given_text, headline, remark_text

_STYLE = """
:root { color-scheme: light dark; --good: #167a16; --bad: #b00020; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --good: #6fce6f; --bad: #ff8a95; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 1.6em; }
.admitted { color: var(--good); } .refused { color: var(--bad); } .verdict { font-weight: bold; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .3em 1em .3em 0; border-bottom: 1px solid var(--line); }
th:not(:last-child), td:not(:last-child) { white-space: nowrap; } li { margin: .2em 0; overflow-wrap: anywhere; }
h1, .verdict, td:last-child { overflow-wrap: anywhere; } .own { font-weight: bold; }
td ul { color: CanvasText; font-weight: normal; margin: .3em 0; padding-left: 1.2em; } summary { cursor: pointer; }
.wide svg { max-width: 100%; height: auto; min-width: 46em; } .narrow { display: none; }
@media (max-width: 46em) { .narrow { display: block; } .narrow ~ .wide { display: none; } }
@media print {
  body { font-size: 11px; margin: 0; max-width: none; } .wide svg { min-width: 0; }
  .narrow { display: none; } .narrow ~ .wide { display: block; } tr, li { break-inside: avoid; }
}
"""


_NOTHING = Beside()
NARROW = 440  # px: the width of the drawing that a page has for a telephone


def explanation_page(
    explanation: Explanation,
    machine: str,
    beside: Beside = _NOTHING,
    svg: str = "",
    narrow: str = "",
) -> str:
    """The whole page; nothing in it comes from elsewhere, and no word of a pod or a machine is markup.

    `narrow`: the same drawing `NARROW` pixels wide, shown where the page is; without it, the wide one is scrolled.
    """
    trace, pod = explanation.trace, explanation.pod
    title = escape(f"{pod.namespace}/{pod.name} on {machine}")
    verdict = "admitted" if trace.verdict.admitted else "refused"
    given = [f"container {name}: {given_text(one)}" for name, one in trace.given.items()]
    parts = [
        f'<h1>{title}</h1>\n<p class="verdict {verdict}">{escape(headline(explanation))}</p>',
        f"<p>policy {escape(trace.policy)}, scope {escape(trace.scope)}</p>",
        _list("What it gets", given) if trace.verdict.admitted else "",
        _list(OBSTACLES, beside.obstacles),
        _list("Why", why(explanation)),
        _list("What would help (each was tried)", [one.change.text for one in explanation.remedies]),
        _list("Known", map(remark_text, remarks(explanation))),
        _list("The log", beside.log),
        _matrix(explanation),
        _drawings(svg, narrow),
        _list("Assumed", beside.assumptions),
    ]
    body = "\n".join(filter(None, parts))
    page = (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    # The name of a file may be no Unicode.
    return page.encode("utf-8", "replace").decode()


def _drawings(svg: str, narrow: str) -> str:
    small = f'<div class="scroll narrow">{narrow}</div>\n' if narrow else ""
    return f'<h2>The node</h2>\n<div>\n{small}<div class="scroll wide">{svg}</div>\n</div>' if svg else ""


def _list(title: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<h2>{escape(title)}</h2>\n<ul>\n{items}</ul>" if items else ""


def _matrix(explanation: Explanation) -> str:
    if not explanation.matrix:
        return ""
    rows = "\n".join(map(_row, matrix_rows(explanation)))
    return (
        '<h2>Under every policy and scope</h2>\n<div class="scroll"><table>\n'
        f"<tr><th>policy</th><th>scope</th><th>what would be decided, and why</th></tr>\n{rows}\n</table></div>"
    )


def _row(row: MatrixRow) -> str:
    told = row.cell.told
    admitted = told is not None and told.trace.verdict.admitted
    text = escape(row.text)
    if told is not None:
        reasons = "".join(f"<li>{escape(line)}</li>" for line in why(told))
        text = f"<details><summary>{text}</summary><ul>{reasons}</ul></details>"
    return (
        f"<tr{' class=own' if row.is_own else ''}><td>{escape(row.policy)}</td><td>{escape(row.scope)}</td>"
        f'<td class="{"admitted" if admitted else "refused"}">{text}</td></tr>'
    )
