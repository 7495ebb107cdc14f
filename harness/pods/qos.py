"""The quality-of-service class of a pod."""

from fractions import Fraction
from typing import Literal

from harness.pods.pod import Pod

QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]

_RESOURCES = ("cpu", "memory")


def qos_class(pod: Pod) -> QosClass:
    """Guaranteed: all containers limit CPU and memory and ask for just that; BestEffort: none asks for anything."""
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    all_limited = True
    for container in pod.all_containers():
        for resource in _RESOURCES:
            request = container.requests.get(resource, Fraction(0))
            if request > 0:
                requests[resource] = requests.get(resource, Fraction(0)) + request
            limit = container.limits.get(resource, Fraction(0))
            if limit > 0:
                limits[resource] = limits.get(resource, Fraction(0)) + limit
            else:
                all_limited = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and requests == limits else "Burstable"
