"""Replay of recorded device allocations: which devices a container gets, and what its plugin is asked."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.vectors.device_hints import RESOURCE, arranged

# The recorded plugins' ways to answer GetPreferredAllocation(available, must_include, size).
PREFERENCES: dict[str, Callable[[list[str], list[str], int], list[str]]] = {
    "lowest": lambda available, must, size: _filled(must, sorted(available), size),
    "highest": lambda available, must, size: _filled(must, sorted(available, reverse=True), size),
    "empty": lambda available, must, size: [],
    "one": lambda available, must, size: [max(available)],
    "all": lambda available, must, size: available,
}


class RecordingPort:
    """Plugins that answer by a named preference each, and what they were asked."""

    def __init__(self, preferences: dict[str, str]) -> None:
        self._preferences = preferences
        self.calls: list[dict[str, Any]] = []

    def offers(self, resource: str) -> bool:
        return resource in self._preferences

    def preferred(self, resource: str, available: list[str], must_include: list[str], size: int) -> list[str]:
        self.calls.append({"resource": resource, "available": available, "must_include": must_include, "size": size})
        return PREFERENCES[self._preferences[resource]](available, must_include, size)

    def offers_plural(self, resource: str) -> bool:
        return False

    def preferred_sets(
        self, resource: str, available: list[str], must_include: list[str], size: int
    ) -> list[list[str]]:
        raise NotImplementedError(f"{resource}: the recorded kubelet knows no such call")


def replay(case: dict[str, Any]) -> dict[str, Any]:
    """The devices by NUMA node and by id, the error, and the calls that the plugin got."""
    port = RecordingPort({} if case["plugin"] is None else {RESOURCE: case["plugin"]})
    manager, pod = arranged(case, port)
    affinity = None if case["affinity"] is None else mask_of(case["affinity"])
    error = None
    try:
        manager.allocate(pod, pod.containers[0], TopologyHint(affinity, False))
    except AllocationError as refused:
        error = str(refused)
    ids = sorted(manager.assignments.get(("p", "c"), {}).get(RESOURCE, ()))
    numa = {row["id"]: row["numa"] for row in case["devices"]}
    return {
        "numa_counts": None if error else numa_counts(ids, numa),
        "ids": None if error else ids,
        "error": error,
        "preferred_calls": port.calls,
    }


def differences(case: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What differs from the record, in which a null may stand for a random choice of the kubelet."""
    certain = ["error", *(field for field in ("ids", "numa_counts", "preferred_calls") if case[field] is not None)]
    found = [
        f"{field}: recorded {case[field]}, here {answer[field]}" for field in certain if case[field] != answer[field]
    ]
    if case["error"] is None and not found and len(set(answer["ids"])) != case["request"]:
        found.append(f"ids: {case['request']} devices asked for, here {answer['ids']}")
    return found


def numa_counts(ids: Collection[str], numa: dict[str, Any]) -> dict[str, int]:
    """How many of the devices are on which NUMA nodes: `0`, `0,1` for a device of two nodes, `none`."""
    return dict(Counter(",".join(map(str, numa[device_id] or ())) or "none" for device_id in ids))


def _filled(chosen: list[str], others: list[str], size: int) -> list[str]:
    return [*chosen, *(device_id for device_id in others if device_id not in chosen)][:size]
