"""A report on conformance as one self-contained HTML file, with the exchange that each check is judged by."""

from collections.abc import Collection
from html import escape

from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import explanation, summary_line, title, verdict_words
from numaproof.harness.report.exchange_text import lines_about

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25em .8em .25em 0; vertical-align: top; border-bottom: 1px solid #ddd; }
pre { background: #f5f5f5; padding: .8em; overflow-x: auto; font-size: 12px; white-space: pre-wrap; }
.pass { color: #167a16; } .fail, .error { color: #b00020; font-weight: bold; } .warn { color: #a86400; }
.skip { color: #777; } dt { font-weight: bold; } dd { margin: 0 0 .4em 1.5em; white-space: pre-wrap; }
"""


def html(report: Report, known: Collection[str] = ()) -> str:
    """The whole report; nothing in it comes from elsewhere, and nothing of the subject's words is markup."""
    heading = escape(f"numaproof check: {title(report)}")
    rows = "\n".join(_row(result, known) for result in report.results)
    parts = "\n".join(_part(result, report, known) for result in report.results)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{heading}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{heading}</h1>\n<p>{escape(summary_line(report))}</p>\n"
        f"<table>\n<tr><th>check<th>level<th>verdict<th>requirement<th>seen</tr>\n{rows}\n</table>\n{parts}\n"
        "</body>\n</html>\n"
    )


def _row(result: CheckResult, known: Collection[str]) -> str:
    check = result.check
    return (
        f'<tr><td><a href="#{escape(check.id)}">{escape(check.id)}</a><td>{check.level.value}'
        f'<td class="{result.verdict}">{verdict_words(result, known)}<td>{escape(check.title)}'
        f"<td>{escape(result.seen[:200])}</tr>"
    )


def _part(result: CheckResult, report: Report, known: Collection[str]) -> str:
    check = result.check
    lines = lines_about(check, report.exchange)
    exchange = escape("\n".join(lines)) if lines else "nothing"
    words = "".join(f"<dt>{name}<dd>{escape(text) or '-'}" for name, text in explanation(result))
    opened = " open" if result.violated else ""
    return (
        f'<h2 id="{escape(check.id)}">{escape(check.id)}: {escape(check.title)} '
        f'<span class="{result.verdict}">{verdict_words(result, known)}</span></h2>\n<dl>'
        f"{words}</dl>\n"
        f"<details{opened}><summary>exchange ({len(lines)} lines)</summary><pre>{exchange}</pre></details>"
    )
