"""Where a request for CPUs can be satisfied: the CPU manager's topology hints."""

from collections.abc import Sequence

from numaproof.harness.providers.cpu.sets import CpuSet
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.bitmask import NodeMask, mask_of
from numaproof.harness.topology.hints import ENUMERATED_NODES, Demand, HintFamily, TopologyHint


def cpu_hints(
    topology: CpuTopology, available: CpuSet, reusable: CpuSet, count: int, *, align_by_socket: bool = False
) -> Sequence[TopologyHint] | HintFamily:
    """A hint for every set of NUMA nodes that has the CPUs; it must hold all reusable ones, needed or not."""
    members = topology.groups[Level.NODE]
    free = tuple((mask_of((node,)), (members[node] & available).bit_count()) for node in topology.nodes)
    compulsory = tuple(mask_of((node,)) for node in topology.nodes if members[node] & reusable)
    demands = (
        Demand(count - reusable.bit_count(), free),
        *(Demand(1, ((mask, 1),)) for mask in compulsory),
    )
    smallest = _smallest_size(topology, count)
    sockets = _sockets(topology) if align_by_socket else ()
    nodes_per_socket = len(topology.nodes) // len(topology.groups[Level.SOCKET])
    family = HintFamily(
        nodes=mask_of(topology.nodes),
        demands=demands,
        preferred_size=smallest,
        sockets=sockets if nodes_per_socket else (),
        preferred_sockets=-(-smallest // nodes_per_socket) if nodes_per_socket else 0,
    )
    if not family.accepts(family.nodes):
        return []
    return family if len(topology.nodes) > ENUMERATED_NODES else list(family.hints())


def _smallest_size(topology: CpuTopology, count: int) -> int:
    """The fewest nodes that have so many CPUs, taken or not, reserved or not."""
    held = 0
    sizes = sorted((group.bit_count() for group in topology.groups[Level.NODE].values()), reverse=True)
    for number, size in enumerate(sizes, start=1):
        held += size
        if held >= count:
            return number
    return len(sizes)


def _sockets(topology: CpuTopology) -> tuple[NodeMask, ...]:
    """The NUMA nodes of each socket."""
    nodes = topology.groups[Level.NODE]
    return tuple(
        mask_of(node for node, cpus in nodes.items() if cpus & socket)
        for socket in topology.groups[Level.SOCKET].values()
    )
