"""Merging on machines of many nodes, where hints are families given by rule and no one can list them.

The answers are those of the listed hints. What makes them findable: a family contains every superset of its masks.
So an AND of one mask of each is exactly `mask` if every other node of their common nodes can be left out by at least
one of the families, which then still meets its demands with all the nodes that it was not told to leave out.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import comb, inf
from operator import ge, sub

from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, mask_of
from numaproof.harness.topology.hints import Demand, HintFamily
from numaproof.harness.topology.mask_search import MaskSearch

Order = Callable[[NodeMask], tuple[int, ...]]
State = tuple[NodeMask, tuple[HintFamily, ...]]  # the nodes in common so far, and whose rules are still to be ANDed

# How many masks of one size are compared by distance, lowest values first: on up to 16 nodes all of them (12,870 of 8
# nodes), on more all pairs of 64 nodes, and of wider masks as many.
_COMPARED_OF_FEW = 12_870
_COMPARED_OF_MANY = 2_016
# How often a merge may decide which family leaves a node out. Past it, only wider masks than need be are found.
_STEPS = 50_000


def best_preferred(
    families: Sequence[HintFamily], bound: Sequence[Collection[NodeMask]], order: Order, *, closest: bool
) -> NodeMask | None:
    """The best mask that all families prefer and that is in every set of `bound`."""
    if bound:
        common = set.intersection(*map(set, bound))
        return _best((mask for mask in common if _all_prefer(families, mask)), order)
    single = {hint.affinity for family in families for hint in family.also if hint.preferred and hint.affinity}
    for family in families:
        single |= family.preferred_masks or set()
    best = _best((mask for mask in single if _all_prefer(families, mask)), order)
    by_rule = _preferred_by_rule(families, order, closest=closest)
    return _best((mask for mask in (best, by_rule) if mask), order)


def best_reachable(
    found: Iterable[NodeMask], families: Sequence[HintFamily], sizes: Iterable[int], order: Order, *, closest: bool
) -> NodeMask | None:
    """The best AND of one of the masks `found` and one mask of each family: of the first of `sizes` that has any."""
    states = _states(found, families)
    budget = _Budget(_STEPS)
    for size in sizes:
        best = None
        for nodes, rules in states:
            if nodes.bit_count() < size:
                continue
            mask = _lowest_and(nodes, rules, size, order if closest else None, budget)
            best = _best((each for each in (best, mask) if each), order)
        if best:
            return best
    return None


def _best(masks: Iterable[NodeMask], order: Order) -> NodeMask | None:
    return min((mask for mask in masks if mask), key=order, default=None)


def _all_prefer(families: Iterable[HintFamily], mask: NodeMask) -> bool:
    return all(
        (family.accepts(mask) and family.prefers(mask))
        or any(hint.preferred and hint.affinity == mask for hint in family.also)
        for family in families
    )


def _preferred_by_rule(families: Sequence[HintFamily], order: Order, *, closest: bool) -> NodeMask | None:
    nodes = reduce(lambda left, right: NodeMask(left & right), (family.nodes for family in families))
    sizes: Collection[int] = {family.preferred_size for family in families if not family.sockets}
    if len(sizes) > 1:
        return None  # each wants another size: no mask is preferred by all
    # Widest search last: with align-by-socket alone, a preferred mask may have any size.
    sizes = sizes or range(1, nodes.bit_count() + 1)
    search = MaskSearch(nodes, [demand for family in families for demand in family.demands])
    for size in sizes:
        masks = (mask for mask in search.masks(size, limit=_compared(nodes)) if _all_prefer(families, mask))
        best = _best(masks, order) if closest else next(masks, None)
        if best is not None:
            return best
    return None


def _states(found: Iterable[NodeMask], families: Sequence[HintFamily]) -> set[State]:
    states: set[State] = {(mask, ()) for mask in found}
    for family in families:
        singles = {hint.affinity for hint in family.also if hint.affinity is not None}
        following: set[State] = {(NodeMask(nodes & mask), rules) for nodes, rules in states for mask in singles}
        if family.accepts(family.nodes):
            following |= {(NodeMask(nodes & family.nodes), (*rules, family)) for nodes, rules in states}
        states = following
    return {state for state in states if state[0]}


def _lowest_and(
    nodes: NodeMask, rules: Sequence[HintFamily], size: int, order: Order | None, budget: "_Budget"
) -> NodeMask | None:
    """The lowest-valued (with `order`: the best) mask of `size` that is `nodes` ANDed with one mask of each rule."""
    if not rules:
        return nodes if nodes.bit_count() == size else None
    if len(rules) == 1:
        masks = MaskSearch(nodes, _beyond(rules[0], nodes)).masks(size, limit=_compared(nodes))
        return next(masks, None) if order is None else _best(masks, order)
    keepers = [_Keeper(rule) for rule in rules]
    if order is None:
        return next(_masks_left(nodes, keepers, size, budget), None)
    for mask in sorted(_some_masks(nodes, size), key=order):
        if budget.spent:
            break
        if _can_leave(NodeMask(nodes & ~mask), keepers, budget):
            return mask
    if comb(nodes.bit_count(), size) <= _compared(nodes):
        return None
    return next(_masks_left(nodes, keepers, size, budget), None)


def _compared(nodes: NodeMask) -> int:
    return _COMPARED_OF_FEW if nodes.bit_count() <= 16 else _COMPARED_OF_MANY


def _beyond(family: HintFamily, nodes: NodeMask) -> list[Demand]:
    """What is left of a family's demands when it keeps all its nodes outside of `nodes`."""
    kept = NodeMask(family.nodes & ~nodes)
    return [
        Demand(demand.need - demand.held(kept), tuple(item for item in demand.supply if not item[0] & kept))
        for demand in family.demands
    ]


