"""Why a request was answered with this set: the walk, what the search made of it, the proof, and what weighs most."""

import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.pairs import Chosen, cost_of
from numaproof.harness.report.cost_answer import Answer, Edge, other_rule
from numaproof.harness.report.cost_words import (
    chosen_text,
    ids_text,
    number,
    percent,
    plain,
    proof_text,
    request_text,
    short,
)

MOST_OTHERS = 4  # alternatives of a step that are told
MOST_EDGES = 5  # that are told as the dominant ones
LONGEST_IDS = 40  # characters, of an alternative

_COMPARED: tuple[tuple[str, Callable[[Fraction, Fraction], bool]], ...] = (
    ("cheaper together", operator.lt),
    ("as cheap", operator.eq),
    ("dearer", operator.gt),
)


def explain_lines(found: Answer) -> Iterator[str]:
    """The whole story in paragraphs; the request is solved by the other rule for unlisted pairs too."""
    yield f"{request_text(found.request)}: {chosen_text(found.solution.chosen)}"
    for paragraph in (_walk(found), _search(found), _proof(found), _dominant(found), _rule(found)):
        yield ""
        yield from paragraph


def _walk(found: Answer) -> Iterator[str]:
    yield f"The greedy walk, layer by layer, comes to {number(found.solution.greedy)}:"
    for step in walk(found.graph).steps:
        vertex = found.graph.vertices[step.vertex]
        units = f" x {step.units}" if vertex.size > 1 else ""
        yield f"  {plain(vertex.resource)}: {ids_text(vertex.ids)}{units}, for {number(step.increment)}"
        if not step.alternatives:
            yield "    no other is left with as many"
        elif step.alternatives[0][1] < step.increment:
            yield "    its first is the cheapest, and a vertex is used as often as it can be"
        for words, matches in _COMPARED:
            others = [other for other in step.alternatives if matches(other[1], step.increment)]
            if others:
                yield f"    {words}: {_others(found, others)}"


def _others(found: Answer, others: Sequence[tuple[int, Fraction]]) -> str:
    told = [
        f"{short(ids_text(found.graph.vertices[other].ids), LONGEST_IDS)} for {number(cost)}"
        for other, cost in others[:MOST_OTHERS]
    ]
    more = len(others) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def _search(found: Answer) -> Iterator[str]:
    solution = found.solution
    if solution.cost == solution.greedy:
        yield f"The search found nothing cheaper than the walk's {number(solution.greedy)}."
        if solution.chosen != solution.greedy_chosen:
            yield f"Of sets that cost the same it took another: {_swaps(solution.greedy_chosen, solution.chosen)}."
        return
    less = (solution.greedy - solution.cost) / solution.greedy
    by = "The annealing" if solution.annealed == solution.cost and not solution.optimal else "The search"
    yield f"{by} brought the walk's {number(solution.greedy)} down to {number(solution.cost)} ({percent(less)} less):"
    yield f"  {_swaps(solution.greedy_chosen, solution.chosen)}"


def _swaps(before: Chosen, after: Chosen) -> str:
    swaps = []
    for resource in after:
        gone, come = set(before[resource]) - set(after[resource]), set(after[resource]) - set(before[resource])
        if come:
            swaps.append(f"{plain(resource)} {ids_text(come)} instead of {ids_text(gone)}")
    return "; ".join(swaps)


def _proof(found: Answer) -> Iterator[str]:
    solution = found.solution
    yield f"The proof: {proof_text(solution)}."
    yield f"  (parts of the space that were looked into: {solution.searched}; seed {solution.seed})"


def _dominant(found: Answer) -> Iterator[str]:
    if not found.edges:
        yield "Nothing is known of what these cost together: any set would do."
        return
    yield f"What weighs most, of {number(found.solution.cost)}:"
    for edge in sorted(found.edges, key=lambda one: -one.cost)[:MOST_EDGES]:
        share = percent(edge.cost / found.solution.cost)
        yield f"  {number(edge.cost)} ({share}): {_ends(found, edge)}"


def _ends(found: Answer, edge: Edge) -> str:
    names = [
        f"{plain(found.graph.vertices[end].resource)}/{ids_text(found.units[end])}" for end in (edge.one, edge.other)
    ]
    return f"{names[0]} among themselves" if edge.one == edge.other else " - ".join(names)


def _rule(found: Answer) -> Iterator[str]:
    """Whether the rule for pairs that nobody lists decided: whether by the other one this set is beaten."""
    twin = other_rule(found)
    rule, other = found.costs.unlisted, twin.costs.unlisted
    here, there = found.solution, twin.solution
    here_there, there_here = cost_of(twin.costs, here.chosen), cost_of(found.costs, there.chosen)
    if here_there <= there.cost:
        yield "The rule for unlisted pairs did not decide:"
        yield f"  by --unlisted {other} this set costs {number(here_there)}, and no cheaper one comes out"
        return
    yield "The rule for unlisted pairs decided: by the other one another set comes out."
    yield f"  --unlisted {rule}: {chosen_text(here.chosen)}: {number(here.cost)} (by {other}: {number(here_there)})"
    yield f"  --unlisted {other}: {chosen_text(there.chosen)}: {number(there.cost)} (by {rule}: {number(there_here)})"
    yield "  By --unlisted nothing, a pair that nobody lists beats every pair that is listed, however near."
