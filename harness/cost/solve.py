"""From costs and a request to the cheapest set that satisfies it."""

from collections.abc import Collection, Mapping

from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.solution import Solution

DEFAULT_SEED = 1


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
    raise NotImplementedError
