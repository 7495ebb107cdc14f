"""Replay of recorded CPU allocations: one Guaranteed container that asks for a whole number of CPUs."""

from fractions import Fraction
from typing import Any

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.cpu import CpuManager, CpuTopology
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.provider import AllocationError

_POD, _CONTAINER = "p", "c"
_OUTPUT = ("cpus_taken", "error", "error_type")


def pod_asking_for(cpus: int) -> Pod:
    """The Guaranteed pod `p` whose container `c` asks for so many CPUs."""
    ask = {"cpu": Fraction(cpus), "memory": Fraction(1)}
    return Pod(name=_POD, uid=_POD, containers=(Container(name=_CONTAINER, requests=ask, limits=ask),))


def replay(case: dict[str, Any]) -> dict[str, Any]:
    """Which CPUs the container gets, or the error and its type."""
    manager = CpuManager(CpuTopology.of(case["cpus"]), "static", case["options"], case["reserved"])
    available, reserved, reusable = set(case["available"]), set(case["reserved"]), case["reusable"]
    others = {row[0] for row in case["cpus"]} - available - reserved - set(reusable)
    assignments = {("q", "others"): others, (_POD, "init"): reusable}
    manager.restore({key: cpus for key, cpus in assignments.items() if cpus}, reusable={_POD: reusable})
    pod = pod_asking_for(case["request"])
    affinity = None if case["affinity"] is None else mask_of(case["affinity"])
    try:
        manager.allocate(pod, pod.containers[0], TopologyHint(affinity, preferred=True))
    except AllocationError as error:
        known = error.reason if error.reason != AllocationError.reason else None
        return {"cpus_taken": None, "error": str(error), "error_type": known}
    taken = manager.assignments[_POD, _CONTAINER]
    return {"cpus_taken": sorted(taken), "error": None, "error_type": None}


def differences(case: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What differs from the record; nothing in it is random."""
    return [f"{name}: recorded {case[name]}, here {answer[name]}" for name in _OUTPUT if case[name] != answer[name]]
