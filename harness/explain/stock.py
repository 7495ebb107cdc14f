"""What is wanted of a resource, and what each NUMA node has of it: the amounts that explanations name.

What a container holds already, as one of its resources was given before another failed, counts as free for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.managers import Managers
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.pods.quantity import value
from numaproof.harness.pods.requests import pod_total
from numaproof.harness.providers.cpu.requests import exclusive_cpus, exclusive_cpus_of_pod
from numaproof.harness.providers.memory.requests import container_request, pod_request
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.provider import AllocationError

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Stock:
    """A resource, by NUMA node; CPUs and devices in pieces, memory in bytes."""

    resource: str
    wanted: int
    free: Mapping[int, int]
    most: Mapping[int, int]  # that pods can have if nobody else has any
    total: Mapping[int, int]  # with what is reserved, or not healthy
    nowhere: int = 0  # free devices that belong to no NUMA node
    ill: int = 0  # devices that their plugin finds unhealthy, wherever they are

    @property
    def best(self) -> int:
        """What the NUMA node has that has most of it free."""
        return max(self.free.values(), default=0)


def fewest_with(amounts: Mapping[int, int], wanted: int) -> int:
    """How many NUMA nodes are enough for so much; 0: not even all of them are."""
    together = accumulate(sorted(amounts.values(), reverse=True))
    return next((count for count, amount in enumerate(together, start=1) if amount >= wanted), 0)


def stocks(managers: Managers, pod: Pod, container: Container | None) -> dict[str, Stock]:
    """What a container, or the whole pod (None), asks the managers for, and what there is of it now."""
    found: dict[str, Stock] = {}
    own = managers.assignment(pod.uid, container.name) if container else Assignment()
    for stock in (_cpus(managers, pod, container, own), *_memory(managers, pod, container)):
        if stock.wanted:
            found[stock.resource] = stock
    for resource in sorted({name for one in _asking(pod, container) for name in one.limits}):
        if managers.devices.manages(resource):
            limit = partial(_limit, resource)
            wanted = limit(container) if container else pod_total(pod, limit, 0)
            found[resource] = _devices(managers, resource, wanted, own)
    return found


def _asking(pod: Pod, container: Container | None) -> tuple[Container, ...]:
    return pod.all_containers() if container is None else (container,)


def _limit(resource: str, container: Container) -> int:
    return value(container.limits[resource]) if resource in container.limits else 0


def _cpus(managers: Managers, pod: Pod, container: Container | None, own: Assignment) -> Stock:
    cpu = managers.cpu
    wanted = exclusive_cpus(pod, container) if container else exclusive_cpus_of_pod(pod)
    allocatable = cpu.allocatable
    if not allocatable:
        return Stock(CPU, 0, {}, {}, {})
    free, most, total = (dict.fromkeys(cpu.topology.nodes, 0) for _ in range(3))
    for one, node in cpu.topology.node_of.items():
        total[node] += 1
        most[node] += one in allocatable
    for one in {*cpu.free, *own.cpus}:
        free[cpu.topology.node_of[one]] += 1
    return Stock(CPU, wanted, free, most, total)


def _memory(managers: Managers, pod: Pod, container: Container | None) -> list[Stock]:
    state = managers.memory.state
    if not state or not is_pinned(pod):
        return []
    try:
        request = container_request(container) if container else pod_request(pod)
    except AllocationError:  # not a number of bytes: the allocation says so
        return []
    return [
        Stock(
            resource,
            wanted,
            {node: one.free(resource) for node, one in state.items()},
            {node: one.allocatable(resource) for node, one in state.items()},
            {node: one.tables[resource].total for node, one in state.items() if resource in one.tables},
        )
        for resource, wanted in request.items()
    ]


def _devices(managers: Managers, resource: str, wanted: int, own: Assignment) -> Stock:
    free: dict[int, int] = {}
    most: dict[int, int] = {}
    total: dict[int, int] = {}
    healthy = managers.devices.healthy().get(resource, frozenset())
    unused = managers.devices.free().get(resource, frozenset())
    unused |= healthy.intersection(one.id for one in own.devices.get(resource, ()))
    nowhere = ill = 0
    for one, mask in managers.devices.masks(resource).items():
        nodes = ids_of(mask)
        nowhere += not nodes and one in unused
        ill += one not in healthy
        for node in nodes:
            total[node] = total.get(node, 0) + 1
            most[node] = most.get(node, 0) + (one in healthy)
            free[node] = free.get(node, 0) + (one in unused)
    return Stock(resource, wanted, free, most, total, nowhere, ill)
