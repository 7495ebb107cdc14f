"""A report on conformance as JUnit's XML."""

from collections.abc import Collection
from dataclasses import replace

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import explanation, verdict_words
from numaproof.harness.report.junit import Case, junit_xml

_KINDS = {CheckVerdict.FAIL: "failure", CheckVerdict.ERROR: "error", CheckVerdict.SKIP: "skipped"}


def junit(report: Report, known: Collection[str] = (), file: str = "") -> str:
    """The results as JUnit has them; a warning, or a failure that was known, is a passed test that says so.

    `file` is where the user says what is checked; empty: on the command line.
    """
    return junit_xml("numaproof check", [_case(result, known, file) for result in report.results], report.seconds)


def _case(result: CheckResult, known: Collection[str], file: str) -> Case:
    check = result.check
    kind = _kind(result, known)
    case = Case(classname=f"dp.{check.area}", name=check.id, file=file, properties={"title": check.title})
    text = "\n".join(f"{name}: {part}" for name, part in explanation(result))
    if kind:
        message = result.seen.splitlines()[0] if result.seen else kind
        return replace(case, kind=kind, type=f"{check.level} {result.verdict}", message=message, text=text)
    return replace(case, output=f"{verdict_words(result, known)}\n{text}") if result.violated else case


def _kind(result: CheckResult, known: Collection[str]) -> str:
    """JUnit's word for a result; empty: the test has passed."""
    is_known = result.verdict is CheckVerdict.FAIL and result.check.id in known
    return "" if is_known else _KINDS.get(result.verdict, "")
