"""The results of a run as a matrix policy x scope x machine, and as a file."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numaproof.harness.drawing.words import count
from numaproof.harness.scenario.record import InstanceRecord
from numaproof.harness.vocabulary import POLICIES

COLUMNS = (*POLICIES, "other")
OUTCOMES = ("passed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """How one instance ended."""

    words: Mapping[str, str]  # id, theme, machine, policy, scope, ...
    outcome: str  # one of OUTCOMES
    seconds: float
    reason: str  # of a skip
    name: str = ""  # the scenario's, as its why and its source
    why: str = ""
    source: str = ""
    path: str = ""  # of the scenario's file
    differences: tuple[str, ...] = ()  # of a failure: from what was expected, or what went wrong
    record: InstanceRecord | None = None  # None: it did not run, or not as far as a node

    @property
    def line(self) -> int | None:
        """The line of the scenario's file that the first difference names; None: it names none."""
        named = f"{self.path}:"
        lines = (text.removeprefix(named).partition(":")[0] for text in self.differences if text.startswith(named))
        return next((int(line) for line in lines if line.isdecimal()), None)


def matrix_lines(results: Sequence[InstanceResult]) -> Iterable[str]:
    """A row for each machine and scope, a column for each policy: how many passed of how many ran."""
    cells: dict[tuple[str, str], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for result in results:
        key = (result.words["machine"], result.words.get("scope", "-"))
        cells[key][result.words.get("policy", "other")][result.outcome] += 1
    columns = [one for one in COLUMNS if any(one in row for row in cells.values())]
    width = max(len(machine) for machine in ["machine", *(machine for machine, _ in cells)]) + 2
    yield "".join(["machine".ljust(width), "scope".ljust(11), *(column.rjust(18) for column in columns)])
    for (machine, scope), row in sorted(cells.items()):
        yield "".join([machine.ljust(width), scope.ljust(11), *(cell(row.get(column)).rjust(18) for column in columns)])
    totals = Counter(result.outcome for result in results)
    machines = count(len({machine for machine, _ in cells}), "machine")
    yield (
        f"{count(len(results), 'instance')} on {machines}: {totals['passed']} passed, {totals['failed']} failed, "
        f"{totals['skipped']} skipped"
    )
    for reason, times in Counter(result.reason for result in results if result.outcome == "skipped").most_common():
        yield f"  {times} skipped: {reason}"


def cell(counts: Counter[str] | None) -> str:
    """How many passed, of how many if some failed."""
    if counts is None:
        return "."
    ran = counts["passed"] + counts["failed"]
    if not ran:
        return "skipped"
    return f"{counts['passed']} of {ran}" if counts["failed"] else str(ran)


def summary(results: Sequence[InstanceResult], runtime: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Every result, for programs; `about` is what else is known of the run."""
    return {
        "runtime": runtime,
        **about,
        "totals": {outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES},
        "results": [
            {**result.words, "file": result.path, "outcome": result.outcome, "seconds": round(result.seconds, 3)}
            | ({"reason": result.reason} if result.reason else {})
            | ({"differences": list(result.differences)} if result.differences else {})
            for result in sorted(results, key=lambda result: result.words["id"])
        ],
    }
