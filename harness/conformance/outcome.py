"""Whether a report is good, where some failures are known."""

from collections.abc import Collection
from dataclasses import dataclass

from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.result import Report

_AGAINST = {CheckVerdict.FAIL, CheckVerdict.ERROR}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What decides; every failure counts that was not known, and every known one that is gone."""

    failed: tuple[str, ...]  # ids of checks
    healed: tuple[str, ...]  # ids of known failures that do not fail any more
    checked: bool  # whether anything was

    @property
    def conformant(self) -> bool:
        """Whether nothing stands against the subject."""
        return self.checked and not self.failed and not self.healed

    @property
    def text(self) -> str:
        """The verdict in a line."""
        if not self.checked:
            return "not conformant: nothing was checked"
        return "conformant" if self.conformant else f"not conformant: {', '.join([*self.failed, *self.healed])}"


def outcome(report: Report, known: Collection[str] = ()) -> Outcome:
    """What a report comes to."""
    failed = [one.check.id for one in report.results if one.verdict in _AGAINST and one.check.id not in known]
    healed = [one.check.id for one in report.results if one.verdict is CheckVerdict.PASS and one.check.id in known]
    checked = any(one.violated or one.verdict is CheckVerdict.PASS for one in report.results)
    return Outcome(tuple(failed), tuple(healed), checked)
