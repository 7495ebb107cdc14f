"""A report on conformance for a terminal or a log: what stands against the subject, and an end that fits a screen."""

from collections.abc import Collection, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.outcome import outcome
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.drawing.words import ELLIPSIS, cut
from numaproof.harness.report.conformance_words import explanation, plain_text, remark, summary_line, verdict_words
from numaproof.harness.report.printed_text import last_lines

_COLOURS = {
    CheckVerdict.PASS: "green",
    CheckVerdict.FAIL: "bold red",
    CheckVerdict.WARN: "yellow",
    CheckVerdict.SKIP: "dim",
    CheckVerdict.ERROR: "bold magenta",
}
_LAST_LINES = 6  # of what the plugin printed, beside a violation
_LONGEST_SEEN = 100  # in a table; of a violation all is told below it
_ALONE = "  this alone:"


def show(
    report: Report,
    console: Console,
    known: Collection[str] = (),
    *,
    places: Sequence[tuple[str, Path]] = (),
    verbose: bool = False,
) -> None:
    """Every violation with what to do about it; then a line an area, the files that were written, and the verdict.

    `verbose`: before all this every result, with what was seen.
    """
    if verbose:
        _print(_everything(report, known), console)
    for result in report.results:
        if result.violated or result.verdict is CheckVerdict.ERROR:
            _explain(result, report, console, known)
    console.print()
    _print(_areas(report, known), console)
    console.print(Text(summary_line(report)), soft_wrap=True)
    for kind, place in places:
        console.print(Text(f"{kind}: {place}"), soft_wrap=True)
    if told := remark(report):
        console.print(Text(told, style=_COLOURS[CheckVerdict.WARN]), soft_wrap=True)
    decided = outcome(report, known)
    for healed in decided.healed:
        told = f"{healed} is among the known failures, and does not fail any more: take it off the list"
        console.print(Text(told), soft_wrap=True)
    colour = _COLOURS[CheckVerdict.PASS if decided.conformant else CheckVerdict.FAIL]
    console.print(Text(decided.text, style=colour), soft_wrap=True)


def _everything(report: Report, known: Collection[str]) -> Table:
    table = Table("check", "level", "verdict", "requirement", "seen", box=None, pad_edge=False, header_style="bold")
    for result in report.results:
        first, _, more = plain_text(result.seen).partition("\n")
        seen = cut(f"{first} {ELLIPSIS}" if more else first, _LONGEST_SEEN)
        words = Text(verdict_words(result, known), style=_COLOURS[result.verdict])
        table.add_row(result.check.id, result.check.level.value, words, result.check.title, Text(seen))
    return table


def _explain(result: CheckResult, report: Report, console: Console, known: Collection[str]) -> None:
    check = result.check
    is_known = result.violated and check.id in known
    console.print()
    console.print(Text(f"{check.id} {verdict_words(result, known)}: {check.title}", style=_COLOURS[result.verdict]))
    parts = Table(box=None, pad_edge=False, show_header=False)
    parts.add_column(no_wrap=True, style="dim", min_width=len(_ALONE))
    parts.add_column(overflow="fold")
    if result.verdict is CheckVerdict.ERROR:
        told = [("the suite's own fault", result.seen)]
    else:
        told = [("seen", result.seen)] if is_known else explanation(result)
    for name, text in told:
        parts.add_row(f"  {name}:", Text(plain_text(text)))
    printed = [] if is_known else last_lines(check, report, _LAST_LINES)
    if printed:
        parts.add_row("  it printed:", Text("\n".join(printed)))
    _print(parts, console)
    again = "" if is_known else report.about.command_for(check.id, report.seed)
    if again:
        # Unbroken, however long it is: a shell takes it as it is copied.
        console.print(Text.assemble((_ALONE, "dim"), "  ", plain_text(again)), soft_wrap=True)


def _print(table: Table, console: Console) -> None:
    """Print it without the blanks that fill up its last column: they make a log wide, and are copied from it."""
    for line in console.render_lines(table, pad=False):
        text = Text.assemble(*((piece.text, piece.style or "") for piece in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def _areas(report: Report, known: Collection[str]) -> Table:
    """A line for each area: how many of each verdict, and which checks stand out."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for area in dict.fromkeys(result.check.area for result in report.results):
        words = Text()
        for verdict in CheckVerdict:
            found = [one for one in report.results if one.check.area == area and one.verdict is verdict]
            if found:
                words.append(", " if words else "")
                words.append(f"{len(found)} {verdict}", style=_COLOURS[verdict])
                if verdict not in {CheckVerdict.PASS, CheckVerdict.SKIP}:
                    words.append(f" ({', '.join(_name(one, known) for one in found)})")
        table.add_row(area, words)
    return table


def _name(result: CheckResult, known: Collection[str]) -> str:
    return f"{result.check.id}, known" if result.check.id in known else result.check.id
