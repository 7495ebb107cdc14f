"""What a run says on a terminal: failures as they occur, and at the end the matrix, the skips and the verdict."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from numaproof.harness.report.folded_matrix import folded_lines
from numaproof.harness.report.matrix import InstanceResult, matrix_lines
from numaproof.harness.report.run_again import Again
from numaproof.harness.report.run_report import RunReport
from numaproof.harness.scenario.record import FROM_NODE

_SHOWN_DIFFERENCES = 3
_FIRST_LINES, _LAST_LINES = 2, 5  # of a difference of many lines: a traceback tells most at its end
_SHORT_FAILURES = 6
_MATRIX_ROWS = 7

Paint = Callable[[str, str], str]  # a text and its colour


def plain(text: str, colour: str) -> str:
    """A text without colour."""
    del colour
    return text


def coloured(text: str, colour: str) -> str:
    """A text in a colour of a terminal: red, green, yellow or dim."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2"}


def failure_lines(
    result: InstanceResult, paint: Paint, *, verbose: bool, again: Again, why: bool = True
) -> Iterator[str]:
    """A failure with its place, what differs, and `why` it matters; with `verbose` all of it, and the node's words."""
    yield f"{paint('FAILED', 'red')} {result.words['id']}"
    yield f"  {place(result)}: {result.name}"
    told = _differences(result)
    shown = told if verbose else _first(told)
    for text in shown:
        first, *others = _lines(text, verbose)
        yield f"  - {first}"
        yield from (f"    {line}" for line in others)
    if len(shown) < len(told):
        yield f"  - and {len(told) - len(shown)} more (-v shows all)"
    if why:
        yield f"  {paint(f'why: {result.why}', 'dim')}"
    if verbose:
        yield f"  source: {result.source}"
        yield f"  again: {again.command(result)}"
        if result.record is not None and result.record.log:
            yield "  the node printed last:"
            yield from (f"    {line}" for line in result.record.log[-_LAST_LINES:])


def _first(told: Sequence[str]) -> list[str]:
    """The first differences, and with how the node begins to explain them."""
    own = [text for text in told if not text.startswith(FROM_NODE)][:_SHOWN_DIFFERENCES]
    return [*own, *[text for text in told if text.startswith(FROM_NODE)][:1]]


def place(result: InstanceResult) -> str:
    """Where the first step stands that went wrong, `file:line`; of the working directory as people write it."""
    steps = result.record.steps if result.record is not None else ()
    line = next((step.line for step in steps if step.differences), None)
    path = Path(result.path)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}:{line}" if line is not None else str(shown)


def _differences(result: InstanceResult) -> list[str]:
    """Without the file, which is told already."""
    return [without_file(text, result) for text in result.differences]


def without_file(text: str, result: InstanceResult) -> str:
    """A difference, which begins with where its step stands."""
    return re.sub(rf"^{re.escape(result.path)}(:\d+)?: ", "", text)


def _lines(text: str, verbose: bool) -> list[str]:
    lines = text.splitlines() or [""]
    if verbose or len(lines) <= _FIRST_LINES + 1 + _LAST_LINES:
        return lines
    return [*lines[:_FIRST_LINES], "[...]", *lines[-_LAST_LINES:]]


def short_failure(result: InstanceResult, paint: Paint, width: int) -> str:
    """A failure in a line."""
    first = next(iter(_differences(result)), "").partition("\n")[0]
    text = f" {result.words['id']}  {first}"
    return paint("FAILED", "red") + clipped(text, width - len("FAILED"))


def clipped(text: str, width: int) -> str:
    """A text that is no longer than a line."""
    return text if len(text) <= width else f"{text[: width - 2]}.."


def end_lines(report: RunReport, paint: Paint, width: int, *, verbose: bool) -> Iterator[str]:
    """The matrix and the skips; all of them with `verbose`, else as much as a screen holds."""
    if not report.results:
        return
    yield ""
    if verbose:
        yield from matrix_lines(report.results)
        return
    yield from folded_lines(report.results, width, _MATRIX_ROWS)
    if skipped := [one for one in report.results if one.outcome == "skipped"]:
        yield clipped(_skips(skipped, width), width)
    failed = [one for one in report.results if one.outcome == "failed"]
    if len(failed) > 1:
        yield ""
        yield from (short_failure(one, paint, width) for one in failed[:_SHORT_FAILURES])
        if len(failed) > _SHORT_FAILURES:
            yield f"and {len(failed) - _SHORT_FAILURES} more failures"


def _skips(skipped: Sequence[InstanceResult], width: int) -> str:
    """So many reasons as fit a line, the most frequent first."""
    reasons = Counter(one.reason for one in skipped).most_common()
    told = f"{len(skipped)} skipped: "
    for number, (reason, count) in enumerate(reasons):
        rest = len(reasons) - number - 1
        more = f"; {rest} more reasons (-v)" if rest else ""
        part = f"{'; ' if number else ''}{count} {reason}"
        if number and len(told + part + more) > width:
            return f"{told}; {rest + 1} more reasons (-v)"
        told += part
    return told


def verdict(report: RunReport, selected: int, paint: Paint) -> str:
    """In a line what came of a run of so many instances."""
    counts = Counter(one.outcome for one in report.results)
    machines = len({one.words["machine"] for one in report.results})
    where = f"{instances_text(selected)} on {machines} machine{'' if machines == 1 else 's'}"
    parts = []
    if counts["failed"]:
        word, colour, parts = "FAILED", "red", [f"{counts['failed']} of {where}", f"{counts['passed']} passed"]
    elif len(report.results) < selected:
        word, colour, parts = "INTERRUPTED", "yellow", [f"{counts['passed']} of {where} passed"]
    elif not counts["passed"]:
        word, colour, parts = "SKIPPED", "yellow", [f"{counts['skipped']} of {where}, none applies here"]
    else:
        word, colour, parts = "PASSED", "green", [f"{counts['passed']} of {where}"]
    if counts["skipped"] and word != "SKIPPED":
        parts.append(f"{counts['skipped']} skipped")
    if left := selected - len(report.results):
        parts.append(f"{left} did not run")
    return paint(word, colour) + f": {', '.join(parts)}, {seconds_text(report.seconds)}"


def instances_text(count: int) -> str:
    """So many instances."""
    return f"{count} instance{'' if count == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"


def shown_path(path: Path) -> str:
    """A path as it was given; what a terminal cannot show is written out."""
    text = os.fspath(path)
    return text if text.isprintable() else repr(text)
