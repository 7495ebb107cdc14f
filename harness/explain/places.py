"""The sets of NUMA nodes that mattered in a decision, and what each resource said to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.topology.bitmask import NodeMask, ids_of
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.mask_search import lowest_mask, smallest_size
from numaproof.harness.topology.placement import Step

ResourceHints = Sequence[TopologyHint] | HintFamily | None

_MOST_PLACES = 8
_NARROWEST = 4  # sets that each resource has a say in


@dataclass(frozen=True, slots=True)
class Place:
    """A set of NUMA nodes, with the resources that prefer it, that accept it only, and that have no hint for it."""

    nodes: NodeMask
    preferred_by: tuple[str, ...]
    accepted_by: tuple[str, ...]
    refused_by: tuple[str, ...]


def said_in(step: Step) -> dict[str, ResourceHints]:
    """What was said of every resource, in the order in which providers were asked."""
    return {resource: hints for provider in step.hints.values() for resource, hints in provider.items()}


def places(step: Step) -> tuple[Place, ...]:
    """The chosen set of NUMA nodes and those that resources wanted, the ones that suit most resources first."""
    said = said_in(step)
    masks = {mask for hints in said.values() for mask in _narrowest(hints)}
    if step.decision.hint.affinity:
        masks.add(step.decision.hint.affinity)
    found = [_place(mask, said) for mask in masks]
    found.sort(key=lambda one: (len(one.refused_by), len(one.accepted_by), one.nodes.bit_count(), one.nodes))
    return tuple(found[:_MOST_PLACES])


def place_of(step: Step, mask: NodeMask) -> Place:
    """What each resource said to a set of NUMA nodes."""
    return _place(mask, said_in(step))


def some_hints(hints: ResourceHints) -> tuple[TopologyHint, ...]:
    """The hints of a resource or, of more than can be listed, those of the fewest NUMA nodes."""
    if not isinstance(hints, HintFamily):
        return tuple(hints or ())
    single = (*hints.also, *hints.single_nodes())
    if single:
        return tuple(dict.fromkeys(single))
    size = smallest_size(hints.nodes, hints.demands)
    mask = lowest_mask(hints.nodes, size, hints.demands) if size else None
    return () if mask is None else (TopologyHint(mask, hints.prefers(mask)),)


def _narrowest(hints: ResourceHints) -> Iterator[NodeMask]:
    masks = sorted(
        {hint.affinity for hint in some_hints(hints) if hint.affinity}, key=lambda one: (one.bit_count(), one)
    )
    yield from masks[:_NARROWEST]


def _place(mask: NodeMask, said: dict[str, ResourceHints]) -> Place:
    sorts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for resource, hints in said.items():
        sorts[_liking(hints, mask)].append(resource)
    return Place(mask, *map(tuple, sorts))


def _liking(hints: ResourceHints, mask: NodeMask) -> int:
    """0: the resource prefers the nodes, 1: it accepts them, 2: it has no hint for them."""
    if hints is None:
        return 0
    if isinstance(hints, HintFamily):
        liked = [hint for hint in hints.also if hint.affinity == mask]
        liked += [TopologyHint(mask, hints.prefers(mask))] if hints.accepts(mask) else []
    else:
        liked = [hint for hint in hints if hint.affinity in (mask, None)]
    if not liked:
        return 2
    return 0 if any(hint.preferred for hint in liked) else 1


def mask_text(mask: NodeMask | None) -> str:
    """NUMA nodes as sentences name them."""
    if mask is None:
        return "any NUMA node"
    return nodes_text(ids_of(mask))


def nodes_text(ids: Sequence[int]) -> str:
    """NUMA nodes as sentences name them; several belong together."""
    if len(ids) == 1:
        return f"NUMA node {ids[0]}"
    return f"NUMA nodes {'+'.join(map(str, ids)) if len(ids) == 2 else format_cpulist(ids)}"
