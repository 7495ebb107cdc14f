"""Where a request for devices fits, and which of those places are preferred."""

from collections import Counter
from collections.abc import Collection, Iterable

from numaproof.harness.providers.devices.inventory import Inventory
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, mask_of
from numaproof.harness.topology.hints import Demand, HintFamily
from numaproof.harness.topology.mask_search import smallest_size


def device_family(
    inventory: Inventory, machine: Collection[int], available: Iterable[str], reusable: Iterable[str], request: int
) -> HintFamily | None:
    """Every mask that touches enough available devices and each reusable one; None if there is none.

    Only nodes that host devices of the resource are looked at. Preferred are masks as small as the request needs
    with all devices free and healthy.
    """
    known = mask_of(machine)
    everything = inventory.places(inventory.devices)
    nodes = NodeMask(_union(everything) & known) or known
    inherited = [inventory.nodes(device_id) for device_id in reusable if inventory.sends_topology(device_id)]
    demands = (
        Demand(request - len(inherited), _supply(inventory.places(available), nodes)),
        *(Demand(1, _supply({mask: 1}, nodes)) for mask in inherited),
    )
    fewest = smallest_size(nodes, (Demand(request, _supply(everything, nodes)),))
    family = HintFamily(nodes, demands, fewest or nodes.bit_count())
    return family if family.accepts(nodes) else None


def _supply(devices: dict[NodeMask, int], nodes: NodeMask) -> tuple[tuple[NodeMask, int], ...]:
    """How many devices there are by the nodes that they touch, within the given ones."""
    within: Counter[NodeMask] = Counter()
    for mask, number in devices.items():
        within[NodeMask(mask & nodes)] += number
    return tuple(sorted((mask, number) for mask, number in within.items() if mask))


def _union(masks: Iterable[NodeMask]) -> NodeMask:
    nodes = EMPTY
    for mask in masks:
        nodes = NodeMask(nodes | mask)
    return nodes


def affinities(inventory: Inventory, ids: Iterable[str]) -> frozenset[NodeMask]:
    """The NUMA affinity of a set of devices: the narrowest masks that touch each of them.

    That is one mask, the union, unless devices sit on several nodes at once; devices without topology do not matter.
    """
    occupied = inventory.places(ids).keys() - {EMPTY}
    found = {EMPTY}
    for nodes in sorted(occupied, key=lambda mask: (mask.bit_count(), mask)):
        found = {
            wider
            for mask in found
            for wider in ([mask] if mask & nodes else [NodeMask(mask | 1 << node) for node in ids_of(nodes)])
        }
    fewest = min(mask.bit_count() for mask in found)
    return frozenset(mask for mask in found if mask and mask.bit_count() == fewest)
