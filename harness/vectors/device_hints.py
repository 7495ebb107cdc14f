"""Replay of recorded device hints: where a container can get its devices."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.devices import Device, DeviceManager, PreferredPort
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.hints import HintFamily, TopologyHint

RESOURCE = "example.com/gpu"
_NOWHERE = TopologyHint(None, False)


def replay(case: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The hints in the kubelet's order; None: no preference."""
    manager, pod = arranged(case, None)
    hints = manager.get_topology_hints(pod, pod.containers[0])[RESOURCE]
    if hints is None:
        return None
    listed = hints.hints() if isinstance(hints, HintFamily) else hints
    return [{"mask": list(ids_of(affinity)), "preferred": preferred} for affinity, preferred in listed if affinity]


def differences(case: dict[str, Any], answer: list[dict[str, Any]] | None) -> list[str]:
    """What differs from the record; nothing in it is random."""
    return [] if case["hints"] == answer else [f"hints: recorded {case['hints']}, here {answer}"]


def arranged(case: Mapping[str, Any], port: PreferredPort | None) -> tuple[DeviceManager, Pod]:
    """A manager in the recorded situation, and the pod that is to be served; its init container leaves devices."""
    manager = DeviceManager(case["numa_nodes"], port)
    reusable = frozenset(case["reusable"])
    init = (_asking("init", len(reusable)),) if reusable else ()
    pod = Pod("p", "p", init, (_asking("c", case["request"]),))
    taken = frozenset(case["allocated"]) - reusable
    manager.restore(
        {
            **({("p", "init"): {RESOURCE: reusable}} if reusable else {}),
            **({("other", "c"): {RESOURCE: taken}} if taken else {}),
        }
    )
    # A device may have fallen ill after the init container got it.
    manager.update(RESOURCE, [_device(row, healthy=True) for row in case["devices"]])
    for container in init:
        manager.allocate(pod, container, _NOWHERE)
    manager.update(RESOURCE, [_device(row, healthy=row["healthy"]) for row in case["devices"]])
    return manager, pod


def _asking(name: str, devices: int) -> Container:
    request = {RESOURCE: Fraction(devices)}
    return Container(name, request, request)


def _device(row: Mapping[str, Any], *, healthy: bool) -> Device:
    return Device(row["id"], None if row["numa"] is None else tuple(row["numa"]), healthy)
