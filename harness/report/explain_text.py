"""An explanation for people, in a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.explain.amounts import amount_text
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remark import Remark
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.report.explain_matrix import matrix_rows
from numaproof.harness.vocabulary import SCOPES

WIDTH = 80
OBSTACLES = "A kubelet would not start so"
_NOTHING = Beside()


def explanation_lines(
    explanation: Explanation,
    machine: str,
    beside: Beside = _NOTHING,
    drawing: Sequence[str] = (),
) -> Iterator[str]:
    """The verdict, why, what would help, what other policies would do, the drawing, and what was assumed."""
    trace, pod = explanation.trace, explanation.pod
    yield from _folded(f"pod {pod.namespace}/{pod.name} on {machine}: policy {trace.policy}, scope {trace.scope}", "")
    yield from _folded(headline(explanation), "")
    for name, given in trace.given.items() if trace.verdict.admitted else ():
        yield from _folded(f"container {name}: {given_text(given)}", "  ")
    if beside.obstacles:
        yield from _section(OBSTACLES, beside.obstacles)
    yield from _section("Why", why(explanation))
    if explanation.remedies:
        wish = "What would align it" if trace.verdict.admitted else "What would help"
        yield from _section(f"{wish} (each was tried)", [one.change.text for one in explanation.remedies])
    elif explanation.blame is not None and not trace.verdict.admitted:
        yield from _section(
            "What would help", ["no change of the pod, the pods beside it or the policy that was tried"]
        )
    if known := remarks(explanation):
        yield from _section("Known", [remark_text(one) for one in known])
    if beside.log:
        yield from _section("The log", beside.log)
    yield ""
    yield "Under other policies and scopes"
    yield from matrix_lines(explanation)
    if drawing:
        yield ""
        yield from drawing
    if beside.assumptions:
        yield from _section("Assumed", beside.assumptions)


def remark_text(remark: Remark) -> str:
    """What is known, from where, and until when."""
    fixed = f"; fixed in {remark.fixed_in}" if remark.fixed_in else ""
    return f"{remark.text} ({remark.source}{fixed})"


def headline(explanation: Explanation) -> str:
    """The verdict in a line."""
    verdict = explanation.trace.verdict
    if verdict.admitted:
        return "ADMITTED" + ("" if explanation.blame is None else ", and not on one NUMA node")
    return f"REFUSED: {verdict.reason}" + (f": {verdict.message}" if verdict.message else "")


def given_text(given: Assignment) -> str:
    """What a container gets."""
    parts = [f"CPUs {format_cpulist(given.cpus)}" if given.cpus else "shared CPUs"]
    for block in given.memory:
        parts.append(f"{amount_text(block.resource, block.size)} from NUMA {'+'.join(map(str, block.nodes))}")
    for resource, devices in given.devices.items():
        where = ", ".join(f"{one.id} (NUMA {'+'.join(map(str, one.numa))})" if one.numa else one.id for one in devices)
        parts.append(f"{resource} {where}")
    return "; ".join(parts)


def matrix_lines(explanation: Explanation) -> Iterator[str]:
    """A line for each policy and scope, the node's own marked."""
    for row in matrix_rows(explanation):
        head = f"{'*' if row.is_own else ' '} {row.policy:<16} {row.scope:<{max(map(len, SCOPES))}}  "
        yield from textwrap.wrap(f"{head}{row.text}", WIDTH, subsequent_indent=" " * len(head))


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield ""
    yield title
    for line in lines:
        yield from _folded(line, "- ")


def _folded(text: str, start: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
    ) or [start]
