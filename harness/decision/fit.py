"""The check after topology admission: whether the node has enough of everything that the pod asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.quantity import milli_value, value
from numaproof.harness.pods.requests import effective_requests
from numaproof.harness.topology.verdict import Verdict

Amounts = Mapping[str, int]  # by resource; cpu in thousandths

# The order in which the kubelet looks; what comes after is in the order of names.
_FIRST = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class Room:
    """What the node has for pods, devices apart, and what it has promised to others."""

    allocatable: Amounts
    others: Iterable[Amounts]  # the requests of every other pod


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource of which the node has too little left."""

    resource: str
    requested: int
    used: int
    capacity: int

    def verdict(self) -> Verdict:
        """The refusal, in the kubelet's words."""
        figures = f"requested: {self.requested}, used: {self.used}, capacity: {self.capacity}"
        return Verdict(False, f"OutOf{self.resource}", f"Node didn't have enough resource: {self.resource}, {figures}")


def whole_amounts(quantities: Mapping[str, Fraction]) -> Amounts:
    """Quantities as the kubelet's whole numbers."""
    return {name: (milli_value if name == "cpu" else value)(amount) for name, amount in quantities.items()}


def requests_of(pod: Pod) -> Amounts:
    """What a pod asks for, as far as it is counted."""
    return whole_amounts(effective_requests(pod))


def find_shortage(requests: Amounts, others: Iterable[Amounts], allocatable: Amounts) -> Shortage | None:
    """The first resource of which too little is left beside the other pods' requests; None if the pod fits.

    An extended resource that the node has never had is not a reason to refuse: it may be the business of others.
    """
    used: dict[str, int] = {"pods": 0}
    for other in others:
        used["pods"] += 1
        for name, amount in other.items():
            used[name] = used.get(name, 0) + amount
    asked = {"pods": 1, **requests}
    for name in ("pods", *_FIRST, *sorted(set(requests) - set(_FIRST))):
        requested = asked.get(name, 0)
        if requested and name in allocatable and requested > allocatable[name] - used.get(name, 0):
            return Shortage(name, requested, used.get(name, 0), allocatable[name])
    return None
