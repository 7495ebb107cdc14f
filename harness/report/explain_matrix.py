"""What every policy and scope would make of a pod, in a few words each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain import blame as causes
from numaproof.harness.explain.amounts import short_amounts
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.explanation import Cell, Explanation
from numaproof.harness.explain.places import nodes_text
from numaproof.harness.vocabulary import KUBELET_POLICIES

_APART = {
    causes.APART: "{0} and {1} are apart",
    causes.WIDER: "{0} needs more NUMA nodes than {1}",
    causes.LEFT_BY_INIT: "init containers leave {0} elsewhere than {1}",
}


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A policy with a scope, or with both if they come to the same."""

    policy: str
    scope: str
    is_own: bool  # the node's
    text: str
    cell: Cell  # of the first of its scopes


def matrix_rows(explanation: Explanation) -> Iterator[MatrixRow]:
    """Every policy and scope."""
    own = (explanation.trace.policy, explanation.trace.scope)
    node_of = explanation.replica.managers.cpu.topology.node_of
    for policy, cells in groupby(explanation.matrix, key=lambda cell: cell.policy):
        texts = {cell.scope: (cell, cell_text(cell, node_of)) for cell in cells}
        if len({text for _, text in texts.values()}) == 1:
            texts = {"both": next(iter(texts.values()))}
        for scope, (cell, text) in texts.items():
            yield MatrixRow(policy, scope, policy == own[0] and scope in (own[1], "both"), text, cell)


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
        told = f"policy {blame.cause}" if blame.cause in KUBELET_POLICIES else blame.cause
    elif blame.cause in _APART and blame.others:
        told = _APART[blame.cause].format(blame.resource, " and ".join(blame.others))
    elif blame.cause == causes.LEFT_BY_INIT:
        told = f"{blame.resource}: what init containers leave has to be taken"
    elif blame.stock is not None:
        stock = blame.stock
        wanted, best = short_amounts(stock.resource, stock.wanted, stock.best)
        told = f"{blame.resource}: {wanted} wanted, at most {best} free on a NUMA node"
    else:
        told = f"{blame.resource}: {blame.cause}"
    return f"not aligned: {told}" if admitted else told


def _outcome(trace: Trace, node_of: Mapping[int, int]) -> str:
    if not trace.verdict.admitted:
        return f"refused: {trace.verdict.reason}"
    given = [(name, short_text(one, node_of)) for name, one in trace.given.items()]
    return "admitted: " + " | ".join(text if len(given) == 1 else f"{name}: {text}" for name, text in given)


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
