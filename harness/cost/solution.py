"""What a request was answered with: the chosen instances, what they cost, and what is proven about that."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Chosen = Mapping[str, tuple[str, ...]]  # ids by resource, both in their natural order


@dataclass(frozen=True, slots=True)
class Solution:
    """A set of instances that satisfies a request. Costs are sums over all its pairs, in both directions."""

    chosen: Chosen
    cost: Fraction  # of costs remapped to [0..100]
    raw_cost: Fraction
    bound: Fraction  # no set that satisfies the request costs less
    greedy: Fraction  # what the greedy walk's set costs
    greedy_chosen: Chosen
    annealed: Fraction | None  # what the best set of the annealing costs; None: it was not needed
    seed: int  # of the annealing
    searched: int  # sets of sets that the exact solver looked into

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no other set is cheaper."""
        return self.bound == self.cost

    @property
    def gap(self) -> Fraction:
        """How much cheaper another set could be at most, as a share of the bound; 0 if none can."""
        return Fraction(0) if self.optimal else (self.cost - self.bound) / self.bound if self.bound else Fraction(1)
