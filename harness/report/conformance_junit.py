"""A report on conformance as JUnit's XML; of scenarios pytest writes it itself."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Collection

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import CheckResult, Report
from numaproof.harness.report.conformance_words import explanation, verdict_words

_KINDS = {CheckVerdict.FAIL: "failure", CheckVerdict.ERROR: "error", CheckVerdict.SKIP: "skipped"}
# What XML 1.0 cannot hold, not even escaped: a subject's last words may hold anything.
_NOT_IN_XML = {code: "?" for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)} | {0xFFFE: "?", 0xFFFF: "?"}


def junit(report: Report, known: Collection[str] = ()) -> str:
    """The results as JUnit has them; a warning, or a failure that was known, is a passed test that says so."""
    counts = Counter(_kind(result, known) for result in report.results)
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
        kind = _kind(result, known)
        text = _clean("\n".join(f"{name}: {part}" for name, part in explanation(result)))
        if kind:
            message = result.seen.splitlines()[0] if result.seen else kind
            ET.SubElement(case, kind, message=_clean(message)).text = text
        elif result.violated:
            ET.SubElement(case, "system-out").text = f"{verdict_words(result, known)}\n{text}"
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _kind(result: CheckResult, known: Collection[str]) -> str:
    """JUnit's word for a result; empty: the test has passed."""
    is_known = result.verdict is CheckVerdict.FAIL and result.check.id in known
    return "" if is_known else _KINDS.get(result.verdict, "")


def _clean(text: str) -> str:
    return text.translate(_NOT_IN_XML)
