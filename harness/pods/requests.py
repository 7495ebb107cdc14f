"""What a whole pod asks for: init containers run one after another, the others all at once."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

from numaproof.harness.pods.pod import Container, Pod

Number = TypeVar("Number", int, Fraction)


def pod_total(pod: Pod, ask: Callable[[Container], Number], zero: Number) -> Number:
    """The most that runs at any one time: an init container beside the sidecars before it, or all that stays."""
    sidecars = zero
    peak = zero
    for container in pod.init_containers:
        if pod.ends(container):
            peak = max(peak, sidecars + ask(container))
        else:
            sidecars += ask(container)
    return max(peak, sum((ask(container) for container in pod.containers), start=sidecars))


def effective_requests(pod: Pod) -> dict[str, Fraction]:
    """The pod's request as a whole, and of what it leaves open its containers' total."""
    return {**container_requests(pod), **(pod.resources.requests if pod.resources else {})}


def container_requests(pod: Pod) -> dict[str, Fraction]:
    """The containers' total request of every resource that one of them names."""
    return _totals(pod, lambda container: container.requests)


def container_limits(pod: Pod) -> dict[str, Fraction]:
    """The containers' total limit of every resource that one of them limits."""
    return _totals(pod, lambda container: container.limits)


def _totals(pod: Pod, of: Callable[[Container], Mapping[str, Fraction]]) -> dict[str, Fraction]:
    names = sorted({name for container in pod.all_containers() for name in of(container)})

    def total(name: str) -> Fraction:
        return pod_total(pod, lambda container: of(container).get(name, Fraction(0)), Fraction(0))

    return {name: total(name) for name in names}
