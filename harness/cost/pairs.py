"""The cost of a set pair by pair."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.names import Instance
from numaproof.harness.cost.solution import Chosen


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances of a set and what it costs to use them together."""

    one: Instance
    other: Instance
    there: Fraction  # raw, from `one` to `other`; 0 if nobody says
    back: Fraction  # raw, from `other` to `one`
    cost: Fraction  # both directions remapped and summed: 0 to 200


def pairs(costs: Costs, chosen: Chosen) -> Iterator[Pair]:
    """Every pair of the set that costs anything, in the order of layers and names; they sum up to the set's cost."""
    raise NotImplementedError
