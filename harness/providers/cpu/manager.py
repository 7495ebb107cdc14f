"""The CPU manager: which containers have CPUs of their own, and which CPUs the others share."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from numaproof.errors import UserError
from numaproof.harness.pods.affinity import is_bound, is_dedicated
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.cpu.bound_pods import Claim, claim_of, kept
from numaproof.harness.providers.cpu.hints import cpu_hints
from numaproof.harness.providers.cpu.options import check_options, parse_options
from numaproof.harness.providers.cpu.picking import pick
from numaproof.harness.providers.cpu.requests import exclusive_cpus, exclusive_cpus_of_pod
from numaproof.harness.providers.cpu.saved import check_known, check_saved
from numaproof.harness.providers.cpu.sets import CpuSet, cpu_list, ids_of, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.bitmask import NodeMask, is_set
from numaproof.harness.topology.hints import Hints, TopologyHint
from numaproof.harness.topology.provider import SMTAlignmentError
from numaproof.harness.topology.selection import Chosen, Offer, no_choice
from numaproof.harness.vocabulary import ContainerKey


class CpuManager:
    """Gives whole CPUs to containers of Guaranteed pods (policy static), or leaves all CPUs to all (policy none).

    A pod that is bound to a set of CPUs gets just that, under either policy: all its containers share it. What bound
    pods share with others is given to nobody alone.
    """

    name: Final = "cpu"

    def __init__(
        self,
        topology: CpuTopology,
        policy: str = "none",
        options: Mapping[str, bool | str] | None = None,
        reserved: Collection[int] = (),
        *,
        active: Callable[[], Collection[str]] | None = None,  # None: nothing is ever stale
        topology_policy: str = "none",
        chosen: Chosen = no_choice,
    ) -> None:
        if policy not in {"none", "static"}:
            raise UserError(f'unknown CPU Manager policy: "{policy}" (known: none, static)')
        if policy == "none" and options:
            raise UserError(f"None policy: received unsupported options={', '.join(options)}; use the static policy")
        self.topology = topology
        self.options = parse_options(options or {})
        self._static = policy == "static"
        self._active = active
        self._chosen = chosen
        if self._static:
            check_options(self.options, topology, topology_policy)
            _check_reserved(reserved, topology)
        self._reserved = set_of(reserved) if self._static else 0
        self._assigned: dict[ContainerKey, CpuSet] = {}
        self._shared = self._pool()
        self._reusable: dict[str, CpuSet] = {}
        self._claims: dict[str, Claim] = {}  # by uid, of pods that are bound
        # Where cores have unequal numbers of threads, the kubelet takes whole ones of which a part is in use.
        self._takes_parts = any(
            core.bit_count() > topology.cpus_per_core for core in topology.groups[Level.CORE].values()
        )

    @property
    def assignments(self) -> Mapping[ContainerKey, frozenset[int]]:
        """The exclusive CPUs of every container that has some."""
        return {key: ids_of(cpus) for key, cpus in self._assigned.items()}

    def held(self, uid: str, container: str) -> frozenset[int]:
        """The exclusive CPUs of a container; empty if it has none."""
        return ids_of(self._assigned.get((uid, container), 0))

    @property
    def shared_pool(self) -> frozenset[int]:
        """The CPUs of all other containers (the kubelet's default CPU set)."""
        return ids_of(self._shared)

    @property
    def allocatable(self) -> frozenset[int]:
        """The CPUs that can be given away exclusively, taken or not; none under policy none."""
        return ids_of(self.topology.cpus & ~self._reserved) if self._static else frozenset()

    @property
    def free(self) -> frozenset[int]:
        """The CPUs that can still be given away exclusively; none under policy none."""
        return ids_of(self._available()) if self._static else frozenset()

    def restore(
        self,
        assignments: Mapping[ContainerKey, Collection[int]],
        shared_pool: Collection[int] | None = None,
        *,
        reusable: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        """Take over saved assignments; raises UserError, changing nothing, if they do not fit this machine.

        The shared pool, where saved, is checked as the kubelet checks its state file. `reusable` (by pod uid) is what
        init containers leave to the containers after them: the kubelet does not save it but learns it again.
        """
        check_known(self.topology, assignments, shared_pool or ())
        assigned = {key: set_of(cpus) for key, cpus in assignments.items()}
        pool = self._pool()
        for cpus in assigned.values():
            pool &= ~cpus
        shared = pool
        if shared_pool is not None and (shared_pool or assigned):
            shared = set_of(shared_pool)
            check_saved(assigned, shared, self._pool(), self._reserved, strict=self.options.strict_reservation)
        self._assigned = assigned
        self._shared = shared
        self._reusable = {uid: set_of(cpus) for uid, cpus in (reusable or {}).items()}

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        """Where a container's CPUs can come from; for one that has its CPUs already, where those are."""
        self._collect_stale()
        count = self._count(pod, container)
        if count == 0:
            return {}
        existing = self._assigned.get((pod.uid, container.name))
        if existing is None:
            return self._hints(self._available(pod), self._reusable.get(pod.uid, 0), count)
        if existing.bit_count() != count:
            return {"cpu": []}
        return self._hints(existing, 0, count)

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        """Where the CPUs of all containers of a pod can come from together."""
        self._collect_stale()
        count = self._count(pod, None)
        if count == 0:
            return {}
        existing = 0
        for container in pod.all_containers():
            cpus = self._assigned.get((pod.uid, container.name))
            if cpus is None:
                continue
            if cpus.bit_count() != exclusive_cpus(pod, container):
                return {"cpu": []}
            existing |= cpus
        # CPUs that the pod has must be covered, and count: with all of them there, only their own nodes remain.
        return self._hints(self._available(pod), self._reusable.get(pod.uid, 0) | existing, count)

    def offer(self, pod: Pod, container: Container | None) -> Offer[int] | None:
        """Which CPUs a container, or the whole pod, could get; None: it gets none, or cannot."""
        self._collect_stale()
        asking = pod.all_containers() if container is None else (container,)
        count = self._count(pod, container)
        held = [(one, self._assigned[pod.uid, one.name]) for one in asking if (pod.uid, one.name) in self._assigned]
        if count == 0 or any(cpus.bit_count() != exclusive_cpus(pod, one) for one, cpus in held):
            return None
        first = self._reusable.get(pod.uid, 0) if container is None or not held else 0
        for _, cpus in held:
            first |= cpus
        available = self._available(pod) | first
        if self.options.full_cores_only:
            if count % self.topology.cpus_per_core:
                return None
            available = sum(core for core in self.topology.groups[Level.CORE].values() if not core & ~available)
            first &= available
        return Offer(count, ids_of(available), ids_of(first)) if available.bit_count() >= count else None

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Give a container its CPUs: those that are chosen for it, or else first from the affinity's nodes.

        Raises AllocationError and changes nothing.
        """
        self._collect_stale()
        self._claim(pod)
        if pod.cpu_affinity is not None:
            if is_dedicated(pod):
                self._bind(pod, container, set_of(pod.cpu_affinity))
            return
        count = self._count(pod, container)
        if count == 0:
            return
        self._check_full_cores(count)
        key = (pod.uid, container.name)
        if key not in self._assigned:
            chosen = self._chosen().cpus
            allocatable = self._available(pod) | self._reusable.get(pod.uid, 0)
            cpus = self._pick_near(affinity.affinity, allocatable, count) if chosen is None else set_of(chosen)
            self._assigned[key] = cpus
            self._shared &= ~cpus
        self._update_reusable(pod, container, self._assigned[key])

    def remove(self, uid: str) -> None:
        """Put all CPUs of a pod back into the shared pool."""
        for key in [key for key in self._assigned if key[0] == uid]:
            self._shared |= self._assigned.pop(key)
        self._claims.pop(uid, None)

    def checkpoint(self) -> Any:
        """What is assigned, shared and left behind, to come back to by `rollback`."""
        return self._assigned.copy(), self._shared, self._reusable, self._claims.copy()

    def rollback(self, checkpoint: Any) -> None:
        """Have assigned what was assigned at the checkpoint."""
        self._assigned, self._shared, self._reusable, self._claims = checkpoint

    def restore_claims(self, pods: Iterable[Pod]) -> None:
        """Take over what bound pods share with others: nothing but their own fields tells of it."""
        self._claims = {}
        for pod in pods:
            self._claim(pod)

    def _bind(self, pod: Pod, container: Container, cpus: CpuSet) -> None:
        """Give a container the CPUs that its pod has for itself."""
        self._assigned[pod.uid, container.name] = cpus
        self._shared &= ~cpus

    def _claim(self, pod: Pod) -> None:
        if is_bound(pod):
            self._claims[pod.uid] = claim_of(pod, exclusive_cpus_of_pod(pod) if self._static else 0)

    def _count(self, pod: Pod, container: Container | None) -> int:
        """How many CPUs have to be chosen; none for a pod that is bound to some."""
        if not self._static or pod.cpu_affinity is not None:
            return 0
        return exclusive_cpus_of_pod(pod) if container is None else exclusive_cpus(pod, container)

    def _pool(self) -> CpuSet:
        return self.topology.cpus & ~self._reserved if self.options.strict_reservation else self.topology.cpus

    def _available(self, pod: Pod | None = None) -> CpuSet:
        """The CPUs that could be given away alone: to this pod, or to one that is not bound."""
        available = self._shared & ~self._reserved
        for_bound = pod is not None and is_bound(pod)
        if not for_bound and not self._claims:
            return available
        untouched = kept(self._claims.values(), self.topology, available)
        if self._takes_parts:
            for (uid, _), cpus in self._assigned.items():
                if for_bound or uid in self._claims:
                    untouched |= cpus
            untouched = self.topology.covering(untouched, Level.CORE)
        return available & ~untouched

    def _collect_stale(self) -> None:
        if self._active is not None:
            for uid in ({uid for uid, _ in self._assigned} | self._claims.keys()) - set(self._active()):
                self.remove(uid)

    def _hints(self, available: CpuSet, reusable: CpuSet, count: int) -> Hints:
        aligned = self.options.align_by_socket
        return {"cpu": cpu_hints(self.topology, available, reusable, count, align_by_socket=aligned)}

    def _check_full_cores(self, count: int) -> None:
        if not self.options.full_cores_only:
            return
        per_core = self.topology.cpus_per_core
        if count % per_core:
            raise SMTAlignmentError(
                f"SMT Alignment Error: requested {count} cpus not multiple cpus per core = {per_core}"
            )
        # A sibling of a reserved CPU can belong to no whole core. What init containers leave does not count here.
        available = (self._shared & ~self.topology.covering(self._reserved, Level.CORE)).bit_count()
        if count > available:
            raise SMTAlignmentError(
                "SMT Alignment Error: not enough free physical CPUs: "
                f"available physical CPUs = {available}, requested CPUs = {count}, CPUs per core = {per_core}"
            )

    def _pick_near(self, affinity: NodeMask | None, allocatable: CpuSet, count: int) -> CpuSet:
        """CPUs of the affinity's nodes as far as they go, then any others."""
        near = 0
        if affinity is not None:
            aligned = allocatable & self._aligned_with(affinity)
            near = pick(self.topology, self.options, aligned, min(count, aligned.bit_count()))
        return near | pick(self.topology, self.options, allocatable & ~near, count - near.bit_count())

    def _aligned_with(self, affinity: NodeMask) -> CpuSet:
        cpus = 0
        for node, members in self.topology.groups[Level.NODE].items():
            if is_set(affinity, node):
                cpus |= members
        return self.topology.covering(cpus, Level.SOCKET) if self.options.align_by_socket else cpus

    def _update_reusable(self, pod: Pod, container: Container, cpus: CpuSet) -> None:
        """What an init container gets may be used again by the containers after it, until one that stays has it.

        Only the pod whose containers were given CPUs last is remembered: pods are admitted one at a time.
        """
        before = self._reusable.get(pod.uid, 0)
        self._reusable = {pod.uid: before | cpus if pod.ends(container) else before & ~cpus}


def _check_reserved(reserved: Collection[int], topology: CpuTopology) -> None:
    if not reserved:
        raise UserError(
            "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero; "
            "reserve at least one CPU (reservedSystemCPUs, systemReserved or kubeReserved)"
        )
    unknown = sorted(cpu for cpu in reserved if cpu not in topology.node_of)
    if unknown:
        raise UserError(
            "unable to build the reserved physical CPUs from the reserved set: "
            f"unknown CPU ID: {unknown[0]} (this machine has {cpu_list(topology.cpus)})"
        )
