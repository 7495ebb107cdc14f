"""Explanations to report: two NUMA nodes of eight CPUs, the first of which is reserved, and pods with GPUs."""

from collections.abc import Mapping
from typing import Any

from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import settings_of
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.providers.devices import Device

GPU = "example.com/gpu"
MACHINE = parse_machine("numa:2(memory=8GiB) core:8 pu:1")
DEVICES = {GPU: (Device("g0", (0,)), Device("g1", (0,)), Device("g2", (1,), healthy=False))}


def pod(name: str, cpu: int | str, memory: str = "1Gi", gpu: int = 0) -> dict[str, Any]:
    """A Guaranteed pod of one container."""
    limits = {"cpu": cpu, "memory": memory} | ({GPU: gpu} if gpu else {})
    container = {"name": "app", "resources": {"limits": limits}}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def explained(
    asked: Mapping[str, Any],
    *running: Mapping[str, Any],
    machine: Machine = MACHINE,
    devices: Mapping[str, tuple[Device, ...]] = DEVICES,
    **settings: Any,
) -> Explanation:
    """The decision about a pod after others came."""
    told = {
        "topologyManagerPolicy": "single-numa-node",
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "memoryManagerPolicy": "Static",
        "evictionHard": {"memory.available": "1Gi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        **settings,
    }
    node = assemble(machine, settings_of(told, Where("kubelet")), devices, [pod_from(one) for one in running])
    return explain(node.replica, pod_from(asked), node.history)
