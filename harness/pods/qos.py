"""The quality-of-service class of a pod."""

from fractions import Fraction
from typing import Literal

from numaproof.harness.pods.pod import Pod

QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]

_RESOURCES = ("cpu", "memory")


def qos_class(pod: Pod) -> QosClass:
    """Guaranteed: all containers limit CPU and memory and ask for just that; BestEffort: none asks for anything.

    A pod with resources as a whole is judged by those alone.
    """
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    all_limited = True
    for asking in pod.all_containers() if pod.resources is None else (pod.resources,):
        for resource in _RESOURCES:
            request = asking.requests.get(resource, Fraction(0))
            if request > 0:
                requests[resource] = requests.get(resource, Fraction(0)) + request
            limit = asking.limits.get(resource, Fraction(0))
            if limit > 0:
                limits[resource] = limits.get(resource, Fraction(0)) + limit
            else:
                all_limited = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and requests == limits else "Burstable"


def is_pinned(pod: Pod) -> bool:
    """Whether the CPU and memory managers may serve a pod: Guaranteed, and without resources as a whole.

    Those are left to the feature gate PodLevelResourceManagers, which is off by default.
    """
    return pod.resources is None and qos_class(pod) == "Guaranteed"
