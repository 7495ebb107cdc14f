"""A report for people at a terminal, or in a log."""

from collections import Counter
from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report

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
        if result.violated or result.verdict == CheckVerdict.ERROR:
            _explain(result, console, known)
    console.print(f"\n{summary_line(report)}", markup=False, highlight=False)


def _explain(result: CheckResult, console: Console, known: Collection[str]) -> None:
    check = result.check
    console.print(Text(f"\n{check.id} {verdict_words(result, known)}: {check.title}", style=_COLOURS[result.verdict]))
    rows = [("expected", check.requirement), ("seen", result.seen), ("why", check.why), ("remedy", check.remedy)]
    if result.verdict == CheckVerdict.ERROR:
        rows = [("the suite's own fault", result.seen)]
    for name, text in rows:
        console.print(Text(f"  {name + ':':10}{text}"))


def verdict_words(result: CheckResult, known: Collection[str]) -> str:
    """The verdict, and whether it was known before."""
    return f"{result.verdict} (known)" if result.violated and result.check.id in known else result.verdict


def summary_line(report: Report) -> str:
    """How many of each verdict."""
    counts = Counter(result.verdict for result in report.results)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in CheckVerdict if counts[verdict])
    resources = ", ".join(report.exchange.resources()) or "no resource"
    return f"{resources}: {told} in {report.seconds:.1f} s (seed {report.seed})"
