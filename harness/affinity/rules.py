"""What the proposal's taints and fields demand of a pod: what is wrong with it by itself, or beside the pods here."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.affinity.ledger import (
    Holding,
    Overdraft,
    Shares,
    broken_promise,
    claims,
    home_of,
    is_memory,
    overdraft,
)
from numaproof.harness.affinity.zones import CPU, Zone
from numaproof.harness.decision.fit import requests_of
from numaproof.harness.pods.affinity import (
    CPUS_FIELD,
    LEAST_CPU,
    NUMA_NODE_FIELD,
    is_bound,
    is_dedicated,
    missing_fields,
    names,
    requested,
)
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.taints import CPU_AFFINITY, ENFORCED, NUMA_CPU_AFFINITY, Taint, untolerated
from numaproof.harness.providers.memory import MachineState
from numaproof.harness.topology.verdict import Verdict

CPU_REASON = "CPUAffinityError"
NUMA_CPU_REASON = "NUMACPUAffinityError"
MEMORY_REASON = "NUMAMemoryPolicyError"
PENDING = "Pending"  # of a pod that is here, holds nothing, and waits to be bound


@dataclass(frozen=True, slots=True)
class Site:
    """The node that pods come to."""

    name: str  # empty: it takes pods of any spec.nodeName
    zones: tuple[Zone, ...]
    shown_name: str = ""  # what others are told


def check_fields(pod: Pod, site: Site, taints: Iterable[Taint]) -> None:
    """A UserError, with the field, if a pod is bound to what this node cannot have for any pod."""
    zones = {zone.id: zone for zone in site.zones}
    node, cpus = pod.numa_node_id, pod.cpu_affinity
    at_node, at_cpus = f"pod {pod.name}: {NUMA_NODE_FIELD}", f"pod {pod.name}: {CPUS_FIELD}"
    if node is not None and node not in zones:
        raise UserError(f"{at_node}: there is no NUMA node {node} here; choose of {format_cpulist(zones)}")
    if cpus is None:
        return
    online = frozenset().union(*(zone.cpus for zone in site.zones))
    if cpus - online:
        raise UserError(f"{at_cpus}: CPUs {_list(cpus - online)} are not online here; choose of {_list(online)}")
    if node is not None and cpus - zones[node].cpus:
        beyond, own = _list(cpus - zones[node].cpus), _list(zones[node].pod_cpus) or "none"
        raise UserError(f"{at_cpus}: CPUs {beyond} are not of NUMA node {node}; choose of {own}")
    if applies(NUMA_CPU_AFFINITY, pod, taints) and home_of(pod, site.zones) is None:
        raise UserError(f"{at_cpus}: CPUs {_list(cpus)} are of several NUMA nodes; choose those of one")
    reserved = cpus & frozenset().union(*(zone.reserved_cpus for zone in site.zones))
    if reserved:
        raise UserError(f"{at_cpus}: CPUs {_list(reserved)} are reserved for the host; choose others")
    asked = requested(pod, "cpu")
    if is_dedicated(pod) and asked.denominator == 1 and len(cpus) != asked:
        raise UserError(f"{at_cpus}: {len(cpus)} CPUs, the pod asks for {asked}; give as many as it asks for")
    if len(cpus) < math.ceil(asked):
        raise UserError(f"{at_cpus}: {len(cpus)} CPUs, the pod asks for {float(asked):g}; give enough of them")


def refusal(pod: Pod, site: Site, taints: Iterable[Taint]) -> Verdict | None:
    """Why the node does not take a pod, whatever else is here; None: nothing speaks against it."""
    if site.name and pod.node_name and pod.node_name != site.name:
        why = f"node(s) didn't match the requested node name: spec.nodeName is {pod.node_name}, this is {site.name}"
        return Verdict(False, "NodeName", f"Predicate NodeName failed: {why}")
    unwelcome = untolerable(pod, taints)
    if unwelcome is not None:
        return unwelcome
    if applies(CPU_AFFINITY, pod, taints):
        why = not_whole(pod)
        if why:
            return Verdict(False, CPU_REASON, f"{CPU_AFFINITY}=dedicated: {why}")
    if applies(NUMA_CPU_AFFINITY, pod, taints):
        asked, most = requests_of(pod).get(CPU, 0), max((zone.allocatable[CPU] for zone in site.zones), default=0)
        if asked > most:
            figures = f"the pod asks for {cpu_text(asked)} CPUs, the largest NUMA node has {cpu_text(most)} for pods"
            return Verdict(False, NUMA_CPU_REASON, f"{NUMA_CPU_AFFINITY}=strict: {figures}")
    return None


def waiting(pod: Pod) -> Verdict | None:
    """Why a pod does not start yet; None: it has all that it needs."""
    missing = missing_fields(pod)
    if not missing:
        return None
    return Verdict(False, PENDING, f"waits to be bound: {' and '.join(missing)} not told yet")


def untolerable(pod: Pod, taints: Iterable[Taint]) -> Verdict | None:
    """The refusal of a pod that does not tolerate a taint of the node; None: it tolerates all."""
    foreign = untolerated(taints, pod.tolerations, ENFORCED)
    if foreign is None:
        return None
    why = f"node(s) had taints that the pod didn't tolerate: spec.tolerations has none for {foreign}"
    return Verdict(False, "TaintToleration", f"Predicate TaintToleration failed: {why}")


def not_whole(pod: Pod) -> str:
    """What keeps a pod from having CPUs of its own; empty: nothing.

    All containers share the pod's CPUs, so it is their total that has to be whole.
    """
    asking = [
        *((f"spec.initContainers[{i}]", one) for i, one in enumerate(pod.init_containers)),
        *((f"spec.containers[{i}]", one) for i, one in enumerate(pod.containers)),
    ]
    unlike = [where for where, one in asking if one.limits.get("cpu") != one.requests.get("cpu")]
    if pod.resources is not None and pod.resources.limits.get("cpu") != pod.resources.requests.get("cpu"):
        unlike.append("spec")
    if unlike:
        return f"{unlike[0]}.resources: the CPU limit is not the request; make them equal"
    asked = requested(pod, "cpu")
    if asked.denominator != 1 or asked == 0:
        return f"spec: the containers ask for {float(asked):g} CPUs together; ask for a whole number"
    return ""


def clash(pod: Pod, others: Iterable[Holding], taken: Shares, zones: Iterable[Zone]) -> Verdict | None:
    """Why the pods that are here leave no room for a bound pod; None: they do."""
    here = tuple(zones)
    for other in others:
        held = other.cpus
        if is_dedicated(pod) and other.pod.cpu_affinity is not None:
            held |= other.pod.cpu_affinity
        both = held & (pod.cpu_affinity or frozenset())
        if both:
            owner = f"{other.pod.namespace}/{other.pod.name}"
            return Verdict(False, CPU_REASON, f"{CPUS_FIELD}: CPUs {_list(both)} are those of pod {owner}")
    wanted = {}
    if home_of(pod, here) is not None:
        wanted = dict(claims(Holding(pod, {}), here))
    found = overdraft(here, taken, wanted)
    return None if found is None else overdrawn(found)


def given_twice(holding: Holding, others: Iterable[Holding]) -> Verdict | None:
    """Why a pod cannot have the CPUs that it was given: some are another's, and one of the two is bound; None: it can.

    Where cores have unequal numbers of threads, the kubelet's CPU manager takes whole ones of which a part is in use.
    Among pods that are not bound that is the kubelet's affair.
    """
    for other in others:
        theirs = other.pod.cpu_affinity or frozenset()
        if is_bound(holding.pod) or is_bound(other.pod):
            theirs |= other.cpus
        both = holding.cpus & theirs
        if both:
            owner = f"{other.pod.namespace}/{other.pod.name}"
            return Verdict(False, CPU_REASON, f"the CPU manager chose the CPUs {_list(both)}, those of pod {owner}")
    return None


def overcommitted(holdings: Iterable[Holding], zones: Iterable[Zone], memory: MachineState) -> Verdict | None:
    """Why pods cannot all have what they were given and promised; None: they can."""
    found = broken_promise(zones, holdings, memory)
    return None if found is None else overdrawn(found)


def outside(holding: Holding, zones: Iterable[Zone]) -> Verdict | None:
    """Why what a bound pod was given is not where it was to be; None: it is."""
    here = tuple(zones)
    home = home_of(holding.pod, here)
    if home is None:
        return None
    zone = next(zone for zone in here if zone.id == home)
    beyond = holding.cpus - zone.cpus
    if beyond:
        figures = f"{len(holding.cpus & zone.cpus)} of {len(holding.cpus)} CPUs could be had there"
        return Verdict(False, NUMA_CPU_REASON, f"{NUMA_NODE_FIELD}: NUMA node {home}: {figures}")
    blocks = [block for one in holding.given.values() for block in one.memory]
    if holding.pod.numa_memory == "strict" and any(block.nodes != (home,) for block in blocks):
        why = f"NUMA node {home} has too little memory that is not shared with other NUMA nodes"
        return Verdict(False, MEMORY_REASON, f"{NUMA_NODE_FIELD}: {why}")
    return None


def overdrawn(found: Overdraft) -> Verdict:
    """The refusal for want of what a NUMA node has, in amounts."""
    if is_memory(found.resource):
        figures = f"{found.wanted} bytes of {found.resource} are wanted, {found.left} are left for pods"
        return Verdict(False, MEMORY_REASON, f"NUMA node {found.zone}: {figures}")
    wanted = "some CPU to run on is" if found.wanted == LEAST_CPU else f"{cpu_text(found.wanted)} CPUs are"
    figures = f"{wanted} wanted, {cpu_text(found.left)} are left for pods"
    return Verdict(False, NUMA_CPU_REASON, f"NUMA node {found.zone}: {figures}")


def applies(key: str, pod: Pod, taints: Iterable[Taint]) -> bool:
    """Whether a taint's rule is for the pod: the node has it, or the pod asks for it by its name."""
    return names(pod, key) or any(taint.key == key for taint in taints)


def cpu_text(thousandths: int) -> str:
    """An amount of cpu in CPUs, to the thousandth."""
    whole, rest = divmod(thousandths, 1000)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


def _list(cpus: Iterable[int]) -> str:
    return format_cpulist(cpus)
