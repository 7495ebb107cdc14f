"""Where a refused pod nearly fits: the NUMA nodes that lack least of what it asks for, and what they lack."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.places import Place, place_of, places
from numaproof.harness.explain.stock import Stock
from numaproof.harness.topology.bitmask import NodeMask, ids_of, mask_of
from numaproof.harness.topology.placement import Step


@dataclass(frozen=True, slots=True)
class Amount:
    """What is wanted of a resource, and what some NUMA nodes have free of it."""

    resource: str
    wanted: int
    free: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """The NUMA nodes that lack least."""

    nodes: tuple[int, ...]  # empty: the machine as a whole has too little
    lacking: tuple[Amount, ...]  # the scarcest first; empty: there is enough of everything
    enough: tuple[Amount, ...]
    cannot: tuple[str, ...] = ()  # resources with enough free there that are not given from these nodes alone
    fewer: tuple[str, ...] = ()  # resources that would need fewer NUMA nodes


def nearest(explanation: Explanation) -> Nearest | None:
    """Where a refused pod nearly fits; None: it is admitted, or no NUMA node has a part in the refusal."""
    trace = explanation.trace
    stocks = [one for one in explanation.attempt.stocks.values() if one.wanted]
    if trace.verdict.admitted or trace.shortage or trace.broken_rule or not stocks:
        return None
    node_ids = explanation.replica.setup.description.node_ids
    if trace.failure is not None:
        return _as_a_whole(stocks, node_ids)
    if not trace.steps or trace.steps[-1].selection is not None:
        return None
    step = trace.steps[-1]
    size = 1 if step.decision.rule == "single" else _fewest(stocks, len(node_ids))
    if size > len(node_ids):
        return _as_a_whole(stocks, node_ids)
    masks = [mask_of([node]) for node in node_ids] if size == 1 else _sets(step, stocks, node_ids, size)
    lacks = {mask: _lack(_amounts(stocks, ids_of(mask))) for mask in masks}
    least = min(lacks.values())
    place = min((place_of(step, mask) for mask in masks if lacks[mask] == least), key=_dislike)
    amounts = _amounts(stocks, ids_of(place.nodes))
    lacking = _lacking(amounts)
    scarce = {one.resource for one in lacking}
    return Nearest(
        ids_of(place.nodes),
        lacking,
        tuple(one for one in amounts if one not in lacking),
        tuple(one for one in place.refused_by if one not in scarce),
        tuple(one for one in place.accepted_by if one not in scarce),
    )


def _as_a_whole(stocks: Iterable[Stock], node_ids: Sequence[int]) -> Nearest | None:
    # An allocation takes what it finds, of whatever NUMA node, or of none.
    amounts = _amounts(stocks, node_ids, anywhere=True)
    lacking = _lacking(amounts)
    return Nearest((), lacking, tuple(one for one in amounts if one not in lacking)) if lacking else None


def _amounts(stocks: Iterable[Stock], nodes: Iterable[int], *, anywhere: bool = False) -> tuple[Amount, ...]:
    """What some NUMA nodes have free; with what belongs to none where that counts: `anywhere`, or if all does."""
    ids = tuple(nodes)
    return tuple(
        Amount(
            one.resource,
            one.wanted,
            sum(one.free.get(node, 0) for node in ids) + (one.nowhere if anywhere or not one.total else 0),
        )
        for one in stocks
    )


def _lacking(amounts: Iterable[Amount]) -> tuple[Amount, ...]:
    return tuple(sorted((one for one in amounts if one.free < one.wanted), key=lambda one: one.free / one.wanted))


def _lack(amounts: Iterable[Amount]) -> float:
    """What is missing, each resource as a share of what is wanted of it."""
    return sum(1 - one.free / one.wanted for one in _lacking(amounts))


def _dislike(place: Place) -> tuple[int, int, NodeMask]:
    return len(place.refused_by), len(place.accepted_by), place.nodes


def _fewest(stocks: Iterable[Stock], nodes: int) -> int:
    """How many NUMA nodes have what is wanted if nobody else has any; one more than there are: all have too little."""
    found = 1
    for stock in stocks:
        left, number = stock.wanted - (0 if stock.total else stock.nowhere), 0
        for most in sorted(stock.most.values(), reverse=True):
            if left <= 0:
                break
            left, number = left - most, number + 1
        if left > 0:
            return nodes + 1
        found = max(found, number)
    return found


def _sets(step: Step, stocks: Sequence[Stock], node_ids: Sequence[int], size: int) -> list[NodeMask]:
    """Sets of so many NUMA nodes: those that mattered, and the one that has most of everything."""

    def has(node: int) -> float:
        return sum(min(one.free.get(node, 0) / one.wanted, 1) for one in stocks)

    richest = sorted(node_ids, key=lambda node: (-has(node), node))[:size]
    found = {place.nodes for place in places(step) if place.nodes.bit_count() == size}
    return sorted({*found, mask_of(richest)})
