"""Why a request was answered with this set: the walk, what the search made of it, the proof, and what weighs most."""

from collections.abc import Iterator
from dataclasses import replace

from numaproof.harness.cost.costs import UNLISTED
from numaproof.harness.cost.greedy import Step, walk
from numaproof.harness.cost.solution import Chosen
from numaproof.harness.report.cost_answer import Answer, Edge, answer, cost_of
from numaproof.harness.report.cost_words import chosen_text, ids_text, number, percent, plain, proof_text, request_text

MOST_OTHERS = 4  # alternatives of a step that are told
MOST_EDGES = 5  # that are told as the dominant ones


def explain_lines(found: Answer) -> Iterator[str]:
    """The whole story in paragraphs; the request is solved by the other rule for unlisted pairs too."""
    yield f"{request_text(found.request)}: {chosen_text(found.solution.chosen)}"
    for paragraph in (_walk(found), _search(found), _proof(found), _dominant(found), _rule(found)):
        yield ""
        yield from paragraph


def _walk(found: Answer) -> Iterator[str]:
    yield f"The greedy walk, layer by layer, comes to {number(found.solution.greedy)}:"
    steps = iter(walk(found.graph).steps)
    for layer in found.graph.layers:
        left = layer.wanted
        while left > 0:
            step = next(steps)
            left -= step.units
            yield f"  {plain(layer.resource)}: {_step(found, step)}"


def _step(found: Answer, step: Step) -> str:
    vertex = found.graph.vertices[step.vertex]
    units = f" x {step.units}" if vertex.size > 1 else ""
    taken = f"{ids_text(vertex.ids)}{units} for {number(step.increment)}"
    others = [
        f"{ids_text(found.graph.vertices[other].ids)} for {number(cost)}"
        for other, cost in step.alternatives[:MOST_OTHERS]
    ]
    more = len(step.alternatives) - len(others)
    if not others:
        return f"{taken}; there was no other"
    return f"{taken}; not {', '.join(others)}" + (f" and {more} more" if more else "")


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
    searched = f"{solution.searched} part{'s' if solution.searched != 1 else ''} of the space were looked into"
    yield f"The proof: {proof_text(solution)} ({searched}, seed {solution.seed})."


def _dominant(found: Answer) -> Iterator[str]:
    if not found.edges:
        yield "Nothing is known of what these cost together: any set would do."
        return
    yield f"What weighs most, of {number(found.solution.cost)}:"
    for edge in sorted(found.edges, key=lambda one: -one.cost)[:MOST_EDGES]:
        share = percent(edge.cost / found.solution.cost)
        yield f"  {number(edge.cost)} ({share}): {_ends(found, edge)}"


def _ends(found: Answer, edge: Edge) -> str:
    names = [f"{plain(found.graph.vertices[end].resource)}/{ids_text(found.units[end])}" for end in (edge.one, edge.other)]
    return f"{names[0]} among themselves" if edge.one == edge.other else " - ".join(names)


def _rule(found: Answer) -> Iterator[str]:
    """Whether the rule for pairs that nobody lists decided: whether by the other one this set is beaten."""
    rule = found.costs.unlisted
    other = next(one for one in UNLISTED if one != rule)
    twin = answer(replace(found.costs, unlisted=other), found.request, found.solution.seed)
    here, there = found.solution, twin.solution
    here_there, there_here = cost_of(twin.costs, here.chosen), cost_of(found.costs, there.chosen)
    if here_there <= there.cost:
        yield f"The rule for unlisted pairs did not decide: by --unlisted {other} this set costs {number(here_there)}, and none less was found."
        return
    yield "The rule for unlisted pairs decided: by the other one another set comes out."
    yield f"  --unlisted {rule}: {chosen_text(here.chosen)}: {number(here.cost)} (by {other}: {number(here_there)})"
    yield f"  --unlisted {other}: {chosen_text(there.chosen)}: {number(there.cost)} (by {rule}: {number(there_here)})"
    yield "  A pair that nobody lists costs nothing by the first rule, and so beats pairs that are known to be near."
