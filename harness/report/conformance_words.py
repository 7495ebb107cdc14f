"""What every report on conformance says in the same words."""

from collections import Counter
from collections.abc import Collection

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report


def verdict_words(result: CheckResult, known: Collection[str]) -> str:
    """The verdict, and whether it was known before."""
    return f"{result.verdict} (known)" if result.violated and result.check.id in known else result.verdict


def explanation(result: CheckResult) -> list[tuple[str, str]]:
    """What a reader wants to know of a violation, each part with its name."""
    check = result.check
    return [("expected", check.requirement), ("seen", result.seen), ("why", check.why), ("remedy", check.remedy)]


def title(report: Report) -> str:
    """The resources that were checked."""
    return ", ".join(report.exchange.resources()) or "no resource"


def summary_line(report: Report) -> str:
    """How many of each verdict."""
    counts = Counter(result.verdict for result in report.results)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in CheckVerdict if counts[verdict])
    return f"{title(report)}: {words} in {report.seconds:.1f} s (seed {report.seed})"
