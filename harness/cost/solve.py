"""From costs and a request to the cheapest set that satisfies it."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from random import Random

from numaproof.harness.cost.anneal import anneal
from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.exact import Search
from numaproof.harness.cost.graph import build
from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.solution import Solution

DEFAULT_SEED = 1

# Regions that the exact solver looks into before the annealing, and after it: some seconds at the very most.
_AT_FIRST = 100
_AT_MOST = 20_000
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
    search = Search(graph, first.counts)
    search.improve(first.counts)
    annealed: Fraction | None = None
    if not search.run(_AT_FIRST):
        chance = Random(seed)
        found = min((anneal(graph, first.counts, chance) for _ in range(_ANNEALINGS)), key=graph.weight)
        annealed = graph.cost_of(graph.weight(found))
        search.improve(found)
        search.sharpen(_ROUNDS)
        search.run(_AT_MOST)
    return Solution(
        costs,
        graph.chosen(search.best),
        graph.cost_of(search.best_weight),
        graph.cost_of(search.bound),
        graph.cost_of(graph.weight(first.counts)),
        graph.chosen(first.counts),
        annealed,
        seed,
        search.searched,
    )
