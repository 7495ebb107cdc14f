"""An explanation as one self-contained page: the verdict, why, what would help, every policy and scope, the drawing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from numaproof.harness.drawing.svg import draw_svg
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.intake.question import Answer
from numaproof.harness.report.explain_matrix import MatrixRow, matrix_rows
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.report.explain_text import OBSTACLES, given_text, headline, remark_text
from numaproof.harness.report.pages.render import render

NARROW = 440  # px: the width of the drawing that a page has for a telephone
_NOTHING = Beside()


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What a policy makes of the pod under a scope, or under both."""

    scope: str
    is_own: bool  # the node's
    admitted: bool
    text: str
    why: Sequence[str]  # empty: the node does not start so


def page_of(told: Answer) -> str:
    """The page of an answer, with the drawing for wide screens and for telephones."""
    scene = scene_of(told.explanation, told.machine)
    svg, narrow = draw_svg(scene), draw_svg(scene, width=NARROW)
    return explanation_page(told.explanation, told.machine.name, told.beside, svg, narrow)


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
    return render("explain.html", **explanation_values(explanation, machine, beside, svg, narrow))


def explanation_values(
    explanation: Explanation, machine: str, beside: Beside, svg: str = "", narrow: str = ""
) -> dict[str, Any]:
    """What the templates explain.html and explanation.html show."""
    trace, pod = explanation.trace, explanation.pod
    return {
        "title": f"{pod.namespace}/{pod.name} on {machine}",
        "headline": headline(explanation),
        "admitted": trace.verdict.admitted,
        "aligned": explanation.blame is None,
        "policy": trace.policy,
        "scope": trace.scope,
        "given": [(name, given_text(one)) for name, one in trace.given.items()] if trace.verdict.admitted else [],
        "obstacles": beside.obstacles,
        "obstacles_title": OBSTACLES,
        "why": why(explanation),
        "remedies": explanation.remedies,
        "known": [remark_text(one) for one in remarks(explanation)],
        "log": beside.log,
        "matrix": list(_matrix(explanation)),
        "svg": svg,
        "narrow": narrow,
        "assumptions": beside.assumptions,
    }


def _matrix(explanation: Explanation) -> Iterator[tuple[str, list[MatrixCell]]]:
    """Each policy with its scopes; one that is for both stands alone."""
    rows = matrix_rows(explanation) if explanation.matrix else ()
    for policy, cells in groupby(rows, key=lambda row: row.policy):
        yield policy, list(map(_cell, cells))


def _cell(row: MatrixRow) -> MatrixCell:
    told = row.cell.told
    admitted = told is not None and told.trace.verdict.admitted
    return MatrixCell(row.scope, row.is_own, admitted, row.text, why(told) if told is not None else ())
