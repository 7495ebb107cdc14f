"""What a pod says of its place on a node: the NUMA proposal's fields, and the tolerations that ask for them."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.pods.pod import MemoryPolicy, Pod
from numaproof.harness.pods.quantity import milli_value
from numaproof.harness.pods.requests import effective_requests
from numaproof.harness.pods.taints import (
    ALL_THREE,
    CPU_AFFINITY,
    NUMA_CPU_AFFINITY,
    NUMA_MEMORY_POLICY,
    Taint,
    Toleration,
)

NUMA_NODE_FIELD = "spec.numaNodeID"
CPUS_FIELD = "spec.cpuAffinity"
LEAST_CPU = 1  # thousandth, of a bound pod that asks for none: so the last CPU of its place is not given away
_HIGHEST = 1 << 20  # of NUMA nodes and CPUs: more than any kernel has, so that a slip cannot fill the memory
_LONGEST = 60  # characters of a number, and of what a message repeats


def names(pod: Pod, key: str) -> bool:
    """Whether a toleration of the pod is for this taint of the proposal by its name; one for all taints is not."""
    return any(_is_for(one, key) for one in pod.tolerations)


def is_dedicated(pod: Pod) -> bool:
    """Whether the pod's CPUs are its alone, once it has them."""
    return names(pod, CPU_AFFINITY)


def missing_fields(pod: Pod) -> tuple[str, ...]:
    """The fields that the pod's tolerations wait for; it does not start without them."""
    missing = []
    if names(pod, NUMA_CPU_AFFINITY) and pod.numa_node_id is None:
        missing.append(NUMA_NODE_FIELD)
    if names(pod, CPU_AFFINITY) and pod.cpu_affinity is None:
        missing.append(CPUS_FIELD)
    return tuple(missing)


def is_bound(pod: Pod) -> bool:
    """Whether the pod has a place of its own."""
    return pod.numa_node_id is not None or pod.cpu_affinity is not None


def memory_policy(pod: Pod, taints: Iterable[Taint]) -> MemoryPolicy | None:
    """Whether the pod's memory has to fit its NUMA node: as the node's taint says, else as the pod's toleration does.

    None: nobody says anything.
    """
    told = [one.value for one in taints if one.key == NUMA_MEMORY_POLICY]
    told += [one.value for one in pod.tolerations if _is_for(one, NUMA_MEMORY_POLICY) and one.value]
    if not told:
        return None
    return "strict" if told[0] == "strict" else "preferred"


def affinity_fields(spec: Any, where: str) -> tuple[int | None, frozenset[int] | None]:
    """`numaNodeID` and `cpuAffinity` of a pod's spec, or of what binds one; None: empty or not there."""
    return numa_node_from(spec.get("numaNodeID"), f"{where}.numaNodeID"), cpus_from(
        spec.get("cpuAffinity"), f"{where}.cpuAffinity"
    )


def numa_node_from(value: Any, where: str) -> int | None:
    """The id of a NUMA node, which the proposal has as a text."""
    text = "" if value is None else str(value)
    if text == "":
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST  # int() takes no text of any length
    if isinstance(value, bool) or not is_number or int(text) > _HIGHEST:
        told = repr(value if len(text) <= _LONGEST else text[:_LONGEST])
        raise UserError(f'{where}: {told} is not the id of a NUMA node; write a number as a text, such as "0"')
    return int(text)


def cpus_from(value: Any, where: str) -> frozenset[int] | None:
    """A set of CPUs in the kernel's list format."""
    text = "" if value is None else str(value).strip()
    if text == "":
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValueError(f"{text[:_LONGEST]!r} is not a list of CPUs; write one such as 0-3,8")  # noqa: TRY301, TRY004 (told with the others)
        return frozenset(parse_cpulist(text))
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None


def check_tolerated(pod: Pod, where: str) -> None:
    """A UserError unless a pod with a place of its own has a toleration that allows one."""
    for field, given in ((NUMA_NODE_FIELD, pod.numa_node_id), (CPUS_FIELD, pod.cpu_affinity)):
        if given is not None and not (names(pod, CPU_AFFINITY) or names(pod, NUMA_CPU_AFFINITY)):
            either = f"{CPU_AFFINITY} or {NUMA_CPU_AFFINITY}"
            raise UserError(f"{where}: {field}: is for pods that tolerate {either}; add it to spec.tolerations")


def requested(pod: Pod, resource: str) -> Fraction:
    """What the pod as a whole asks for of a resource."""
    return effective_requests(pod).get(resource, Fraction(0))


def _is_for(toleration: Toleration, key: str) -> bool:
    return toleration.key == key and toleration.effect in ("", ALL_THREE)


def promised_cpu(pod: Pod) -> int:
    """The thousandths of cpu that a bound pod is promised in its place: what it asks for, and some to run on at all."""
    return max(milli_value(requested(pod, "cpu")), LEAST_CPU)
