"""What a node holds at one moment, as values that nothing changes later: all that others are shown is made of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from numaproof.harness.affinity.node_topology import NodeTopology
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.explanation import Explanation as Told
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MachineState
from numaproof.harness.topology.verdict import Verdict
from numaproof.harness.vocabulary import ContainerKey


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container and what it was given."""

    container: Container
    init: bool
    ends: bool  # before the next one starts
    given: Assignment
    # What all plugins together want it to be given; nothing while they have not been asked.
    response: plugin_api.ContainerAllocateResponse = field(default_factory=plugin_api.ContainerAllocateResponse)
    start_error: str = ""  # why it could not be started; the pod stays admitted

    @property
    def name(self) -> str:
        """The container's name."""
        return self.container.name


@dataclass(frozen=True, slots=True)
class BindingView:
    """Where a pod is bound to, and what its cgroup confines all its containers to."""

    numa_node_id: int | None
    cpu_affinity: frozenset[int] | None
    cpus: frozenset[int]  # that they may run on now; none while it waits
    memory_nodes: tuple[int, ...]  # that their memory may come from; empty: any


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod and what it was given; without containers if nothing."""

    pod: Pod
    manifest: Mapping[str, Any]
    containers: tuple[ContainerView, ...] = ()
    binding: BindingView | None = None  # None: it is bound to nothing


@dataclass(frozen=True, slots=True)
class QuotaView:
    """The dedicated CPUs of a namespace: how many its pods may have, and how many those have that are here."""

    namespace: str
    most: Fraction
    used: Fraction


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer about a pod, what it was given, and how that came about."""

    verdict: Verdict
    pod: PodView
    trace: Trace | None = None  # None: it was decided about before


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a pod would be decided about, and what it would be given."""

    trace: Trace
    pod: PodView
    told: Told | None  # why, and what would help; None: nobody can tell


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """All pods, and all that they have or could have."""

    pods: tuple[PodView, ...]  # admitted ones
    refused: tuple[Admission, ...]  # lately
    running: Mapping[str, ContainerKey]  # the containers that run, by the id of each run
    shared_cpus: frozenset[int]
    allocatable_cpus: frozenset[int]  # those that can be given away exclusively, taken or not
    free_cpus: frozenset[int]  # those of them that can still be
    memory: MachineState
    allocatable_memory: tuple[Block, ...]
    devices: Mapping[str, tuple[Device, ...]]  # by resource, as listed last, also of a plugin that is gone
    healthy: Mapping[str, frozenset[str]]  # the healthy devices of every registered resource
    held: Mapping[str, frozenset[str]]  # the devices in use, by resource
    pending: tuple[PodView, ...]  # that wait to be bound
    topology: NodeTopology
    capacity: Mapping[str, Fraction]  # of the whole node, by resource
    allocatable: Mapping[str, Fraction]
    quotas: tuple[QuotaView, ...]

    def find(self, namespace: str, name: str) -> PodView | None:
        """The admitted pod of a name."""
        return next((one for one in self.pods if (one.pod.namespace, one.pod.name) == (namespace, name)), None)


def pod_view(pod: Pod, manifest: Mapping[str, Any], given: Mapping[str, Assignment]) -> PodView:
    """A pod for which no plugin has been asked for anything yet."""
    return PodView(
        pod,
        manifest,
        tuple(ContainerView(one, pod.is_init(one), pod.ends(one), given[one.name]) for one in pod.all_containers()),
    )
