"""Whether saved CPU assignments fit the machine and the configuration of today, by the kubelet's rules."""

from collections.abc import Collection, Mapping

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.sets import CpuSet, cpu_list
from numaproof.harness.providers.cpu.topology import CpuTopology
from numaproof.harness.vocabulary import ContainerKey

_REMEDY = "drain the node and remove the CPU manager's state file"


def check_known(
    topology: CpuTopology, assignments: Mapping[ContainerKey, Collection[int]], shared: Collection[int]
) -> None:
    """Raise UserError if a CPU is not one of this machine."""
    for cpus in (shared, *assignments.values()):
        for cpu in cpus:
            if cpu not in topology.node_of:
                raise UserError(
                    f"current set of available CPUs {cpu_list(topology.cpus)} doesn't match with CPU {cpu} in state; "
                    f"{_REMEDY}"
                )


def check_saved(
    assigned: Mapping[ContainerKey, CpuSet], shared: CpuSet, pool: CpuSet, reserved: CpuSet, *, strict: bool
) -> None:
    """Raise UserError if assignments and shared pool are not the pool together, or reserved CPUs are misplaced."""
    if not shared:
        raise UserError(f"default cpuset cannot be empty; {_REMEDY}")
    if strict and shared & reserved:
        raise UserError(
            f"some of strictly reserved cpus: {cpu_list(shared & reserved)} are present in "
            f"defaultCpuSet: {cpu_list(shared)}; {_REMEDY}"
        )
    if not strict and reserved & ~shared:
        raise UserError(
            f"not all reserved cpus: {cpu_list(reserved)} are present in defaultCpuSet: {cpu_list(shared)}; {_REMEDY}"
        )
    known = shared
    for (uid, name), cpus in assigned.items():
        if cpus & shared:
            raise UserError(
                f"pod: {uid}, container: {name} cpuset: {cpu_list(cpus)} overlaps with default cpuset "
                f"{cpu_list(shared)}; {_REMEDY}"
            )
        known |= cpus
    if known != pool:
        raise UserError(
            f"current set of available CPUs {cpu_list(pool)} doesn't match with CPUs in state {cpu_list(known)}; "
            f"{_REMEDY}"
        )
