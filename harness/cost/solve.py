"""From costs and a request to the cheapest set that satisfies it."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from random import Random

from numaproof.harness.cost.anneal import anneal
from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.exact import Search
from numaproof.harness.cost.graph import build
from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.reduce import reduced
from numaproof.harness.cost.solution import Solution

DEFAULT_SEED = 1

# How much the exact solver works before the annealing; after it, a second or two where it is hard; and then only as
# long as the answer could still be more than 1% too dear.
_AT_FIRST = 20_000
_THEN = 1_500_000
_AT_LAST = 8_000_000
_CLOSE = 100  # parts of which the bound is one off at the most
_ROUNDS = 20  # of sharpening its bound in between
_ANNEALINGS = 8


def solve(
    costs: Costs,
    request: Mapping[str, int],
    *,
    available: Mapping[str, Collection[str]] | None = None,  # None: all instances
    required: Mapping[str, Collection[str]] | None = None,  # instances that have to be in the set
    seed: int = DEFAULT_SEED,
    compound: bool = True,  # False: every instance is a vertex of its own
) -> Solution:
    """The cheapest set found, and what is proven about it; a UserError where there are too few instances.

    Among sets that cost the same, the one counts that leaves the most of the cheap sets whole.
    """
    graph = build(costs, request, available=available, required=required, compound=compound)
    first = walk(graph)
    smaller = reduced(graph)
    start = smaller.counts(first.counts)
    search = Search(smaller.graph, start)
    search.improve(start)
    annealed: Fraction | None = None
    if not search.run(_AT_FIRST):
        chance = Random(seed)
        found = min((anneal(smaller.graph, start, chance) for _ in range(_ANNEALINGS)), key=smaller.graph.weight)
        annealed = graph.cost_of(smaller.graph.weight(found))
        search.improve(found)
        search.sharpen(_ROUNDS)
        if not search.run(_THEN) and search.best_weight * _CLOSE > search.bound * (_CLOSE + 1):
            search.run(_AT_LAST)
    return Solution(
        costs,
        smaller.graph.chosen(search.best),
        graph.cost_of(search.best_weight),
        graph.cost_of(search.bound),
        graph.cost_of(graph.weight(first.counts)),
        graph.chosen(first.counts),
        annealed,
        seed,
        search.searched,
    )
