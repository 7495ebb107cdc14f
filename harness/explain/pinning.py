"""Why the CPU and memory managers give a pod nothing of its own."""

from dataclasses import dataclass
from fractions import Fraction

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import qos_class
from numaproof.harness.providers.cpu.requests import exclusive_cpus

BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
POD_LEVEL = "pod-level resources"
PART_OF_A_CPU = "part of a CPU"


@dataclass(frozen=True, slots=True)
class Unpinned:
    """Why a pod's containers share CPUs with everybody."""

    cause: str
    container: str = ""  # the first one that is at fault; empty: the pod as a whole
    resource: str = ""  # of which it has no limit, or another limit than request


def why_not_pinned(pod: Pod) -> Unpinned | None:
    """Why the pod, or one of its containers, cannot have CPUs of its own; None: all of them can."""
    if pod.resources is not None:
        return Unpinned(POD_LEVEL)
    quality = qos_class(pod)
    if quality != "Guaranteed":
        name, resource = next(((one.name, lack) for one in pod.all_containers() if (lack := _lack(one))), ("", ""))
        return Unpinned(quality, name, resource)
    for container in pod.all_containers():
        if not exclusive_cpus(pod, container):
            return Unpinned(PART_OF_A_CPU, container.name, "cpu")
    return None


def _lack(container: Container) -> str:
    for resource in ("cpu", "memory"):
        limit = container.limits.get(resource, Fraction(0))
        if not limit or container.requests.get(resource) != limit:
            return resource
    return ""
