"""Replay of recorded CPU hints: where the container `c` of the pod `p` can get its CPUs."""

from typing import Any

from numaproof.harness.providers.cpu import CpuManager, CpuTopology
from numaproof.harness.topology.bitmask import ids_of
from numaproof.harness.topology.hints import HintFamily
from numaproof.harness.vectors.cpu import pod_asking_for


def replay(case: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The hints in the kubelet's order; None: no preference."""
    manager = CpuManager(CpuTopology.of(case["cpus"]), "static", case["options"], case["reserved"])
    assignments = {tuple(key.split("/")): cpus for key, cpus in case["assigned"].items()}
    pod = pod_asking_for(case["request"])
    manager.restore({(uid, name): cpus for (uid, name), cpus in assignments.items()}, reusable={"p": case["reusable"]})
    hints = manager.get_topology_hints(pod, pod.containers[0]).get("cpu")
    if hints is None:
        return None
    listed = hints.hints() if isinstance(hints, HintFamily) else hints
    return [
        {"mask": None if hint.affinity is None else list(ids_of(hint.affinity)), "preferred": hint.preferred}
        for hint in listed
    ]


def differences(case: dict[str, Any], answer: list[dict[str, Any]] | None) -> list[str]:
    """What differs from the record; nothing in it is random."""
    return [] if case["hints"] == answer else [f"hints: recorded {case['hints']}, here {answer}"]
