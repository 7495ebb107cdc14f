"""Replays files of recorded decisions and counts what comes out as recorded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.vectors.files import read_cases
from numaproof.harness.vectors.kinds import RecordKind


@dataclass(frozen=True, slots=True)
class Difference:
    """A line whose decision came out otherwise than recorded."""

    line: int
    details: list[str]


@dataclass(slots=True)
class Outcome:
    """How many of a file's decisions were reproduced, and the ones that were not."""

    path: Path
    total: int = 0
    differing: list[Difference] = field(default_factory=list)

    @property
    def reproduced(self) -> int:
        return self.total - len(self.differing)


def _nobody(outcome: Outcome) -> None:
    """Who waits for the end."""


def replay_file(path: Path, kind: RecordKind, tell: Callable[[Outcome], None] = _nobody) -> Outcome:
    """Replay every line of a file; a line without what its kind records is a UserError.

    `tell` is told after each line how it stands.
    """
    outcome = Outcome(path)
    for line, case in read_cases(path):
        outcome.total += 1
        details = _details(case, kind, f"{path}:{line}")
        if details:
            outcome.differing.append(Difference(line, details))
        tell(outcome)
    if not outcome.total:
        raise UserError(f"{path}: holds no recorded decision (one JSON object a line)")
    return outcome


def _details(case: dict[str, Any], kind: RecordKind, where: str) -> list[str]:
    try:
        return kind.differences(case, kind.replay(case))
    except UserError as refused:
        # The kubelet took this input: to refuse it is to decide otherwise.
        return [f"refused: {refused}"]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise UserError(f"{where}: is not a record of kind {kind.name}: {fault} (see docs/vectors.md)") from error
