"""The page of a run: one file with the failures, the matrix, and every instance with what its node decided and why."""

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.report.matrix import OUTCOMES, InstanceResult
from numaproof.harness.report.packed import Packing
from numaproof.harness.report.pages.render import inlined, render
from numaproof.harness.report.run_matrix import Cell, matrix_of, policy_of, scope_of
from numaproof.harness.report.run_report import RunReport
from numaproof.harness.report.run_scene import DRAWING_STYLE, Drawings
from numaproof.harness.report.run_text import place, seconds_text, without_file
from numaproof.harness.scenario.record import FROM_NODE, HintRecord

_IN_WORDS = ("id", "theme", "machine", "policy", "scope")  # what a row has a place of its own for
_SCRIPT = "run_page.js"
MOST_FAILURES = 100  # that are told in full above the list, which has them all


@dataclass(frozen=True, slots=True)
class Row:
    """An instance as the list shows it before it is opened."""

    result: InstanceResult
    story: str  # the id of its scenario: "theme/file"
    policy: str
    scope: str
    others: str  # "semantics kep": what else the matrix of its story says
    detail: str  # where the packed rest is


def run_page(run: RunReport) -> str:
    """The whole page; nothing in it comes from elsewhere, and no word of a pod, a plugin or a machine is markup."""
    results = sorted(run.results, key=lambda result: result.words["id"])
    details, drawings = Packing(), Packing()
    drawn = Drawings()
    rows = [_row(result, run, details, drawings, drawn) for result in results]
    details.close()
    drawings.close()
    counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES}
    failed = [row for row in rows if row.result.outcome == "failed"]
    badge, verdict, title = _verdict(counts, run.did_not_run)
    script = inlined(_SCRIPT)
    return render(
        "run_page.html",
        badge=badge,
        verdict=verdict,
        title=title,
        run=run,
        rows=rows,
        failed=failed[:MOST_FAILURES],
        unsaid=max(len(failed) - MOST_FAILURES, 0),
        counts=counts,
        machines=len({result.words["machine"] for result in results}),
        matrix=matrix_of(results, run.machines),
        themes=_themes(results),
        skips=Counter(result.reason for result in results if result.outcome == "skipped").most_common(),
        stories=_stories(rows),
        packed={"details": details.chunks, "drawings": drawings.chunks},
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        again=run.again.command,
        drawing_style=Markup(DRAWING_STYLE),
        **_WORDS,
    )


def _row(result: InstanceResult, run: RunReport, details: Packing, drawings: Packing, drawn: Drawings) -> Row:
    """A row, whose details and drawings are packed."""
    name = result.words["machine"]
    machine, record = run.machines.get(name), result.record
    pictures = drawn.after(record, name, machine) if record and machine else []
    places = [drawings.add(picture) if picture else "" for picture in pictures]
    of_steps = {text for step in record.steps for text in step.differences} if record else set()
    unplaced = [text for text in result.differences if text not in of_steps]
    text = render("run_detail.html", result=result, places=places, unplaced=unplaced, again=run.again.command, **_WORDS)
    others = [f"{key} {value}" for key, value in result.words.items() if key not in _IN_WORDS]
    return Row(
        result,
        result.words["id"].partition("[")[0],
        policy_of(result),
        scope_of(result),
        ", ".join(others),
        details.add(text),
    )


def _verdict(counts: dict[str, int], did_not_run: int) -> tuple[str, str, str]:
    """What came of the run: its colour, in a word, and in a line; one that was ended has not passed."""
    passed, selected = counts["passed"], sum(counts.values()) + did_not_run
    some = f"{passed:,} of {count_text(selected, 'instance')} passed"
    if counts["failed"]:
        return "bad", "FAILED", f"{counts['failed']:,} of {count_text(selected, 'instance')} failed"
    if did_not_run:
        return "warn", "INTERRUPTED", some
    if not passed:
        return "warn", "NOTHING RAN", "No instance ran"
    if passed < selected:
        return "good", "PASSED", some
    return "good", "PASSED", f"All {count_text(passed, 'instance')} passed" if passed > 1 else "The instance passed"


def _themes(results: Sequence[InstanceResult]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for result in sorted(results, key=lambda result: result.words["theme"]):
        found.setdefault(result.words["theme"], Counter())[result.outcome] += 1
    return found


def _stories(rows: Sequence[Row]) -> dict[str, str]:
    """What the search finds the instances of each scenario by, beside their ids."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        result = row.result
        words = [result.name, " ".join(result.why.split()), result.source]
        for step in result.record.steps if result.record else ():
            words += [*(device.resource for device in step.devices), *(one.pod for one in step.held)]
        found.setdefault(row.story, {}).update(dict.fromkeys(words))
    return {story: " ".join(words) for story, words in found.items()}


def _placed(hint: HintRecord) -> str:
    """The NUMA nodes of a hint."""
    return "any" if hint.nodes is None else format_cpulist(hint.nodes) or "none"


def _why(result: InstanceResult) -> set[str]:
    """The differences that the steps tell as what the node said, and that need not be read twice."""
    steps = result.record.steps if result.record else ()
    return {f"{FROM_NODE}{text}" for step in steps for text in step.why}


def count_text(number: int, what: str) -> str:
    """`1,000 instances`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


_WORDS = {
    "placed": _placed,
    "place": place,
    "without_file": without_file,
    "why_of": _why,
    "count_text": count_text,
    "seconds_text": seconds_text,
    "any_cell": Cell,
    "outcomes": OUTCOMES,
    "verdicts": {"admitted": "good", "refused": "warn", "waiting": "warn", "done": "soft", "failed": "bad"},
    "badges": {"passed": "good", "failed": "bad", "skipped": "soft"},
}
