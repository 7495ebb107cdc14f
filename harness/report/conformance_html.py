"""A report on conformance as one self-contained page: failures first, with the plugin's own output beside."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from numaproof.harness.conformance.checks.check import RequirementLevel
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.outcome import outcome
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import (
    counts,
    explanation,
    facts,
    plain_text,
    remark,
    title,
    verdict_words,
)
from numaproof.harness.report.exchange_text import lines_about
from numaproof.harness.report.pages.render import render
from numaproof.harness.report.printed_text import line, lines_beside

_TONES = {
    CheckVerdict.PASS: "good",
    CheckVerdict.FAIL: "bad",
    CheckVerdict.WARN: "warn",
    CheckVerdict.SKIP: "soft",
    CheckVerdict.ERROR: "bad",
}


@dataclass(frozen=True, slots=True)
class CheckPart:
    """What the page shows of a check."""

    id: str
    title: str
    level: str
    area: str
    verdict: str
    words: str
    tone: str  # a class of the style
    since: str
    seen: str  # the first line of it
    explanation: Sequence[tuple[str, str]]
    exchange: Sequence[str]
    output: Sequence[str]
    again: str


@dataclass(frozen=True, slots=True)
class PagePart:
    """A group of checks; one that is folded holds what needs nobody's attention."""

    title: str
    checks: Sequence[CheckPart]
    folded: bool
    hint: str  # what the group means


def html(report: Report, known: Collection[str] = ()) -> str:
    """The whole report; nothing in it comes from elsewhere, and nothing of the subject's words is markup."""
    parts = _parts(report, known)
    checks = [one for part in parts for one in part.checks]
    return render(
        "check.html",
        title=f"numaproof check: {title(report)}",
        resources=title(report),
        outcome=outcome(report, known),
        remark=remark(report),
        facts=facts(report),
        counts=[(verdict.value, _TONES[verdict], count) for verdict, count in counts(report).items()],
        levels=[level.value for level in RequirementLevel if level.value in {one.level for one in checks}],
        areas=list(dict.fromkeys(result.check.area for result in report.results)),
        total=len(checks),
        parts=parts,
        sessions=[
            (session, [line(one) for one in lines])
            for session, lines in groupby(report.output, key=lambda one: one.session)
        ],
    )


def _parts(report: Report, known: Collection[str]) -> list[PagePart]:
    """The groups that hold anything, what matters most first."""
    by_kind: dict[str, list[CheckPart]] = {}
    for result in report.results:
        is_known = result.violated and result.check.id in known
        kind = "known" if is_known else result.verdict.value
        by_kind.setdefault(kind, []).append(_check(result, report, known))
    groups = (
        ("fail", "Failures", "", False),
        ("error", "Not judged", "the suite's own fault, not the plugin's", False),
        ("warn", "Warnings", "they do not fail the run", False),
        ("known", "Known failures", "they must still fail", True),
        ("pass", "Passed", "", True),
        ("skip", "Skipped", "each with its reason", True),
    )
    return [PagePart(name, by_kind[kind], folded, hint) for kind, name, hint, folded in groups if kind in by_kind]


def _check(result: CheckResult, report: Report, known: Collection[str]) -> CheckPart:
    check = result.check
    seen = plain_text(result.seen)
    told = [(name, seen if name == "seen" else text) for name, text in explanation(result)]
    return CheckPart(
        id=check.id,
        title=check.title,
        level=check.level.value,
        area=check.area,
        verdict=result.verdict.value,
        words=verdict_words(result, known),
        tone=_TONES[result.verdict],
        since=f"kubelet {check.since} and later" if check.since else "no kubelet asks for it yet",
        seen=seen.partition("\n")[0],
        explanation=told,
        exchange=lines_about(check, report.exchange),
        output=lines_beside(check, report) if result.violated else (),
        again=report.about.command_for(check.id, report.seed),
    )
