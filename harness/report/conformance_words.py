"""What every report on conformance says in the same words."""

from collections import Counter
from collections.abc import Collection

import numaproof
from numaproof.harness.conformance.exchange import Listed
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.printed import plain
from numaproof.harness.conformance.result import CheckResult, Report

_LONGEST_TEXT = 5000  # what a check has seen may quote the subject, which may say anything at any length


def verdict_words(result: CheckResult, known: Collection[str]) -> str:
    """The verdict, and whether it was known before."""
    return f"{result.verdict} (known)" if result.violated and result.check.id in known else result.verdict


def explanation(result: CheckResult) -> list[tuple[str, str]]:
    """What a reader wants to know of a violation, each part with its name."""
    check = result.check
    return [("expected", check.requirement), ("seen", result.seen), ("why", check.why), ("remedy", check.remedy)]


def plain_text(text: str) -> str:
    """A text of several lines in which a terminal and a page find nothing but text."""
    told = "\n".join(map(plain, text[:_LONGEST_TEXT].split("\n")))
    return told if len(text) <= _LONGEST_TEXT else f"{told} ..."


def title(report: Report) -> str:
    """The resources that were checked."""
    return plain_text(", ".join(report.exchange.resources())) or "no resource"


def facts(report: Report) -> list[tuple[str, str]]:
    """What a report says of its own making, each with its name; what nobody knows is left out."""
    about = report.about
    told = [
        ("plugin", plain_text(about.subject)),
        ("image", plain_text(about.image)),
        ("plugin version", plain_text(about.version)),
        ("machine", plain_text(about.machine)),
        ("runtime", about.runtime),
        ("suite", f"numaproof {numaproof.__version__}"),
        ("date", f"{report.began:%Y-%m-%d %H:%M:%S %Z}" if report.began else ""),
        ("took", f"{report.seconds:.1f} s"),
        ("seed", str(report.seed)),
    ]
    return [(name, text) for name, text in told if text]


def counts(report: Report) -> dict[CheckVerdict, int]:
    """How many of each verdict that there is."""
    found = Counter(result.verdict for result in report.results)
    return {verdict: found[verdict] for verdict in CheckVerdict if found[verdict]}


def remark(report: Report) -> str:
    """What a reader must know of a good verdict, too: that most of it had nothing to be judged by; else empty."""
    lists = report.exchange.of(Listed)
    if not lists or any(device.health == "Healthy" for one in lists for device in one.response.devices):
        return ""
    return (
        "it listed no healthy device, so no allocation was checked: show it one, by --machine, --device, --bind or its "
        "own options"
    )


def summary_line(report: Report) -> str:
    """How many of each verdict."""
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts(report).items())
    return f"{title(report)}: {words} in {report.seconds:.1f} s (seed {report.seed})"
