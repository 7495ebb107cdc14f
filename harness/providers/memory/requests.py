"""Which memory, in bytes by kind, a container or a whole pod asks the memory manager for."""

from collections import Counter
from collections.abc import Mapping

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.provider import AllocationError

MOST_BYTES = 2**63 - 1


def container_request(container: Container) -> Mapping[str, int]:
    """Bytes by memory resource; a quantity that is not a 64-bit number of bytes is refused, as in the kubelet."""
    request = {}
    for resource, quantity in sorted(container.requests.items()):
        if resource != MEMORY and not resource.startswith("hugepages-"):
            continue
        if quantity.denominator != 1 or quantity > MOST_BYTES:
            raise AllocationError("[memorymanager] failed to represent quantity as int64")
        request[resource] = quantity.numerator
    return request


def pod_request(pod: Pod) -> Mapping[str, int]:
    """What the pod needs at its hungriest moment, of the kinds that its app containers ask for."""
    apps: Counter[str] = Counter()
    for container in pod.containers:
        apps.update(container_request(container))
    sidecars: Counter[str] = Counter()
    starting: dict[str, int] = {}
    for container in pod.init_containers:
        request = container_request(container)
        if not pod.ends(container):
            sidecars.update(request)
            continue
        for resource, size in request.items():
            starting[resource] = max(starting.get(resource, 0), sidecars[resource] + size)
    return {resource: max(size + sidecars[resource], starting.get(resource, 0)) for resource, size in apps.items()}
