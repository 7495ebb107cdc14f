"""A report on conformance as plain data, and as YAML."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import yaml

from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.exchange_text import lines_about


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
    if result.violated:
        data |= {"known": check.id in known, "why": check.why, "remedy": check.remedy}
        data["exchange"] = lines_about(check, report.exchange)
    return data


def as_yaml(report: Report, known: Collection[str] = ()) -> str:
    """The report as YAML."""
    return yaml.safe_dump(as_data(report, known), sort_keys=False, allow_unicode=True, width=120)
