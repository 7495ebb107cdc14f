"""What came of a run as the summary page of a job in a GitHub workflow: Markdown that holds HTML."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from numaproof.harness.report.annotations import Annotation, Severity, printable
from numaproof.harness.report.source_path import shown

_MOST = 30  # annotations: a step's summary holds 1 MiB, of which an escaped character may take six bytes
_LONGEST = 4000  # characters of a text
_OPEN = 3  # so many are read without a click
_SIGNS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️"}


def job_summary(headline: str, good: bool, facts: Sequence[str], annotations: Sequence[Annotation], root: Path) -> str:
    """A headline, facts as they stand in a terminal, and what failed, which opens on a click."""
    parts = [f"## {'✅' if good else '❌'} {escape(headline)}", _preformatted("\n".join(facts))]
    for number, one in enumerate(annotations[:_MOST]):
        where = f" <code>{escape(_where(one, root))}</code>" if one.path is not None else ""
        title = f"{_SIGNS[one.severity]} <strong>{escape(_one_line(one.title))}</strong>{where}"
        opened = " open" if number < _OPEN else ""
        parts += [f"<details{opened}><summary>{title}</summary>", _preformatted(one.text), "</details>"]
    if len(annotations) > _MOST:
        parts.append(f"{len(annotations) - _MOST} more are in the results.")
    return "\n\n".join(parts) + "\n\n"


def _where(annotation: Annotation, root: Path) -> str:
    path = shown(annotation.path, root) if annotation.path is not None else ""
    return path if annotation.line is None else f"{path}:{annotation.line}"


def _preformatted(text: str) -> str:
    """A text as it is: of an element `pre` Markdown reads nothing, up to its end, which no escaped text holds."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n..."
    return f"<pre>{escape(printable(cut))}</pre>"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())[:_LONGEST]
