"""Reports for programs: JUnit's XML and YAML."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection
from typing import Any

import yaml

from numaproof.harness.conformance.exchange_text import about
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.report_terminal import verdict_words
from numaproof.harness.conformance.result import CheckResult, Report

# What XML 1.0 cannot hold, not even escaped: a subject's last words may hold anything.
_NOT_IN_XML = {code: "?" for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)} | {0xFFFE: "?", 0xFFFF: "?"}


def junit(report: Report, known: Collection[str] = ()) -> str:
    """The results as JUnit has them; a warning, or a failure that was known, is a passed test that says so."""
    counts = Counter(_junit_kind(result, known) for result in report.results)
    suite = ET.Element(
        "testsuite",
        name="numaproof check",
        tests=str(len(report.results)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{report.seconds:.3f}",
    )
    for result in report.results:
        case = ET.SubElement(suite, "testcase", classname=f"dp.{result.check.area}", name=result.check.id)
        kind = _junit_kind(result, known)
        text = _clean(_text(result))
        if kind:
            told = ET.SubElement(case, kind, message=_clean(result.seen.splitlines()[0] if result.seen else kind))
            told.text = text
        elif result.violated:
            ET.SubElement(case, "system-out").text = f"{verdict_words(result, known)}\n{text}"
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _junit_kind(result: CheckResult, known: Collection[str]) -> str:
    if result.verdict == CheckVerdict.FAIL and result.check.id in known:
        return ""
    return {CheckVerdict.FAIL: "failure", CheckVerdict.ERROR: "error", CheckVerdict.SKIP: "skipped"}.get(
        result.verdict, ""
    )


def _text(result: CheckResult) -> str:
    check = result.check
    return f"expected: {check.requirement}\nseen: {result.seen}\nwhy: {check.why}\nremedy: {check.remedy}"


def _clean(text: str) -> str:
    return text.translate(_NOT_IN_XML)


def as_data(report: Report, known: Collection[str] = ()) -> dict[str, Any]:
    """The whole report as plain data."""
    return {
        "resources": list(report.exchange.resources()),
        "seconds": round(report.seconds, 3),
        "seed": report.seed,
        "verdicts": dict(Counter(result.verdict.value for result in report.results)),
        "checks": [_check_data(result, report, known) for result in report.results],
    }


def _check_data(result: CheckResult, report: Report, known: Collection[str]) -> dict[str, Any]:
    check = result.check
    data: dict[str, Any] = {
        "id": check.id,
        "level": check.level.value,
        "verdict": result.verdict.value,
        "requirement": check.requirement,
        "seen": result.seen,
    }
    if result.verdict in {CheckVerdict.FAIL, CheckVerdict.WARN}:
        data |= {"known": check.id in known, "why": check.why, "remedy": check.remedy}
        data["exchange"] = about(check, report.exchange)
    return data


def as_yaml(report: Report, known: Collection[str] = ()) -> str:
    """The report as YAML."""
    return yaml.safe_dump(as_data(report, known), sort_keys=False, allow_unicode=True, width=120)
