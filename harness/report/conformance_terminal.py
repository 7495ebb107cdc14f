"""A report on conformance for people at a terminal, or in a log."""

from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import explanation, summary_line, verdict_words

_COLOURS = {
    CheckVerdict.PASS: "green",
    CheckVerdict.FAIL: "bold red",
    CheckVerdict.WARN: "yellow",
    CheckVerdict.SKIP: "dim",
    CheckVerdict.ERROR: "bold magenta",
}


def show(report: Report, console: Console, known: Collection[str] = ()) -> None:
    """All results as a table, then every violation with what to do about it."""
    table = Table("check", "level", "verdict", "requirement", "seen", box=None, pad_edge=False, header_style="bold")
    for result in report.results:
        seen = result.seen.splitlines()[0] if result.seen else ""
        table.add_row(
            result.check.id,
            result.check.level.value,
            Text(verdict_words(result, known), style=_COLOURS[result.verdict]),
            result.check.title,
            Text(seen[:100]),
        )
    console.print(table)
    for result in report.results:
        if result.violated or result.verdict is CheckVerdict.ERROR:
            _explain(result, console, known)
    console.print(f"\n{summary_line(report)}", markup=False, highlight=False)


def _explain(result: CheckResult, console: Console, known: Collection[str]) -> None:
    check = result.check
    console.print(Text(f"\n{check.id} {verdict_words(result, known)}: {check.title}", style=_COLOURS[result.verdict]))
    is_ours = result.verdict is CheckVerdict.ERROR
    for name, text in [("the suite's own fault", result.seen)] if is_ours else explanation(result):
        console.print(Text(f"  {name + ':':10}{text}"))
