"""What a request was answered with: the chosen instances, what they cost, and what is proven about that."""

from dataclasses import dataclass, field
from fractions import Fraction

from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.pairs import Chosen, pairs


@dataclass(frozen=True, slots=True)
class Solution:
    """A set of instances that satisfies a request. Costs are sums over all its pairs, in both directions."""

    costs: Costs = field(repr=False)
    chosen: Chosen
    cost: Fraction  # of costs remapped to [0..100]
    bound: Fraction  # no set that satisfies the request costs less
    greedy: Fraction  # what the greedy walk's set costs
    greedy_chosen: Chosen
    annealed: Fraction | None  # what the best set of the annealing costs; None: it was not needed
    seed: int  # of the annealing
    searched: int  # sets of sets that the exact solver looked into

    @property
    def raw_cost(self) -> Fraction:
        """The same sum of the costs as they were reported."""
        return sum((pair.there + pair.back for pair in pairs(self.costs, self.chosen)), start=Fraction(0))

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no other set is cheaper."""
        return self.bound == self.cost

    @property
    def gap(self) -> Fraction:
        """How much cheaper another set could be at most, as a share of the bound; 0 if none can."""
        return Fraction(0) if self.optimal else (self.cost - self.bound) / self.bound if self.bound else Fraction(1)
