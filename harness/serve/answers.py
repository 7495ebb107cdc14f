"""What is computed for the playground and its API, in a process of its own: each answer is a status and its JSON."""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.drawing.svg import draw_svg
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.intake.pasted import PastedError, Texts, field_of, question_of
from numaproof.harness.intake.question import Answer, Question, answer
from numaproof.harness.report.explain_html import explanation_values, page_of
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.report.pages.render import render
from numaproof.harness.serve.changes import changed
from numaproof.harness.serve.command_text import command_text
from numaproof.harness.serve.controls import amounts, settings_controls
from numaproof.harness.serve.inputs import parsed, request_from, texts_from

GOOD, BAD, LIMIT, OURS = 200, 422, 503, 500


def answered(kind: str, body: bytes) -> tuple[int, bytes]:
    """The answer to a body; whatever is wrong with the body is its own status, and no fault of ours is told outside."""
    try:
        status, found = GOOD, KINDS[kind](parsed(body))
    except PastedError as error:
        status, found = BAD, {"errors": error.faults}
    except UserError as error:
        status, found = BAD, {"errors": {"": str(error)}}
    except MemoryError:
        status, found = LIMIT, {"errors": {"": "this needs more memory than there is for an answer; give less"}}
    except RecursionError:
        status, found = BAD, {"errors": {"": "what was given is nested too deeply; give the part that matters"}}
    except Exception:
        traceback.print_exc(file=sys.stderr)
        status = OURS
        found = {"errors": {"": "numaproof itself failed at this, and says how where it was started; please report it"}}
    return status, json.dumps(found).encode()


def _explained(given: Any) -> Mapping[str, Any]:
    """All that `numaproof explain --json` tells."""
    told = _answer(question_of(texts_from(given)))
    return as_json(told.explanation, told.beside)


def _shown(given: Any) -> Mapping[str, Any]:
    """What the page shows at once: all but what would help; and the texts, if they were changed."""
    request = request_from(given)
    texts = changed(request.texts, request.change) if request.change else request.texts
    question = _question(texts, request.texts)
    told = _answer(question, texts, request.texts, remedies=False)
    svg = draw_svg(scene_of(told.explanation, told.machine), width=request.width)
    values = explanation_values(told.explanation, told.machine.name, told.beside, svg)
    searching = {"searching": True} if told.explanation.blame is not None else {}
    return {
        "title": values["title"],
        "headline": values["headline"],
        "admitted": values["admitted"],
        "searching": bool(searching),
        "html": render("explanation.html", **values, **searching, interactive=True),
        "settings": render("playground_settings.html", controls=settings_controls(question, told)),
        "amounts": render("playground_amounts.html", amounts=amounts(question, told)),
        "command": command_text(texts),
        "texts": texts.as_dict() if request.change else None,
    }


def _remedies(given: Any) -> Mapping[str, Any]:
    """What would help."""
    told = _answer(question_of(request_from(given).texts), matrix=False)
    admitted = told.explanation.trace.verdict.admitted
    html = render("remedies.html", remedies=told.explanation.remedies, admitted=admitted, interactive=True)
    return {"html": html}


def _page(given: Any) -> Mapping[str, Any]:
    """The answer as a page to keep."""
    return {"page": page_of(_answer(question_of(request_from(given).texts)))}


def _question(texts: Texts, before: Texts) -> Question:
    """The question; where a change made texts that cannot be read, their fault is told, and they are not kept."""
    try:
        return question_of(texts)
    except PastedError as error:
        raise PastedError({name: _after(text, texts, before) for name, text in error.faults.items()}) from None


def _answer(question: Question, texts: Texts | None = None, before: Texts | None = None, **parts: bool) -> Answer:
    try:
        return answer(question, **parts)
    except UserError as error:
        told = str(error) if texts is None or before is None else _after(str(error), texts, before)
        raise PastedError({field_of(error): told}) from None


def _after(text: str, texts: Texts, before: Texts) -> str:
    return text if texts == before else f"not changed: {text}"


KINDS: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "explain": _explained,
    "show": _shown,
    "remedies": _remedies,
    "page": _page,
}
