"""What init containers leave: the kubelet keeps it for the pod once they have ended."""

from collections.abc import Iterator, Mapping

from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.explain.stock import CPU
from numaproof.harness.pods.pod import Pod

Piece = tuple[str, tuple[int, ...]]  # a CPU or a device, and the NUMA nodes that it belongs to


def pieces(given: Assignment, resource: str, node_of: Mapping[int, int]) -> frozenset[Piece]:
    """The single CPUs, or devices of a resource, that a container was given."""
    if resource == CPU:
        return frozenset((str(cpu), (node_of[cpu],)) for cpu in given.cpus)
    return frozenset((one.id, tuple(one.numa or ())) for one in given.devices.get(resource, ()))


def left_for(
    pod: Pod, given: Mapping[str, Assignment], name: str, resource: str, node_of: Mapping[int, int]
) -> frozenset[Piece]:
    """What ended init containers have left when it is a container's turn, and no sidecar has taken."""
    left: frozenset[Piece] = frozenset()
    for one in _before(pod, name):
        own = pieces(given.get(one, Assignment()), resource, node_of)
        left = left | own if one in _ended(pod) else left - own
    return left


def unused(pod: Pod, given: Mapping[str, Assignment], resource: str, node_of: Mapping[int, int]) -> frozenset[Piece]:
    """What ended init containers hold and no other container of the pod has: nobody uses it, and nobody gets it."""
    ended = frozenset[Piece]().union(*(pieces(given[one], resource, node_of) for one in _ended(pod) if one in given))
    staying = (one for one in given if one not in _ended(pod))
    return ended.difference(*(pieces(given[one], resource, node_of) for one in staying))


def _ended(pod: Pod) -> tuple[str, ...]:
    return tuple(one.name for one in pod.init_containers if pod.ends(one))


def _before(pod: Pod, name: str) -> Iterator[str]:
    for one in pod.init_containers:
        if one.name == name:
            return
        yield one.name
