"""The nodes that pods are sent to, and how each decides about a pod: by its managers, or by its zones alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from numaproof.errors import UserError
from numaproof.harness.affinity.ledger import Holding, Overdraft, Shares, claims
from numaproof.harness.affinity.machine_kind import MachineKind
from numaproof.harness.affinity.needs import Needs
from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.predicate import Nearness, left_of, misfit, plain_misfit, shares
from numaproof.harness.affinity.rules import (
    Site,
    check_fields,
    clash,
    given_twice,
    outside,
    overdrawn,
    refusal,
    waiting,
)
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.decision.fit import Amounts, Room, requests_of
from numaproof.harness.decision.managers import Managers
from numaproof.harness.pods.affinity import CPUS_FIELD, is_bound, memory_policy, missing_fields
from numaproof.harness.pods.pod import Pod
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.verdict import ADMITTED, Verdict

INVALID = "Invalid"  # of a pod that is bound to what the node does not have


@dataclass(frozen=True, slots=True)
class Decision:
    """What a node says of a pod that was sent to it, and where it put it."""

    verdict: Verdict
    zones: tuple[int, ...] = ()  # the NUMA nodes of what it got; empty: of any
    cpus: frozenset[int] = frozenset()  # that are its alone, or that it is bound to


class Target(Protocol):
    """A node that pods are sent to. What it refuses holds nothing there."""

    topology: NodeTopology  # as it is now
    version: int  # grows whenever the topology changes

    def bound(self, pod: Pod, zone: int) -> Pod:
        """The pod with the fields that it waits for: this NUMA node, and CPUs that are free there."""
        ...

    def send(self, pod: Pod, needs: Needs, *, chosen: bool = False) -> Decision:
        """Let the node decide about a pod; `chosen`: somebody has chosen its place, as far as the node tells of any.

        A pod that has to wait for its fields counts on the node as a whole, and on no NUMA node.
        """
        ...


class MachineTarget:
    """A node with a machine: the kubelet's managers and the rules of taints decide."""

    def __init__(self, name: str, kind: MachineKind) -> None:
        self.topology = replace(kind.told, name=name)
        self.version = 0
        self._kind = kind
        self._site = Site(name, kind.zones)
        self._positions = {zone.id: position for position, zone in enumerate(kind.zones)}
        self._managers: Managers | None = None  # None: no pod was here yet, and most nodes of many may never see one
        self._holdings: list[Holding] = []
        self._promised: set[tuple[int, str]] = set()  # NUMA nodes and resources of which a bound pod was promised some
        self._pods = 0  # that are here, those that wait too
        self._requested: dict[str, int] = {}  # by all of them together
        self._used: dict[int, dict[str, int]] = {zone.id: dict.fromkeys(zone.capacity, 0) for zone in kind.zones}

    def bound(self, pod: Pod, zone: int) -> Pod:
        """The pod with the fields that it waits for; with fewer CPUs than it asks for where no more are free."""
        missing = missing_fields(pod)
        if not missing:
            return pod
        placed = pod if pod.numa_node_id is not None else replace(pod, numa_node_id=zone)
        if CPUS_FIELD in missing:
            wanted = -(-requests_of(pod).get(CPU, 0) // 1000)
            placed = replace(placed, cpu_affinity=self._free_cpus(zone, wanted))
        return placed

    def send(self, pod: Pod, needs: Needs, *, chosen: bool = False) -> Decision:
        """Check the fields, the taints, what is left of NUMA nodes; then have the managers place the pod."""
        policy = memory_policy(pod, self._kind.taints)
        told = pod if policy is None else replace(pod, numa_memory=policy)
        refused = self._refusal(told)
        if refused is not None:
            return Decision(refused)
        if self._managers is None:
            self._managers = self._kind.managers()
        waits = waiting(told)
        if waits is not None:
            return self._wait(told, needs, waits, self._managers)
        trace = self._managers.admit(told, self._room())
        holding = Holding(told, trace.given)
        verdict = trace.verdict
        if verdict.admitted:
            verdict = self._broken(holding) or verdict
        if not verdict.admitted:
            self._managers.remove(told.uid)
            return Decision(verdict)
        for container in filter(told.ends, told.all_containers()):
            self._managers.memory.release_init(told.uid, container.name)
        return Decision(ADMITTED, self._admit(holding, needs), holding.cpus or told.cpu_affinity or frozenset())

    def _refusal(self, pod: Pod) -> Verdict | None:
        try:
            if is_bound(pod):
                check_fields(pod, self._site, self._kind.taints)
        except UserError as error:
            return Verdict(False, INVALID, str(error))
        found = refusal(pod, self._site, self._kind.taints)
        if found is not None or not is_bound(pod) or missing_fields(pod):
            return found
        taken = {zone.id: self._taken(zone.id) for zone in self._kind.zones}
        return clash(pod, self._holdings, taken, self._kind.zones)

    def _wait(self, pod: Pod, needs: Needs, waits: Verdict, managers: Managers) -> Decision:
        """Keep a pod that waits, if the node as a whole has room for it."""
        shortage = managers.shortage(pod, self._room())
        if shortage is not None:
            return Decision(shortage.verdict())
        self._count(needs)
        self._tell(())
        return Decision(waits)

    def _broken(self, holding: Holding) -> Verdict | None:
        """Why a pod cannot have what the managers gave it: by the rules of a node that runs, from what is booked."""
        bound = is_bound(holding.pod)
        if not bound and not self._promised:
            return None
        if holding.pod.cpu_affinity is None:
            found = given_twice(holding, self._holdings)
            if found is not None:
                return found
        own = claims(holding, self._kind.zones)
        promised = self._promised | (_promises(own) if bound else set())
        for node, name in promised:
            wanted = self._taken(node).get(name, 0) + own.get(node, {}).get(name, 0)
            most = self._kind.zones[self._positions[node]].allocatable.get(name, 0)
            if wanted > most:
                return overdrawn(Overdraft(node, name, wanted, most))
        return outside(holding, self._kind.zones)

    def _taken(self, node: int) -> dict[str, int]:
        """What is taken of a NUMA node: what pods were given or promised, and what the memory manager has pinned."""
        taken = dict(self._used[node])
        memory = self._managers.memory.state if self._managers else {}
        for name, table in memory[node].tables.items() if node in memory else ():
            taken[name] = taken.get(name, 0) + table.reserved
        return taken

    def _room(self) -> Room:
        # The requests of all pods as those of one: the sums are the same, and the number of pods is put right.
        together = {**self._requested, "pods": self._pods - 1}
        return Room(self._kind.allocatable, [together] if self._pods else [])

    def _admit(self, holding: Holding, needs: Needs) -> tuple[int, ...]:
        """Book what a pod was given; the answer is the NUMA nodes of it."""
        assert self._managers is not None
        touched: set[int] = set()
        claimed = claims(holding, self._kind.zones)
        if is_bound(holding.pod):
            self._promised |= _promises(claimed)
        for node, amounts in claimed.items():
            for name, amount in amounts.items():
                if amount:
                    self._used[node][name] = self._used[node].get(name, 0) + amount
                    touched.add(node)
        staying = [one.name for one in holding.pod.all_containers() if not holding.pod.ends(one)]
        for name in staying:  # the memory of the others was given back
            for block in holding.given[name].memory:
                touched.update(block.nodes)
        for resource, ids in _devices(holding).items():
            masks = self._managers.devices.masks(resource)
            for one in ids:
                for node in ids_of(masks[one]):
                    if node in self._used:
                        self._used[node][resource] = self._used[node].get(resource, 0) + 1
                        touched.add(node)
        self._holdings.append(holding)
        self._count(needs)
        self._tell(touched)
        return tuple(sorted(touched))

    def _count(self, needs: Needs) -> None:
        """Count a pod on the node as a whole."""
        self._pods += 1
        for name, amount in needs.requests.items():
            self._requested[name] = self._requested.get(name, 0) + amount

    def _tell(self, touched: Iterable[int]) -> None:
        """Bring the topology up to date, as far as it changed."""
        zones = list(self.topology.zones)
        for node in touched:
            position = self._positions[node]
            zone, taken = zones[position], self._taken(node)
            available = {name: amount - taken.get(name, 0) for name, amount in zone.allocatable.items()}
            zones[position] = replace(zone, available=available)
        left = {name: amount - self._requested.get(name, 0) for name, amount in self._kind.allocatable.items()}
        left["pods"] = self._kind.allocatable["pods"] - self._pods
        self.topology = replace(self.topology, zones=tuple(zones), left=left)
        self.version += 1

    def _free_cpus(self, zone: int, wanted: int) -> frozenset[int]:
        """So many free CPUs of a NUMA node, or as many as there are: of whole cores first, the lowest first."""
        free = self._kind.zones[self._positions[zone]].pod_cpus
        for holding in self._holdings:
            free = free - holding.cpus - (holding.pod.cpu_affinity or frozenset())
        whole = [core for core in self._kind.cores if core <= free]
        chosen: list[int] = []
        for core in whole:
            if len(core) <= wanted - len(chosen):
                chosen += core
        # What is left over is less than a core: of one that is broken already, if there is one.
        broken = sorted(free.difference(*whole))
        rest = sorted(free.difference(broken, chosen))
        return frozenset([*chosen, *[*broken, *rest][: wanted - len(chosen)]])


class ZoneTarget:
    """A node of which nothing but its zones is known: it decides by them, as the predicate does."""

    def __init__(self, topology: NodeTopology) -> None:
        self.topology = replace(topology, left=left_of(topology))
        self.version = 0

    def bound(self, pod: Pod, zone: int) -> Pod:
        """The pod with its NUMA node; which CPUs are free is not told."""
        return replace(pod, numa_node_id=zone) if missing_fields(pod) and pod.numa_node_id is None else pod

    def send(self, pod: Pod, needs: Needs, *, chosen: bool = False) -> Decision:
        """The predicate's own answer, and what its walk over the zones gives to the pod.

        A pod whose NUMA node was chosen counts as placed there, though nobody can tell it its CPUs: which are free is
        known to the node alone.
        """
        waits = None if chosen else waiting(pod)
        found = misfit(pod, needs, self.topology) if waits is None else plain_misfit(pod, needs, self.topology)
        if found is not None:
            reason = "TopologyAffinityError" if found.nearness is Nearness.ZONES else "NotFitting"
            return Decision(Verdict(False, reason, found.reason))
        if waits is not None:
            self._book(needs, {})
            return Decision(waits)
        taken = shares(pod, needs, self.topology)
        self._book(needs, taken)
        return Decision(ADMITTED, tuple(sorted(taken)), pod.cpu_affinity or frozenset())

    def _book(self, needs: Needs, taken: Shares) -> None:
        zones = tuple(_without(zone, taken[zone.id]) if zone.id in taken else zone for zone in self.topology.zones)
        left = {name: amount - needs.requests.get(name, 0) for name, amount in left_of(self.topology).items()}
        self.topology = replace(self.topology, zones=zones, left=left)
        self.version += 1


def _promises(claimed: Shares) -> set[tuple[int, str]]:
    return {(node, name) for node, amounts in claimed.items() for name, amount in amounts.items() if amount}


def _without(zone: ZoneStatus, taken: Amounts) -> ZoneStatus:
    left = {name: amount - taken.get(name, 0) for name, amount in zone.available.items()}
    return replace(zone, available=left)


def _devices(holding: Holding) -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for given in holding.given.values():
        for resource, ids in given.device_ids().items():
            found[resource] = found.get(resource, frozenset()) | ids
    return found
