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

    node: int | None = None  # of which it shares CPUs; None: its CPUs, which are of one node, tell, or it shares none
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
    bound = 0
    promised: dict[int, int] = {}
    for one in claims:
        if one.thousandths:
            bound |= one.cpus
            node = topology.node_of[one.cpus.bit_length() - 1] if one.node is None else one.node
            promised[node] = promised.get(node, 0) + one.thousandths
    found = bound & free
    for node, thousandths in promised.items():
        members = topology.groups[Level.NODE].get(node, 0)
        more = -(-thousandths // 1000) - (bound & members).bit_count()
        if more > 0:
            found |= _least_missed(topology, node, free & members & ~bound, more)
    return found


def _least_missed(topology: CpuTopology, node: int, free: CpuSet, count: int) -> CpuSet:
    """So many free CPUs of a NUMA node, or all: of broken cores first, then of whole ones, from the highest on."""
    cores = [topology.groups[Level.CORE][core] for core in topology.inner[Level.NODE, Level.CORE].get(node, ())]
    found = 0
    for core in sorted(cores, key=lambda core: (core & ~free == 0, -core)):
        left = core & free
        while left and found.bit_count() < count:
            highest = 1 << left.bit_length() - 1
            found |= highest
            left &= ~highest
    return found
