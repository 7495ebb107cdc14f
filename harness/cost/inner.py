"""What so many instances of a compound vertex cost among themselves, at the least, and which ones these are."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Table = tuple[int, ...]  # the cheapest cost of 0, 1, 2, ... instances


@dataclass(frozen=True, slots=True)
class Alike:
    """Instances that cost the same to everybody and to one another."""

    ids: tuple[str, ...]
    between: int  # of any two of them
    each: int  # of every one by itself

    def table(self, most: int) -> Table:
        """The cheapest cost of up to `most` of them."""
        return tuple(
            count * self.each + self.between * (count * (count - 1) // 2)
            for count in range(min(most, len(self.ids)) + 1)
        )

    def take(self, count: int) -> tuple[str, ...]:
        """So many of them that cost what the table says: the first ones."""
        return self.ids[:count]


class Nested:
    """Parts of which any two cost the same to each other, whichever instances are taken of them.

    That is how CPUs are: threads in cores, cores below caches, caches in a NUMA node.
    """

    def __init__(self, parts: Sequence["Inner"], between: int) -> None:
        self.parts = tuple(parts)
        self.between = between
        self._most = -1
        self._table: Table = ()
        self._kinds: list[_Kind] = []
        self._shares: list[tuple[int, ...]] = []  # by kind: how many of it are in the cheapest set of so many up to it

    @property
    def ids(self) -> tuple[str, ...]:
        """All instances, in the order in which they are taken."""
        return tuple(one for part in self.parts for one in part.ids)

    def table(self, most: int) -> Table:
        """The cheapest cost of up to `most` of them."""
        if most > self._most:
            self._solve(most)
        return self._table[: most + 1]

    def take(self, count: int) -> tuple[str, ...]:
        """So many of them that cost what the table says."""
        self.table(count)
        taken: list[str] = []
        for kind, shares in zip(reversed(self._kinds), reversed(self._shares), strict=True):
            share = shares[count]
            count -= share
            for part, number in zip(kind.parts, kind.split(share), strict=False):
                taken += part.take(number)
        return tuple(taken)

    def _solve(self, most: int) -> None:
        """The cheapest way to spread a number over the parts.

        Numbers k1, k2, ... of the parts cost `between` for each pair across, which is between * (k^2 - k1^2 - k2^2
        - ...) / 2 for k instances in all. So a part's number costs 2 * its table - between * its square, whatever is
        taken of the others, and kinds of parts are added one after another.
        """
        by_table: dict[Table, list[Inner]] = defaultdict(list)
        for part in self.parts:
            by_table[part.table(most)].append(part)
        self._kinds = [_Kind(tuple(parts), table, self.between) for table, parts in by_table.items()]
        self._shares = []
        total: list[int] = [0]
        for kind in self._kinds:
            own = kind.spread(most)
            length = min(len(total) + len(own) - 2, most)
            merged, shares = _merged(total, own, length)
            total = merged
            self._shares.append(shares)
        self._table = tuple((twice + self.between * count * count) // 2 for count, twice in enumerate(total))
        self._most = most


Inner = Alike | Nested


class _Kind:
    """Parts of one kind: as many instances of each cost the same."""

    def __init__(self, parts: tuple[Inner, ...], table: Table, between: int) -> None:
        self.parts = parts
        self._size = len(table) - 1
        # What a part's number contributes, doubled and without the pairs across; see Nested.
        self._costs = [2 * cost - between * count * count for count, cost in enumerate(table)]
        steps = [after - before for before, after in pairwise(self._costs)]
        # Where each further instance of a part adds less than the one before, it is best to fill part after part.
        self._fills = all(later <= earlier for earlier, later in pairwise(steps))
        self._splits: list[tuple[int, ...]] = []  # where it is not: how many of each part

    def spread(self, most: int) -> list[int]:
        """The cheapest cost of 0, 1, 2, ... instances over all parts."""
        top = min(most, self._size * len(self.parts))
        if self._size == 0:
            return [0]
        if self._fills:
            return [
                (count // self._size) * self._costs[-1] + self._costs[count % self._size] for count in range(top + 1)
            ]
        total = [0]
        splits: list[tuple[int, ...]] = [()]
        for _ in self.parts:
            length = min(len(total) + self._size - 1, top)
            merged, shares = _merged(total, self._costs, length)
            splits = [(*splits[count - share], share) for count, share in enumerate(shares)]
            total = merged
        self._splits = splits
        return total

    def split(self, count: int) -> tuple[int, ...]:
        """How many of each part, in their order; the rest gives none."""
        if not self._fills:
            return self._splits[count]
        full, rest = divmod(count, self._size) if self._size else (0, 0)
        return (*([self._size] * full), *([rest] if rest else []))


def _merged(one: list[int], other: list[int], length: int) -> tuple[list[int], tuple[int, ...]]:
    """The cheapest sums of one cost of each list for every total number, and the number that the other list gives."""
    if one == [0]:
        return other[: length + 1], tuple(range(length + 1))
    costs, shares = [], []
    for total in range(length + 1):
        low, high = max(0, total - len(one) + 1), min(total, len(other) - 1)
        # What comes first in the order of names is used up first.
        cost, fewest = min((one[total - share] + other[share], share) for share in range(low, high + 1))
        costs.append(cost)
        shares.append(fewest)
    return costs, tuple(shares)
