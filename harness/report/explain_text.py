"""An explanation for people, in a terminal."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain import blame as causes
from numaproof.harness.explain.amounts import amount_text, short_amount
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Cell, Explanation
from numaproof.harness.explain.places import nodes_text
from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remark import Remark
from numaproof.harness.explain.remarks import remarks
from numaproof.harness.vocabulary import SCOPES

WIDTH = 80

_APART = {
    causes.APART: "{0} and {1} are apart",
    causes.WIDER: "{0} needs more NUMA nodes than {1}",
    causes.LEFT_BY_INIT: "init containers leave {0} elsewhere than {1}",
}


def explanation_lines(
    explanation: Explanation,
    machine: str,
    assumptions: Sequence[str] = (),
    drawing: Sequence[str] = (),
    log: Sequence[str] = (),
) -> Iterator[str]:
    """The verdict, why, what would help, what other policies would do, the drawing, and what was assumed.

    `log`: what a kubelet's log says beside it.
    """
    trace, pod = explanation.trace, explanation.pod
    yield from _folded(f"pod {pod.namespace}/{pod.name} on {machine}: policy {trace.policy}, scope {trace.scope}", "")
    yield from _folded(headline(explanation), "")
    for name, given in trace.given.items() if trace.verdict.admitted else ():
        yield from _folded(f"container {name}: {given_text(given)}", "  ")
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
    if log:
        yield from _section("The log", log)
    yield ""
    yield "Under other policies and scopes"
    yield from matrix_lines(explanation)
    if drawing:
        yield ""
        yield from drawing
    if assumptions:
        yield from _section("Assumed", assumptions)


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


def short_text(given: Assignment, node_of: Mapping[int, int]) -> str:
    """How much of what a container gets, by NUMA node."""
    counts: dict[str, Counter[str]] = {}
    for cpu in given.cpus:
        counts.setdefault("CPUs", Counter())[str(node_of[cpu])] += 1
    for resource, devices in given.devices.items():
        for one in devices:
            counts.setdefault(resource, Counter())["+".join(map(str, one.numa)) if one.numa else "any"] += 1
    parts = [f"{name} {_by_count(found)}" for name, found in counts.items()]
    parts += [f"{block.resource} of {nodes_text(block.nodes)}" for block in given.memory]
    return "; ".join(parts) or "shared CPUs"


def _by_count(found: Mapping[str, int]) -> str:
    """Counts by NUMA node, those that are alike together: "8 of each of NUMA 0, 1"."""
    alike: dict[int, list[str]] = {}
    for node, number in sorted(found.items(), key=lambda item: (len(item[0]), item[0])):
        alike.setdefault(number, []).append(node)
    return ", ".join(
        f"{number} of NUMA {nodes[0]}" if len(nodes) == 1 else f"{number} of each of NUMA {_joined(nodes)}"
        for number, nodes in alike.items()
    )


def _joined(nodes: Sequence[str]) -> str:
    return format_cpulist(map(int, nodes)) if all(node.isdecimal() for node in nodes) else ", ".join(nodes)


def matrix_lines(explanation: Explanation) -> Iterator[str]:
    """A line for each policy and scope, the node's own marked."""
    own = (explanation.trace.policy, explanation.trace.scope)
    node_of = explanation.replica.managers.cpu.topology.node_of
    for _, cells in groupby(explanation.matrix, key=lambda cell: cell.policy):
        texts = {cell.scope: (cell, cell_text(cell, node_of)) for cell in cells}
        if len({text for _, text in texts.values()}) == 1:
            texts = {"both": next(iter(texts.values()))}
        for scope, (cell, text) in texts.items():
            mark = "*" if cell.policy == own[0] and scope in (own[1], "both") else " "
            head = f"{mark} {cell.policy:<16} {scope:<{max(map(len, SCOPES))}}  "
            yield from textwrap.wrap(f"{head}{text}", WIDTH, subsequent_indent=" " * len(head))


def cell_text(cell: Cell, node_of: Mapping[int, int]) -> str:
    """What another policy and scope make of the pod."""
    if cell.trace is None:
        return "the node would not start so"
    text = _outcome(cell.trace, node_of)
    if cell.told is not None and cell.told.blame is not None:
        text += f" ({blame_text(cell.told.blame, admitted=cell.trace.verdict.admitted)})"
    if cell.afresh is not None:
        text += f" (had the other pods come under it, too: {_outcome(cell.afresh, node_of)})"
    return text


def blame_text(blame: Blame, *, admitted: bool) -> str:
    """What decided, in a few words."""
    if blame.what == causes.FIT:
        told = f"the node as a whole has too little {blame.resource}"
    elif blame.what in (causes.QOS, causes.POLICY):
        told = blame.cause
    elif blame.cause in _APART and blame.others:
        told = _APART[blame.cause].format(blame.resource, " and ".join(blame.others))
    elif blame.cause == causes.LEFT_BY_INIT:
        told = f"{blame.resource}: what init containers leave has to be taken"
    elif blame.stock is not None:
        stock = blame.stock
        best = short_amount(stock.resource, stock.best)
        wanted = short_amount(stock.resource, stock.wanted)
        told = f"{blame.resource}: {wanted} wanted, at most {best} free on a NUMA node"
    else:
        told = f"{blame.resource}: {blame.cause}"
    return f"not aligned: {told}" if admitted else told


def _outcome(trace: Trace, node_of: Mapping[int, int]) -> str:
    if not trace.verdict.admitted:
        return f"refused: {trace.verdict.reason}"
    given = [(name, short_text(one, node_of)) for name, one in trace.given.items()]
    return "admitted: " + " | ".join(text if len(given) == 1 else f"{name}: {text}" for name, text in given)


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield ""
    yield title
    for line in lines:
        yield from _folded(line, "- ")


def _folded(text: str, start: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
    ) or [start]
