"""Which devices a container gets: near its affinity first, as the plugin prefers where it has a choice."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from numaproof.harness.providers.devices.hints import affinities
from numaproof.harness.providers.devices.inventory import Inventory
from numaproof.harness.topology.bitmask import EMPTY, NodeMask
from numaproof.harness.topology.provider import AllocationError

# (available, must include, size) -> what the plugin would take; empty if it has no opinion.
Ask = Callable[[Collection[str], Collection[str], int], Collection[str]]
# The same question -> every set that the plugin would gladly see taken, best first; each answers the question.
AskSets = Callable[[Collection[str], Collection[str], int], Sequence[frozenset[str]]]


class Split(NamedTuple):
    """Devices by where they are: on a node of the affinity, on other nodes only, on none."""

    aligned: frozenset[str]
    unaligned: frozenset[str]
    nowhere: frozenset[str]


def split_by_affinity(inventory: Inventory, ids: Iterable[str], affinity: NodeMask | None) -> Split:
    """With no affinity, or a resource without topology, every device is as good as on no node."""
    everything = frozenset(ids)
    if affinity is None or not inventory.has_topology:
        return Split(frozenset(), frozenset(), everything)
    masks = inventory.masks
    aligned = frozenset(device_id for device_id in everything if masks.get(device_id, EMPTY) & affinity)
    others = everything - aligned
    nowhere = frozenset(filter(inventory.is_nowhere, others))
    return Split(aligned, others - nowhere, nowhere)


def choose(
    resource: str,
    inventory: Inventory,
    required: int,
    *,
    reusable: Collection[str],
    in_use: Collection[str],
    affinity: NodeMask | None,
    ask_sets: AskSets,
    ask: Ask,
) -> frozenset[str]:
    """Reusable devices first, then aligned ones, then any; where the kubelet picks at random, the lowest ids.

    Of the sets that the plugin likes, first come those that have the decided affinity, then those that leave out no
    device that the affinity asks for. The plugin's one set counts where none of them will do.
    """
    chosen = set(sorted(reusable)[:required])
    if len(chosen) == required:
        return frozenset(chosen)
    available = (inventory.healthy or frozenset()).difference(in_use, chosen)
    needed = required - len(chosen)
    if len(available) < needed:
        raise AllocationError(
            f"requested number of devices unavailable for {resource}. Requested: {needed}, Available: {len(available)}",
            resource,
        )
    split = split_by_affinity(inventory, available, affinity)
    if len(split.aligned) == needed:
        return frozenset(chosen | split.aligned)
    liked = ask_sets(available.union(chosen), chosen, required)
    for ids in liked:
        if affinity in affinities(inventory, ids):
            return ids
    pools: tuple[frozenset[str], ...]
    if needed < len(split.aligned):
        choice, pools = split.aligned, (split.aligned,)
    else:
        chosen |= split.aligned
        choice, pools = available, (split.unaligned, split.nowhere)
    for ids in liked:
        if chosen <= ids <= choice.union(chosen):
            return ids
    preferred = choice.intersection(ask(choice.union(chosen), chosen, required))
    for pool in (preferred, *pools):
        chosen.update(sorted(pool - chosen)[: required - len(chosen)])
    return frozenset(chosen)
