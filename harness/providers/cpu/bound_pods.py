"""What bound pods that share their place's CPUs with others need of these: no other pod may have that alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from numaproof.harness.pods.affinity import is_dedicated, promised_cpu
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.cpu.sets import CpuSet, set_of
from numaproof.harness.providers.cpu.topology import CpuTopology, Level


@dataclass(frozen=True, slots=True)
class Claim:
    """What one pod needs."""

    node: int | None = None  # of which it shares CPUs; None: its CPUs tell, or it shares none
    cpus: CpuSet = 0  # that it is bound to and shares; 0: none in particular
    thousandths: int = 0  # of cpu that it shares


def claim_of(pod: Pod, exclusive: int) -> Claim:
    """The claim of a bound pod that gets so many CPUs of its own."""
    if pod.cpu_affinity is not None:
        return Claim() if is_dedicated(pod) else Claim(None, set_of(pod.cpu_affinity), promised_cpu(pod))
    shared = promised_cpu(pod) - 1000 * exclusive
    return Claim(pod.numa_node_id, 0, shared) if shared > 0 else Claim()


def kept(claims: Iterable[Claim], topology: CpuTopology, free: CpuSet) -> CpuSet:
    """Which of the free CPUs have to stay shared.

    Those that pods are bound to; and as many more of each NUMA node as hold what was promised there.
    """
    pods = tuple(claims)
    bound = 0
    for one in pods:
        bound |= one.cpus
    found = bound & free
    for node, members in topology.groups[Level.NODE].items() if pods else ():
        promised = sum(one.thousandths for one in pods if (one.cpus & members if one.cpus else one.node == node))
        more = -(-promised // 1000) - (bound & members).bit_count()
        found |= _least_missed(topology, free & members & ~bound, more)
    return found


def _least_missed(topology: CpuTopology, free: CpuSet, count: int) -> CpuSet:
    """So many free CPUs, or all: of broken cores first, then of whole ones, from the highest on."""
    found = 0
    parts = [(core, core & free) for core in topology.groups[Level.CORE].values() if core & free]
    for _, part in sorted(parts, key=lambda one: (one[0] == one[1], -one[1])):
        left = part
        while left and found.bit_count() < count:
            highest = 1 << left.bit_length() - 1
            found |= highest
            left &= ~highest
    return found
