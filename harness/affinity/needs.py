"""What a pod wants of a node and of its NUMA nodes, worked out once for all nodes that it is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from numaproof.errors import UserError
from numaproof.harness.affinity.ledger import is_memory
from numaproof.harness.affinity.rules import Site, check_fields, not_whole
from numaproof.harness.affinity.zones import CPU, Zone
from numaproof.harness.decision.fit import Amounts, requests_of
from numaproof.harness.pods.affinity import is_dedicated, names
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.pods.quantity import value
from numaproof.harness.pods.requests import pod_total
from numaproof.harness.pods.taints import NUMA_CPU_AFFINITY
from numaproof.harness.providers.cpu.requests import exclusive_cpus, exclusive_cpus_of_pod
from numaproof.harness.providers.memory.requests import container_request, pod_request
from numaproof.harness.topology.provider import AllocationError

NATIVE = (CPU, "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Need:
    """What has to come from the same NUMA nodes."""

    cpus: int = 0  # exclusive ones
    memory: Amounts = field(default_factory=dict)  # by kind, in bytes; empty: it may be anywhere
    devices: Amounts = field(default_factory=dict)  # by resource
    ends: bool = False  # it is given back before the next container of the pod starts
    name: str = ""  # of the container; empty: the pod as a whole


@dataclass(frozen=True, slots=True)
class Needs:
    """What a pod wants: of the node, of its NUMA nodes container by container, and of them as a whole."""

    requests: Amounts
    containers: tuple[Need, ...]
    whole: Need
    is_dedicated: bool  # its CPUs are to be its alone, and whole
    wants_home: bool  # it is bound to one NUMA node, or waits to be
    not_whole: str  # what keeps it from having CPUs of its own; empty: nothing
    broken_memory: bool = False  # it asks for memory that is no whole number of bytes
    miscounted: str = ""  # that it brings CPUs, and not as many as it asks for; empty: it does not


def needs_of(pod: Pod) -> Needs:
    """The needs of a pod; exclusive CPUs and pinned memory are for Guaranteed pods only, devices for all."""
    pinned = is_pinned(pod)
    broken = False
    memory: Mapping[str, int] = {}
    of_containers: list[Mapping[str, int]] = [{} for _ in pod.all_containers()]
    if pinned:
        try:
            memory, of_containers = pod_request(pod), [container_request(one) for one in pod.all_containers()]
        except AllocationError:
            broken = True
    containers = tuple(
        Need(exclusive_cpus(pod, one), kinds, _devices(one), pod.ends(one), one.name)
        for one, kinds in zip(pod.all_containers(), of_containers, strict=True)
    )
    resources = sorted({name for one in containers for name in one.devices})
    devices = {name: pod_total(pod, partial(_count, name), 0) for name in resources}
    return Needs(
        requests=requests_of(pod),
        containers=containers,
        whole=Need(exclusive_cpus_of_pod(pod), memory, devices),
        is_dedicated=is_dedicated(pod),
        wants_home=is_dedicated(pod) or names(pod, NUMA_CPU_AFFINITY),
        not_whole=not_whole(pod),
        broken_memory=broken,
        miscounted=_miscounted(pod),
    )


def without_memory(needs: Needs) -> Needs:
    """The same, but for memory: it may be anywhere."""
    containers = tuple(replace(one, memory={}) for one in needs.containers)
    return replace(needs, containers=containers, whole=replace(needs.whole, memory={}))


def is_device(resource: str) -> bool:
    """Whether a resource is counted by device plugins."""
    return resource not in NATIVE and not is_memory(resource)


def _devices(container: Container) -> dict[str, int]:
    return {name: _count(name, container) for name in sorted(container.limits) if is_device(name)}


def _count(resource: str, container: Container) -> int:
    return value(container.limits[resource]) if resource in container.limits else 0


def _miscounted(pod: Pod) -> str:
    if pod.cpu_affinity is None:
        return ""
    # On a node that has just these CPUs, nothing but their number can be wrong.
    node = 0 if pod.numa_node_id is None else pod.numa_node_id
    own = Zone(node, pod.cpu_affinity, frozenset(), {}, {})
    try:
        check_fields(pod, Site("", (own,)), ())
    except UserError as error:
        return str(error).removeprefix(f"pod {pod.name}: ")  # for all pods of this shape, whatever their names
    return ""
