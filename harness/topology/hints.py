"""Topology hints: what a provider says about where a request can be satisfied."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, listed_masks

# Up to so many nodes a provider lists every mask (255 of them); over more it answers with a HintFamily.
ENUMERATED_NODES = 8


class TopologyHint(NamedTuple):
    """A set of NUMA nodes on which the request fits, and whether that set is as small as can be."""

    affinity: NodeMask | None  # None: any node will do
    preferred: bool


ANY_NODE = TopologyHint(None, True)  # no opinion
IMPOSSIBLE = TopologyHint(None, False)  # nowhere, but that is for the allocation to say


@dataclass(frozen=True, slots=True)
class Demand:
    """A need that a mask meets when what it touches of `supply` adds up to it.

    A supply item is (nodes, amount): a mask with at least one of the nodes holds the amount. So a device of two nodes
    counts once, and "must include node 3" is the demand of 1 on the supply `((1 << 3, 1),)`.
    """

    need: int
    supply: tuple[tuple[NodeMask, int], ...]

    def held(self, mask: NodeMask) -> int:
        """What a mask holds of the supply."""
        return sum(amount for nodes, amount in self.supply if nodes & mask)

    def held_by_all(self, ids: Sequence[int]) -> dict[NodeMask, int]:
        """What every mask over the nodes holds, by adding one node after another to all masks so far."""
        held = {EMPTY: 0}
        for node in ids:
            bit = NodeMask(1 << node)
            amount = sum(amount for nodes, amount in self.supply if nodes == bit)
            held |= {NodeMask(mask | bit): before + amount for mask, before in held.items()}
        for nodes, amount in self.supply:
            if nodes & (nodes - 1):
                held = {mask: before + amount if mask & nodes else before for mask, before in held.items()}
        return held


@dataclass(frozen=True, slots=True)
class HintFamily:
    """The hints of a resource over many nodes, by rule instead of by list: one hint for every non-empty mask over
    `nodes` that meets all demands. Every superset (within `nodes`) of such a mask is one too, by construction.
    """

    nodes: NodeMask
    demands: tuple[Demand, ...]
    preferred_size: int  # masks of this many nodes are preferred
    sockets: tuple[NodeMask, ...] = ()  # with align-by-socket, so are those that touch ...
    preferred_sockets: int = 0  # ... exactly this many sockets
    preferred_masks: frozenset[NodeMask] | None = None  # given: exactly these are preferred, whatever their size
    also: tuple[TopologyHint, ...] = ()  # single hints outside the rule

    def accepts(self, mask: NodeMask) -> bool:
        """Whether the rule has a hint with this mask (`also` not looked at)."""
        if not mask or mask & ~self.nodes:
            return False
        return all(demand.held(mask) >= demand.need for demand in self.demands)

    def prefers(self, mask: NodeMask) -> bool:
        """Whether the rule's hint with this mask, if there is one, is preferred."""
        if self.preferred_masks is not None:
            return mask in self.preferred_masks
        if self.sockets and sum(1 for socket in self.sockets if socket & mask) == self.preferred_sockets:
            return True
        return mask.bit_count() == self.preferred_size

    def single_nodes(self) -> Iterator[TopologyHint]:
        """The hints of one node only."""
        yield from (hint for hint in self.also if hint.affinity is not None and hint.affinity.bit_count() == 1)
        for node in ids_of(self.nodes):
            mask = NodeMask(1 << node)
            if self.accepts(mask):
                yield TopologyHint(mask, self.prefers(mask))

    def hints(self) -> Iterator[TopologyHint]:
        """Every hint, listed: 2**nodes of work, so for few nodes only."""
        yield from self.also
        ids = ids_of(self.nodes)
        tables = [(demand.held_by_all(ids), demand.need) for demand in self.demands]
        for mask in listed_masks(ids):
            for held, need in tables:  # an inner loop of every decision: `all` takes twice as long
                if held[mask] < need:
                    break
            else:
                yield TopologyHint(mask, self.prefers(mask))


# By resource name. None: no preference; an empty list: impossible; an empty mapping: no opinion at all.
Hints = Mapping[str, Sequence[TopologyHint] | HintFamily | None]
