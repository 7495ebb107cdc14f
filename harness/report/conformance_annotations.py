"""What a report on conformance has to say in a CI system."""

from collections.abc import Collection
from pathlib import Path

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.annotations import Annotation, Severity
from numaproof.harness.report.conformance_words import explanation


def of_checks(
    report: Report, known: Collection[str] = (), path: Path | None = None, known_path: Path | None = None
) -> list[Annotation]:
    """An annotation for each violation that was not known, and for each known one that is gone.

    `path` is where the user says what is checked, `known_path` the list of known failures.
    """
    found = [
        Annotation(_severity(one), one.check.id, _title(one), _text(one), path)
        for one in report.results
        if (one.violated or one.verdict is CheckVerdict.ERROR) and one.check.id not in known
    ]
    found += [
        Annotation(
            Severity.ERROR,
            f"{one.check.id} known",
            f"{one.check.id}: {one.check.title}",
            "is among the known failures, and does not fail any more: take it off the list",
            known_path,
        )
        for one in report.results
        if one.check.id in known and one.verdict is CheckVerdict.PASS
    ]
    if all(one.verdict in {CheckVerdict.SKIP, CheckVerdict.ERROR} for one in report.results):
        found.append(Annotation(Severity.ERROR, "nothing", "numaproof check", "nothing was checked", path))
    return found


def _severity(result: CheckResult) -> Severity:
    return Severity.WARNING if result.verdict is CheckVerdict.WARN else Severity.ERROR


def _title(result: CheckResult) -> str:
    level = "the suite's own fault" if result.verdict is CheckVerdict.ERROR else result.check.level.upper()
    return f"{result.check.id}: {result.check.title} ({level})"


def _text(result: CheckResult) -> str:
    return "\n".join(f"{name}: {part}" for name, part in explanation(result))


def not_started(reason: str, path: Path | None = None) -> Annotation:
    """There is no report, because the subject did not come up."""
    return Annotation(Severity.ERROR, "start", "numaproof check", f"the subject could not be started: {reason}", path)
