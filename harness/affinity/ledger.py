"""Who holds how much of each NUMA node: exclusive CPUs, pinned memory, and what bound pods were promised there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from numaproof.harness.affinity.zones import CPU, Zone
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.fit import Amounts, requests_of
from numaproof.harness.decision.reservations import MEMORY
from numaproof.harness.pods.affinity import is_bound, promised_cpu
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.memory import MachineState

Shares = Mapping[int, Amounts]  # by NUMA node


@dataclass(frozen=True, slots=True)
class Holding:
    """A pod that is here, and what each of its containers was given."""

    pod: Pod
    given: Mapping[str, Assignment]

    @property
    def cpus(self) -> frozenset[int]:
        """The CPUs that are the pod's alone."""
        return frozenset().union(*(one.cpus for one in self.given.values()))


@dataclass(frozen=True, slots=True)
class Overdraft:
    """A NUMA node of which more is wanted than is left."""

    zone: int
    resource: str
    wanted: int
    left: int


def home_of(pod: Pod, zones: Iterable[Zone]) -> int | None:
    """The NUMA node that a pod is bound to; None: to none, or its CPUs are of several."""
    if pod.numa_node_id is not None:
        return pod.numa_node_id
    if pod.cpu_affinity is None:
        return None
    return next((zone.id for zone in zones if pod.cpu_affinity <= zone.cpus), None)


def claims(holding: Holding, zones: Iterable[Zone]) -> Shares:
    """What a pod takes of each NUMA node, but for memory that the memory manager has pinned for it.

    A bound pod without CPUs of its own was promised its request there; and its memory, where that has to fit.
    """
    here = tuple(zones)
    pod, exclusive = holding.pod, holding.cpus
    found = {zone.id: {CPU: 1000 * len(exclusive & zone.cpus)} for zone in here}
    home = home_of(pod, here)
    if home in found:
        found[home][CPU] = max(found[home][CPU], promised_cpu(pod))
        if pod.numa_memory == "strict" and not any(one.memory for one in holding.given.values()):
            memory = {name: amount for name, amount in requests_of(pod).items() if is_memory(name)}
            found[home] = {**found[home], **memory}
    return found


def is_memory(resource: str) -> bool:
    """Whether a resource is memory, in ordinary or in huge pages."""
    return resource == MEMORY or resource.startswith("hugepages-")


def used(zones: Iterable[Zone], holdings: Iterable[Holding], memory: MachineState) -> dict[int, dict[str, int]]:
    """What is taken of each NUMA node; `memory` is the memory manager's state, empty without one."""
    here = tuple(zones)
    found = {zone.id: dict.fromkeys(zone.capacity, 0) for zone in here}
    for zone in here:
        for name, table in memory[zone.id].tables.items() if zone.id in memory else ():
            found[zone.id][name] = table.reserved
    for holding in holdings:
        for node, amounts in claims(holding, here).items():
            for name, amount in amounts.items():
                found[node][name] = found[node].get(name, 0) + amount
    return found


def broken_promise(zones: Iterable[Zone], holdings: Iterable[Holding], memory: MachineState) -> Overdraft | None:
    """The first NUMA node of which more is taken than pods may have, where a bound pod was promised some of it.

    Without such a pod nothing is looked at: what the managers give to others is theirs to know.
    """
    here, everybody = tuple(zones), tuple(holdings)
    promised = [claims(one, here) for one in everybody if is_bound(one.pod)]
    if not promised:
        return None
    taken = used(here, everybody, memory)
    for zone in here:
        for name in zone.capacity:
            if any(shares.get(zone.id, {}).get(name) for shares in promised):
                wanted, most = taken[zone.id][name], zone.allocatable[name]
                if wanted > most:
                    return Overdraft(zone.id, name, wanted, most)
    return None


def overdraft(zones: Iterable[Zone], taken: Shares, own: Shares) -> Overdraft | None:
    """The first NUMA node of which `own` wants more than `taken` leaves; what nobody wants is not looked at."""
    for zone in zones:
        for name, wanted in own.get(zone.id, {}).items():
            left = zone.allocatable.get(name, 0) - taken.get(zone.id, {}).get(name, 0)
            if wanted and wanted > left:
                return Overdraft(zone.id, name, wanted, max(left, 0))
    return None
