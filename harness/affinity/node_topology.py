"""A node's NUMA topology at one moment, with what is left of each NUMA node: what schedulers are told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numaproof.harness.affinity.ledger import Shares
from numaproof.harness.affinity.zones import CPU, Zone
from numaproof.harness.decision.fit import Amounts
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.devices import Device


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """A NUMA node; amounts are by resource: thousandths of cpu, bytes, counts of devices."""

    id: int
    cpu_set: frozenset[int]
    capacity: Amounts
    allocatable: Amounts
    available: Amounts
    costs: Mapping[int, int]  # to every NUMA node: the kernel's distances


@dataclass(frozen=True, slots=True)
class NodeTopology:
    """A node as far as placing pods on its NUMA nodes asks for it."""

    name: str
    policy: str  # of the Topology Manager
    scope: str
    zones: tuple[ZoneStatus, ...]  # in the order of their ids
    taints: tuple[Taint, ...] = ()
    left: Amounts | None = None  # of the node as a whole, beside the requests of its pods; None: what its zones have
    unaligned: frozenset[str] = frozenset()  # cpu, memory: told by zones, and aligned by no manager


@dataclass(frozen=True, slots=True)
class DeviceStock:
    """The devices of one resource."""

    listed: tuple[Device, ...]
    healthy: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()


def zone_statuses(
    zones: Iterable[Zone], used: Shares, devices: Mapping[str, DeviceStock] | None = None
) -> tuple[ZoneStatus, ...]:
    """Every zone with what is left of it. A device of several NUMA nodes counts on each, one of none nowhere."""
    statuses = []
    for zone in zones:
        taken = used.get(zone.id, {})
        capacity, allocatable = dict(zone.capacity), dict(zone.allocatable)
        # Of memory that a kubelet takes for endless, for too much is reserved, pods may have more than there is.
        available = {name: max(amount - taken.get(name, 0), 0) for name, amount in allocatable.items()}
        for resource, stock in sorted((devices or {}).items()):
            here = frozenset(one.id for one in stock.listed if zone.id in (one.numa or ()))
            if here:
                capacity[resource] = len(here)
                # One that fell ill in a pod's hands is that pod's still.
                allocatable[resource] = len(here & (stock.healthy | stock.held))
                available[resource] = len(here & stock.healthy - stock.held)
        statuses.append(ZoneStatus(zone.id, zone.cpus, capacity, allocatable, available, zone.distances))
    return tuple(statuses)


def quantity_text(resource: str, amount: int) -> str:
    """An amount as a Kubernetes quantity."""
    if resource != CPU:
        return str(amount)
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def quantities(amounts: Amounts) -> dict[str, str]:
    """Amounts as Kubernetes quantities."""
    return {name: quantity_text(name, amount) for name, amount in amounts.items()}
