"""Searching masks by size and demands without listing them: what machines of many nodes need."""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of
from numaproof.harness.topology.hints import Demand

# How many branches one search may enter. No search over up to 16 nodes that was ever met comes near; past it the
# search says what it found so far, because deciding exactly is a knapsack problem of 64 items.
SEARCH_STEPS = 100_000


def smallest_size(nodes: NodeMask, demands: Sequence[Demand]) -> int | None:
    """The fewest of the nodes that together meet all demands, at least one; None if all of them do not."""
    if not nodes or any(demand.held(nodes) < demand.need for demand in demands):
        return None
    if len(demands) == 1 and all(held.bit_count() == 1 for held, _ in demands[0].supply):
        return _fewest_richest(nodes, demands[0])
    search = MaskSearch(nodes, demands)
    return next((size for size in range(1, nodes.bit_count()) if search.lowest(size)), nodes.bit_count())


def _fewest_richest(nodes: NodeMask, demand: Demand) -> int:
    """How many nodes meet one demand, the richest first, where no supply is of several nodes."""
    amounts = dict.fromkeys(ids_of(nodes), 0)
    for mask, amount in demand.supply:
        if mask & nodes:
            amounts[mask.bit_length() - 1] += amount
    together = accumulate(sorted(amounts.values(), reverse=True))
    return next(size for size, held in enumerate(together, 1) if held >= demand.need)


def lowest_mask(nodes: NodeMask, size: int, demands: Sequence[Demand]) -> NodeMask | None:
    """The lowest-valued mask of exactly `size` of the nodes that meets all demands, if there is one."""
    return MaskSearch(nodes, demands).lowest(size)


class MaskSearch:
    """Finds the masks over some nodes that meet some demands, in ascending order of value."""

    def __init__(self, nodes: NodeMask, demands: Sequence[Demand]) -> None:
        self._ids = ids_of(nodes)
        open_demands = [demand for demand in demands if demand.need > 0]
        self._bounds = [_Bound(self._ids, demand) for demand in open_demands]
        if len(open_demands) > 1:
            self._bounds.append(_Bound(self._ids, _all_at_once(self._ids, open_demands)))

    def lowest(self, size: int) -> NodeMask | None:
        """The lowest-valued mask of exactly `size` nodes that meets the demands."""
        return next(self.masks(size), None)

    def masks(self, size: int, limit: int | None = None) -> Iterator[NodeMask]:
        """The masks of exactly `size` nodes that meet the demands, ascending; with `limit`, so many.

        Decides from the highest node down whether to leave a node out, and cuts every branch in which even the richest
        remaining nodes cannot meet a demand: with one demand on single nodes no branch is entered in vain.
        """
        if not 1 <= size <= len(self._ids):
            return
        # (open nodes, chosen so far, still wanted); the branch that leaves the highest open node out is on top.
        stack = [(len(self._ids), EMPTY, size)]
        found = 0
        for _ in range(SEARCH_STEPS):
            if not stack:
                return
            position, chosen, wanted = stack.pop()
            if not all(bound.reachable(position, chosen, wanted) for bound in self._bounds):
                continue
            if wanted == 0:
                yield chosen
                found += 1
                if found == limit:
                    return
                continue
            stack.append((position - 1, NodeMask(chosen | 1 << self._ids[position - 1]), wanted - 1))
            if wanted < position:
                stack.append((position - 1, chosen, wanted))


class _Bound:
    """For one demand: whether `wanted` more of the lowest `position` nodes may still meet it."""

    def __init__(self, ids: Sequence[int], demand: Demand) -> None:
        self._demand = demand
        # An item of several nodes counts for each of them: never too little, so no mask is missed.
        amounts = [demand.held(NodeMask(1 << node)) for node in ids]
        self._most: list[list[int]] = []
        for position in range(len(ids) + 1):
            running = [0]
            for amount in sorted(amounts[:position], reverse=True):
                running.append(running[-1] + amount)
            self._most.append(running)

    def reachable(self, position: int, chosen: NodeMask, wanted: int) -> bool:
        missing = self._demand.need - self._most[position][wanted]
        return missing <= 0 or self._demand.held(chosen) >= missing


def _all_at_once(ids: Sequence[int], demands: Sequence[Demand]) -> Demand:
    """A demand that whoever meets all of the demands meets as well: their shares of the need, added up.

    It sees what the single ones do not: that memory here and hugepages there need nodes of both kinds.
    """
    whole = math.lcm(*(demand.need for demand in demands))
    supply = []
    for node in ids:
        mask = NodeMask(1 << node)
        share = sum(min(demand.held(mask), demand.need) * (whole // demand.need) for demand in demands)
        supply.append((mask, share))
    return Demand(whole * len(demands), tuple(supply))
