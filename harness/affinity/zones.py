"""A node's NUMA nodes as others may see them: what each has, what of it pods may have, and what is left."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.harness.decision.fit import Amounts
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import MEMORY, Reservations, usable_memory

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Zone:
    """One NUMA node; amounts are by resource: thousandths of cpu, bytes, counts of devices."""

    id: int
    cpus: frozenset[int]  # online ones
    reserved_cpus: frozenset[int]  # the host's
    capacity: Amounts
    allocatable: Amounts  # capacity less what is reserved; what pods hold is not taken off
    distances: Mapping[int, int] = field(default_factory=dict)  # to every NUMA node, as the kernel tells them

    @property
    def pod_cpus(self) -> frozenset[int]:
        """The CPUs that pods may have."""
        return self.cpus - self.reserved_cpus


def zones_of(machine: NodeDescription, reservations: Reservations) -> tuple[Zone, ...]:
    """The zones of a machine, in the order of their ids; those without CPUs too."""
    cpus: dict[int, set[int]] = {node: set() for node in machine.node_ids}
    for cpu, _core, _cache, node, _socket in machine.cpu_rows:
        cpus.setdefault(node, set()).add(cpu)
    memory = {node.id: node for node in machine.memory_nodes}
    zones = []
    for node in sorted({*cpus, *memory}):
        own = frozenset(cpus.get(node, ()))
        reserved = own & reservations.cpus
        capacity = {CPU: 1000 * len(own)}
        if node in memory:
            pages = memory[node].hugepages
            capacity |= {name: usable_memory(memory[node].memory, pages, name) for name in (MEMORY, *sorted(pages))}
        kept = {CPU: 1000 * len(reserved), **reservations.memory.get(node, {})}
        allocatable = {name: max(amount - kept.get(name, 0), 0) for name, amount in capacity.items()}
        distances = machine.distances.get(node, {})
        told = distances if isinstance(distances, Mapping) else dict(enumerate(distances))
        zones.append(Zone(node, own, reserved, capacity, allocatable, dict(told)))
    return tuple(zones)
