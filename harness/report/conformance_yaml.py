"""A report on conformance as plain data, and as YAML."""

from collections.abc import Collection
from typing import Any

import yaml

import numaproof
from numaproof.harness.conformance.outcome import outcome
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import counts
from numaproof.harness.report.exchange_text import lines_about
from numaproof.harness.report.printed_text import lines_beside


def as_data(report: Report, known: Collection[str] = ()) -> dict[str, Any]:
    """The whole report as plain data; what nobody knows is None."""
    about = report.about
    return {
        "resources": list(report.exchange.resources()),
        "conformant": outcome(report, known).conformant,
        "plugin": about.subject or None,
        "image": about.image or None,
        "plugin_version": about.version or None,
        "machine": about.machine or None,
        "runtime": about.runtime or None,
        "suite": numaproof.__version__,
        "date": report.began.isoformat(timespec="seconds") if report.began else None,
        "seconds": round(report.seconds, 3),
        "seed": report.seed,
        "verdicts": {verdict.value: count for verdict, count in counts(report).items()},
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
    if result.violated:
        data |= {"known": check.id in known, "why": check.why, "remedy": check.remedy}
        data["again"] = report.about.command_for(check.id, report.seed) or None
        data["exchange"] = lines_about(check, report.exchange)
        data["output"] = lines_beside(check, report)
    return data


def as_yaml(report: Report, known: Collection[str] = ()) -> str:
    """The report as YAML."""
    return yaml.safe_dump(as_data(report, known), sort_keys=False, allow_unicode=True, width=120)
