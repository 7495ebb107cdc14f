"""The exact solver: branch and bound over the compound vertices."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from numaproof.harness.cost.descent import Position
from numaproof.harness.cost.graph import Graph


@dataclass(frozen=True, slots=True)
class _Region:
    """The solutions with at least and at most so many instances of every vertex."""

    least: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """What no solution of a region falls below, the solution it was read off, and where the two differ most."""

    bound: int
    counts: tuple[int, ...]
    weight: int  # of that solution
    branch: int  # the vertex that is farthest from what was assumed of it


# By layer, the cheapest first: what an instance adds at the least, and of which vertex.
_Prices = list[list[tuple[int, int]]]


class Search:
    """Looks for the solution of the least weight, with proof; can be interrupted and resumed."""

    def __init__(self, graph: Graph, start: Sequence[int]) -> None:
        self._graph = graph
        self.best = tuple(start)
        self.best_weight = graph.weight(start)
        self.searched = 0  # regions
        self._work = 0  # prices that were looked at, or nearly so
        size = len(graph.vertices)
        self._layer_of = [0] * size
        for number, layer in enumerate(graph.layers):
            for one in layer.vertices:
                self._layer_of[one] = number
        # Every weight between two vertices is shared out between them: what a vertex is charged for an instance of
        # another. Whatever the shares, the charges of a solution add up to its weight.
        self._share = [[weight // 2 for weight in row] for row in graph.weights]
        self._orders: list[list[list[int]]] = []
        self._sort()
        least = tuple(vertex.size if vertex.required else 0 for vertex in graph.vertices)
        most = tuple(len(table) - 1 for table in graph.tables)
        self._root = _Region(least, most)
        self._open: list[tuple[int, int, _Region, _Relaxed]] = []
        self._begin()

    @property
    def bound(self) -> int:
        """No solution weighs less."""
        return min(self._open[0][0], self.best_weight) if self._open else self.best_weight

    def improve(self, counts: Sequence[int]) -> None:
        """Go on from a solution that was found elsewhere, if it is better."""
        position = Position(self._graph, counts)
        position.descend()
        if position.weight < self.best_weight:
            self.best, self.best_weight = tuple(position.counts), position.weight

    def run(self, work: int) -> bool:
        """Search on for so much work; whether the best solution is proven to be the best there is.

        Work is counted, not timed, so that the same question has the same answer on any machine.
        """
        last = self._work + work
        while self._open and self._open[0][0] < self.best_weight:
            if self._work >= last:
                return False
            _, _, region, relaxed = heapq.heappop(self._open)
            branch, number = relaxed.branch, relaxed.counts[relaxed.branch]
            self._consider(_Region(_with(region.least, branch, number), region.most))
            self._consider(_Region(region.least, _with(region.most, branch, number - 1)))
        return True

    def sharpen(self, rounds: int) -> None:
        """Raise the bound by sharing out the weights better, and begin anew with it."""
        for _ in range(rounds):
            self._shift()
            self._sort()
            self._lift()
            self._sort()
        self._begin()

    def _begin(self) -> None:
        self._open = []
        self._consider(self._root)

    def _consider(self, region: _Region) -> None:
        """Keep a region for later, unless nothing in it can be better than what is known."""
        self.searched += 1
        while (found := self._relax(region)) is not None:
            relaxed, prices = found
            if relaxed.weight < self.best_weight:
                self.improve(relaxed.counts)
            if relaxed.bound >= self.best_weight:
                return
            tighter = self._tightened(region, relaxed, prices)
            if tighter == region:
                heapq.heappush(self._open, (relaxed.bound, -self.searched, region, relaxed))
                return
            region = tighter

    def _sort(self) -> None:
        """For every vertex: the vertices of each layer, those first for which it is charged least."""
        self._orders = [
            [sorted((j for j in layer.vertices if j != one), key=charges.__getitem__) for layer in self._graph.layers]
            for one, charges in enumerate(self._share)
        ]

    def _relax(self, region: _Region) -> tuple[_Relaxed, _Prices] | None:
        """Let every vertex have the partners it likes best; None if the region holds no solution."""
        graph, least, most = self._graph, region.least, region.most
        room = [high - low for low, high in zip(least, most, strict=True)]
        missing = [layer.wanted - sum(least[one] for one in layer.vertices) for layer in graph.layers]
        taken = [(one, count) for one, count in enumerate(least) if count]
        bound = graph.weight(least)
        counts = list(least)
        assumed: list[tuple[int, int]] = []  # vertex, what is assumed for all its further instances
        all_prices: _Prices = []
        for number, layer in enumerate(graph.layers):
            wanted = missing[number]
            if wanted == 0:
                continue
            if not 0 < wanted <= sum(room[one] for one in layer.vertices):
                return None
            prices = []
            for one in layer.vertices:
                if room[one]:
                    price = self._others(one, number, missing, room)
                    row = graph.weights[one]
                    price += sum(row[other] * count for other, count in taken)
                    self._work += len(missing) + min(room[one], wanted)
                    prices.append((self._price(one, number, wanted, least, room, price), one))
            prices.sort()
            all_prices.append(prices)
            for price, one in prices:
                units = min(room[one], wanted)
                counts[one] += units
                bound += units * price
                assumed.append((one, units * price))
                wanted -= units
                if not wanted:
                    break
        return self._judged(region, counts, taken, assumed, bound), all_prices

    def _others(self, one: int, layer: int, missing: Sequence[int], room: Sequence[int]) -> int:
        """What an instance is charged, at the least, for what is missing in the other layers."""
        charges, orders, price = self._share[one], self._orders[one], 0
        for number, wanted in enumerate(missing):
            if wanted and number != layer:
                for other in orders[number]:
                    units = room[other]
                    if units >= wanted:
                        price += wanted * charges[other]
                        break
                    if units:
                        price += units * charges[other]
                        wanted -= units  # noqa: PLW2901 (what is left to be found)
        return price

    def _price(self, one: int, layer: int, wanted: int, least: Sequence[int], room: Sequence[int], price: int) -> int:
        """What each of its instances adds at the least, however many of them are taken of the missing ones."""
        charges, order = self._share[one], self._orders[one][layer]
        table, low = self._graph.tables[one], least[one]
        most = min(room[one], wanted)
        if most == 1:
            left = wanted - 1
            for other in order if left else ():
                units = room[other]
                if units >= left:
                    price += left * charges[other]
                    break
                price += units * charges[other]
                left -= units
            return price + table[low + 1] - table[low]
        # The charges for 0, 1, 2, ... mates of its own layer.
        mates = [0]
        for other in order:
            if len(mates) >= wanted:
                break
            for _ in range(min(room[other], wanted - len(mates))):
                mates.append(mates[-1] + charges[other])
        begun = table[low]
        # With too few mates the number is not possible at all.
        fewest = max(1, wanted - len(mates) + 1)
        return price + min((table[low + k] - begun) // k + mates[wanted - k] for k in range(fewest, most + 1))

    def _judged(
        self,
        region: _Region,
        counts: Sequence[int],
        taken: Sequence[tuple[int, int]],
        assumed: Sequence[tuple[int, int]],
        bound: int,
    ) -> _Relaxed:
        """The solution that the vertices would like: what it really weighs, and whose wishes failed most."""
        graph, least = self._graph, region.least
        added = [(one, counts[one] - least[one]) for one, _ in assumed]
        weight, worst, branch = bound, -1, 0
        for (one, wish), (_, units) in zip(assumed, added, strict=True):
            charges, row = self._share[one], graph.weights[one]
            real = sum(row[other] * count for other, count in taken)
            real += sum(charges[other] * number for other, number in added if other != one)
            real = units * real + graph.tables[one][counts[one]] - graph.tables[one][least[one]]
            weight += real - wish
            if real - wish > worst:
                worst, branch = real - wish, one
        return _Relaxed(bound, tuple(counts), weight, branch)

    def _tightened(self, region: _Region, relaxed: _Relaxed, all_prices: _Prices) -> _Region:
        """The region without what the bound shows to be too dear in it.

        To take one more of a vertex instead of the dearest one taken, or to do without the last one taken of a vertex
        for the cheapest one left, adds the difference of their prices to the bound.
        """
        least, most = list(region.least), list(region.most)
        spare = self.best_weight - relaxed.bound
        for prices in all_prices:
            taken = [price for price, one in prices if relaxed.counts[one] > region.least[one]]
            left = [price for price, one in prices if relaxed.counts[one] < region.most[one]]
            if not taken or not left:
                continue
            dearest, cheapest = taken[-1], left[0]
            for price, one in prices:
                if relaxed.counts[one] == region.least[one] and price - dearest >= spare:
                    most[one] = region.least[one]
                elif region.most[one] == region.least[one] + 1 == relaxed.counts[one] and cheapest - price >= spare:
                    least[one] = region.most[one]
        return _Region(tuple(least), tuple(most))

    def _shift(self) -> None:
        """Where a vertex is charged more for a partner than for those it would have, the partner can bear the rest.

        That lowers no vertex's least charges, and may raise the partner's.
        """
        share, most = self._share, self._root.most
        for one, charges in enumerate(share):
            for number, layer in enumerate(self._graph.layers):
                wanted = layer.wanted - (number == self._layer_of[one])
                dearest = 0
                for other in sorted((j for j in layer.vertices if j != one), key=charges.__getitem__):
                    if wanted > 0:
                        dearest = charges[other]
                        wanted -= most[other]
                    elif (slack := charges[other] - dearest) > 0:
                        charges[other] -= slack
                        share[other][one] += slack

    def _lift(self) -> None:
        """A vertex that its layer does without can give up charges, until it is as cheap as the dearest one taken.

        The others are charged for it instead, and those that would have had it for less become dearer.
        """
        share, most = self._share, self._root.most
        missing = [layer.wanted for layer in self._graph.layers]
        nothing = [0] * len(most)
        partners = sum(missing) - 1
        for number, layer in enumerate(self._graph.layers):
            prices = []
            for one in layer.vertices:
                price = self._others(one, number, missing, most)
                prices.append((self._price(one, number, layer.wanted, nothing, most, price), one))
            wanted, dearest = layer.wanted, 0
            for price, one in sorted(prices):
                if wanted > 0:
                    dearest = price
                    wanted -= most[one]
                    continue
                each = (price - dearest) // max(1, partners)
                for other, charges in enumerate(share):
                    if other != one:
                        share[one][other] -= each
                        charges[one] += each


def _with(numbers: tuple[int, ...], place: int, number: int) -> tuple[int, ...]:
    return (*numbers[:place], number, *numbers[place + 1 :])
