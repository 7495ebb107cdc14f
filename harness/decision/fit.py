"""The check after topology admission: whether the node has enough of everything that the pod asks for."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.quantity import milli_value, value
from numaproof.harness.pods.requests import effective_requests
from numaproof.harness.topology.verdict import Verdict

Amounts = Mapping[str, int]  # by resource; cpu in thousandths

# The order in which the kubelet looks; what comes after is in the order of names.
_FIRST = ("cpu", "memory", "ephemeral-storage")


def whole_amounts(quantities: Mapping[str, Fraction]) -> Amounts:
    """Quantities as the kubelet's whole numbers."""
    return {name: (milli_value if name == "cpu" else value)(amount) for name, amount in quantities.items()}


def requests_of(pod: Pod) -> Amounts:
    """What a pod asks for, as far as it is counted."""
    return whole_amounts(effective_requests(pod))


def check_fit(requests: Amounts, others: Iterable[Amounts], allocatable: Amounts) -> Verdict | None:
    """The refusal, if beside the other pods' requests there is not enough left; None if the pod fits.

    An extended resource that the node has never had is no reason to refuse: it may be the business of others.
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
            figures = f"requested: {requested}, used: {used.get(name, 0)}, capacity: {allocatable[name]}"
            return Verdict(False, f"OutOf{name}", f"Node didn't have enough resource: {name}, {figures}")
    return None
