"""A node to try things on: the managers in some state, on which decisions are made and taken back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numaproof.errors import UserError
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.fit import Amounts, Room, requests_of
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.stock import Stock, stocks
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.devices.port import PreferredPort
from numaproof.harness.providers.memory import MachineState


@dataclass(frozen=True, slots=True)
class Setup:
    """What a node is, whoever is on it."""

    description: NodeDescription
    config: ManagerConfig
    devices: Mapping[str, tuple[Device, ...]]  # by resource
    allocatable: Amounts | None  # of the node as a whole, devices apart; None: the fit is not looked at
    preferred: PreferredPort | None = None  # None: no plugin has a preference


@dataclass(frozen=True, slots=True)
class Resident:
    """A pod that is on the node, and what its containers hold."""

    pod: Pod
    given: Mapping[str, Assignment]

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.pod.namespace}/{self.pod.name}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A decision that was taken back, and what the node had left at its end: what decided about a refusal."""

    trace: Trace
    stocks: Mapping[str, Stock]  # of what the container asks for that was refused, or else the whole pod; by resource


def attempt_of(managers: Managers, pod: Pod, trace: Trace) -> Attempt:
    """A decision that was just made, before it is taken back."""
    return Attempt(trace, stocks(managers, pod, _refused_container(pod, trace)))


class Replica:
    """The managers of a node and its pods."""

    def __init__(self, setup: Setup, managers: Managers | None = None, pods: Iterable[Pod] = ()) -> None:
        """Of managers that are there, with the pods on them; or else of an empty node."""
        self.setup = setup
        self.managers = managers or _managers(setup)
        self._pods = list(pods)
        self._requests = {pod.uid: requests_of(pod) for pod in self._pods}

    @property
    def uids(self) -> frozenset[str]:
        """Who is here."""
        return frozenset(pod.uid for pod in self._pods)

    @property
    def residents(self) -> tuple[Resident, ...]:
        """Who is here, in the order of arrival, with what they hold now."""
        return tuple(Resident(pod, self._given(pod)) for pod in self._pods)

    def admit(self, pod: Pod) -> Trace:
        """Decide about a pod, for good; what its init containers leave is free then, as once they have ended."""
        trace = self.managers.admit(pod, self._room())
        if not trace.verdict.admitted:
            self.managers.remove(pod.uid)
            return trace
        for container in filter(pod.ends, pod.all_containers()):
            self.managers.memory.release_init(pod.uid, container.name)
        self._pods.append(pod)
        self._requests[pod.uid] = requests_of(pod)
        return trace

    def remove(self, uids: Iterable[str]) -> None:
        """Have pods go, with all that they hold."""
        gone = set(uids)
        for uid in gone:
            self.managers.remove(uid)
            self._requests.pop(uid, None)
        self._pods = [pod for pod in self._pods if pod.uid not in gone]

    def attempt(self, pod: Pod) -> Attempt:
        """Decide about a pod, and take it back."""
        checkpoint = self.managers.checkpoint()
        try:
            return attempt_of(self.managers, pod, self.managers.admit(pod, self._room()))
        finally:
            self.managers.rollback(checkpoint)

    def decide(self, pod: Pod) -> Trace:
        """The same, where nobody asks what is left."""
        checkpoint = self.managers.checkpoint()
        try:
            return self.managers.admit(pod, self._room())
        finally:
            self.managers.rollback(checkpoint)

    def stocks_for(self, pod: Pod, name: str) -> Mapping[str, Stock]:
        """What is wanted and what is left when it is a container's turn; an empty name: the pod as a whole."""
        order = [one.name for one in pod.all_containers()]
        before = order[: order.index(name)] if name else []
        checkpoint = self.managers.checkpoint()
        try:
            if before:
                init = tuple(one for one in pod.init_containers if one.name in before)
                self.managers.admit(
                    replace(pod, init_containers=init, containers=tuple(c for c in pod.containers if c.name in before))
                )
            return stocks(self.managers, pod, next((one for one in pod.all_containers() if one.name == name), None))
        finally:
            self.managers.rollback(checkpoint)

    def under(self, setup: Setup, without: Iterable[str] = ()) -> "Replica | None":
        """The node after a restart with another setup, its pods holding what they hold; None: that cannot be."""
        gone = set(without)
        kept = [resident for resident in self.residents if resident.pod.uid not in gone]
        return restored(setup, kept, None if gone else self.managers.memory.state or None)

    def _given(self, pod: Pod) -> dict[str, Assignment]:
        return {one.name: self.managers.assignment(pod.uid, one.name) for one in pod.all_containers()}

    def _room(self) -> Room | None:
        if self.setup.allocatable is None:
            return None
        return Room(self.setup.allocatable, list(self._requests.values()))


def restored(setup: Setup, residents: Sequence[Resident], memory: MachineState | None) -> Replica | None:
    """A node whose pods hold what they hold, and its NUMA nodes' memory if that is known; None: that cannot be."""
    try:
        found = Replica(setup, pods=[resident.pod for resident in residents])
        found.managers.restore(((one.pod, one.given) for one in residents), memory)
    except UserError:
        return None
    return None if _double(found.managers) else found


def played(setup: Setup, pods: Iterable[Pod]) -> Replica | None:
    """A node that was empty, after pods have come in their order; None: it cannot start."""
    try:
        found = Replica(setup)
    except UserError:
        return None
    for pod in pods:
        found.admit(pod)
    return found


def with_policy(setup: Setup, policy: str, scope: str) -> Setup:
    """The same node under another policy and scope of the Topology Manager."""
    if (policy, scope) == (setup.config.topology_policy, setup.config.topology_scope):
        return setup
    options = {name: one for name, one in setup.config.topology_options.items() if not name.startswith("cost-")}
    config = replace(setup.config, topology_policy=policy, topology_scope=scope, topology_options=options)
    return replace(setup, config=config)


def _managers(setup: Setup) -> Managers:
    managers = Managers(setup.description, setup.config, setup.preferred)
    for resource, devices in setup.devices.items():
        managers.devices.update(resource, devices)
    return managers


def _double(managers: Managers) -> bool:
    """Whether a CPU that somebody holds is reserved now."""
    allocatable = managers.cpu.allocatable
    reserved = managers.cpu.topology.node_of.keys() - allocatable if allocatable else set()
    return any(cpus & reserved for cpus in managers.cpu.assignments.values())


def _refused_container(pod: Pod, trace: Trace) -> Container | None:
    """The container that the decision ended at; None: the pod as a whole, or none."""
    if trace.failure is not None:
        name = trace.failure.container
    elif trace.verdict.admitted or trace.shortage is not None or not trace.steps:
        return None
    else:
        name = trace.steps[-1].container  # empty in the scope pod
    return next((one for one in pod.all_containers() if one.name == name), None)