def _some_masks(nodes: NodeMask, size: int) -> Iterator[NodeMask]:
    bits = [1 << node for node in ids_of(nodes)]
    for _, chosen in zip(range(_compared(nodes)), combinations(bits, size), strict=False):
        yield NodeMask(sum(chosen))


def _masks_left(nodes: NodeMask, keepers: Sequence["_Keeper"], size: int, budget: "_Budget") -> Iterator[NodeMask]:
    """The masks of `size` whose other nodes can be left out, ascending: the highest nodes are left out first."""
    ids = ids_of(nodes)
    lowest = mask_of(ids[:size])
    if _can_leave(NodeMask(nodes & ~lowest), keepers, budget):
        yield lowest
    stack = [(len(ids), EMPTY)]  # nodes still open, nodes to be left out
    while stack and not budget.spent:
        position, left = stack.pop()
        if not _can_leave(left, keepers, budget):
            continue
        if len(ids) - left.bit_count() == size:
            yield NodeMask(nodes & ~left)
        elif position:
            stack.append((position - 1, left))
            stack.append((position - 1, NodeMask(left | 1 << ids[position - 1])))


class _Budget:
    """Steps that a merge has left."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    @property
    def spent(self) -> bool:
        return self.steps <= 0


Stock = tuple[int, ...]


class _Keeper:
    """Does a family's accounts while nodes are left out: its stock is what it keeps of each demand's supply."""

    def __init__(self, family: HintFamily) -> None:
        self._family = family
        self._needs = tuple(demand.need for demand in family.demands)
        bits = [NodeMask(1 << node) for node in ids_of(family.nodes)]
        self._amounts = {bit: tuple(demand.held(bit) for demand in family.demands) for bit in bits}
        # An item of several nodes is lost with the last of them only: there the stock is the mask of kept nodes.
        self._by_mask = any(nodes & (nodes - 1) for demand in family.demands for nodes, _ in demand.supply)
        held = tuple(demand.held(family.nodes) for demand in family.demands)
        self.stock: Stock = (family.nodes,) if self._by_mask else held

    def is_indifferent(self, bit: NodeMask) -> bool:
        """Whether leaving the node out costs the family nothing."""
        return not any(self._amounts.get(bit, ()))

    def without(self, stock: Stock, bit: NodeMask) -> Stock | None:
        """The stock without a node; None if that is too little."""
        if self._by_mask:
            kept = NodeMask(stock[0] & ~bit)
            return (kept,) if self._family.accepts(kept) else None
        rest = tuple(map(sub, stock, self._amounts[bit]))
        return rest if all(map(ge, rest, self._needs)) else None

    def slack(self, stock: Stock) -> float:
        """How much more than it needs the family has, in its scarcest demand."""
        held = tuple(demand.held(NodeMask(stock[0])) for demand in self._family.demands) if self._by_mask else stock
        shares = (have / need for have, need in zip(held, self._needs, strict=True) if need > 0)
        return min(shares, default=inf)


def _can_leave(left: NodeMask, keepers: Sequence[_Keeper], budget: _Budget) -> bool:
    """Whether every node of `left` can be left out by one of the families, all of which still meet their demands."""
    budget.steps -= 1
    bits = [NodeMask(1 << node) for node in ids_of(left)]
    contested = [bit for bit in bits if not any(keeper.is_indifferent(bit) for keeper in keepers)]
    return _Assignment(contested, keepers, budget).possible(0, [keeper.stock for keeper in keepers])


class _Assignment:
    """Finds for each contested node a family that can do without it, trying the one with the most to spare first."""

    def __init__(self, contested: Sequence[NodeMask], keepers: Sequence[_Keeper], budget: _Budget) -> None:
        self._contested = contested
        self._keepers = keepers
        self._budget = budget
        self._failed: set[tuple[object, ...]] = set()  # nodes alike lead to the same stock in many ways

    def possible(self, done: int, stocks: Sequence[Stock]) -> bool:
        """Whether the nodes from the `done`-th on can be left out by families that have these stocks."""
        if done == len(self._contested):
            return True
        state = (done, *stocks)
        if state in self._failed:
            return False
        choices = []
        for index, keeper in enumerate(self._keepers):
            rest = keeper.without(stocks[index], self._contested[done])
            if rest is not None:
                choices.append((-keeper.slack(rest), index, rest))
        for _, index, rest in sorted(choices):
            self._budget.steps -= 1
            if self._budget.spent:
                return False
            if self.possible(done + 1, [*stocks[:index], rest, *stocks[index + 1 :]]):
                return True
        self._failed.add(state)
        return False
