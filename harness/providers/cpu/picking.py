"""Picking CPUs by the strategy that the options choose."""

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.distributed import pick_distributed
from numaproof.harness.providers.cpu.options import CpuOptions
from numaproof.harness.providers.cpu.packed import pick_packed
from numaproof.harness.providers.cpu.sets import CpuSet, ids_of
from numaproof.harness.providers.cpu.topology import CpuTopology


def pick(topology: CpuTopology, options: CpuOptions, free: CpuSet, count: int) -> CpuSet:
    """So many of the free CPUs; raises AllocationError if that cannot be."""
    spread = options.distribute_across_cores
    if options.distribute_across_nodes:
        group = topology.cpus_per_core if options.full_cores_only else 1
        return pick_distributed(topology, free, count, group=group, spread_cores=spread)
    return pick_packed(topology, free, count, spread_cores=spread, align_by_cache=options.align_by_cache)


def reserve(topology: CpuTopology, options: CpuOptions, count: int) -> frozenset[int]:
    """The CPUs that the static policy keeps for the system where only their number is configured."""
    if count > topology.cpus.bit_count():
        raise UserError(
            f"unable to reserve the required amount of CPUs: {count} of {topology.cpus.bit_count()}; reserve fewer"
        )
    return ids_of(pick(topology, options, topology.cpus, count))
