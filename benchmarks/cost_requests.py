"""What is asked of machines in the benchmarks of costs."""

from collections.abc import Iterator

from numaproof.harness.cost.costs import Costs
from numaproof.harness.cost.names import CPU
from numaproof.harness.vocabulary import USUAL_RESOURCES

GPU = USUAL_RESOURCES["gpu"]
NIC = USUAL_RESOURCES["rdma"]

CPUS = (1, 2, 4, 8, 15, 16, 32, 64)
GPUS = range(1, 9)
NICS = range(5)


def requests(costs: Costs) -> Iterator[dict[str, int]]:
    """1-8 GPUs, 0-4 NICs and 1-64 CPUs in all combinations that the machine has; only CPUs where it has no GPUs."""
    there = {resource: len(ids) for resource, ids in costs.instances.items()}
    for cpus in CPUS:
        for gpus in GPUS if GPU in there else (0,):
            for nics in NICS if NIC in there else (0,):
                request = {CPU: cpus, GPU: gpus, NIC: nics}
                if all(count <= there.get(resource, 0) for resource, count in request.items()):
                    yield {resource: count for resource, count in request.items() if count}
