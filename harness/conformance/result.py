"""What a run found: the verdict of each check, and all that it is based on."""

from dataclasses import dataclass, field
from datetime import datetime

from numaproof.harness.conformance.about import About
from numaproof.harness.conformance.checks.check import Check
from numaproof.harness.conformance.exchange import Exchange
from numaproof.harness.conformance.finding import CheckVerdict
from numaproof.harness.conformance.printed import Printed


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict of a check, and what was seen: of a skip its reason, of an error the suite's own fault."""

    check: Check
    verdict: CheckVerdict
    seen: str

    @property
    def violated(self) -> bool:
        """Whether the subject does not do what is required, whatever that weighs."""
        return self.verdict in {CheckVerdict.FAIL, CheckVerdict.WARN}


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found, and all that it is based on."""

    results: tuple[CheckResult, ...]
    exchange: Exchange
    seconds: float
    seed: int
    output: tuple[Printed, ...] = ()  # session by session; empty: it printed nothing, or the suite did not start it
    began: datetime | None = None  # None: it was not made by a run
    about: About = field(default_factory=About)

    def violated(self) -> tuple[str, ...]:
        """The ids of the checks whose requirement does not hold, whatever they weigh."""
        return tuple(result.check.id for result in self.results if result.violated)

    def failures(self) -> tuple[str, ...]:
        """What stands against the subject, a line each; errors of the suite too. Empty: it is conformant."""
        return tuple(
            f"{result.check.id} {result.verdict}: {result.seen}"
            for result in self.results
            if result.verdict in {CheckVerdict.FAIL, CheckVerdict.ERROR}
        )
