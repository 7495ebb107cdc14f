"""State files of a small node as kubelets write them: two pods on a machine of two NUMA nodes.

The checksums are computed by the rule of docs and seeds (32-bit FNV-1a over Go's print of the value); the v1.37 texts
are of the form that v1.37 writes, with the content a second time.
"""

import json
from typing import Any

from numaproof.harness.node.state import cpus, devices, memory
from numaproof.harness.node.state.checksum import fnv1a, text_checksum

GIB = 1 << 30
ONE, TWO = "uid-1", "uid-2"

CPU: dict[str, Any] = {
    "policyName": "static",
    "defaultCpuSet": "0,5-7",
    "entries": {ONE: {"app": "1-2"}, TWO: {"app": "3", "log": "4"}},
}


def _node(reserved: int, system: int, count: int, cell: int) -> dict[str, Any]:
    table = {
        "total": 8 * GIB,
        "systemReserved": system,
        "allocatable": 8 * GIB - system,
        "reserved": reserved,
        "free": 8 * GIB - system - reserved,
    }
    return {"numberOfAssignments": count, "memoryMap": {"memory": table}, "cells": [cell]}


MEMORY: dict[str, Any] = {
    "policyName": "Static",
    "machineState": {"0": _node(2 * GIB, GIB, 1, 0), "1": _node(0, 0, 0, 1)},
    "entries": {ONE: {"app": [{"numaAffinity": [0], "type": "memory", "size": 2 * GIB}]}},
}
DEVICES: dict[str, Any] = {
    "PodDeviceEntries": [
        {
            "PodUID": ONE,
            "ContainerName": "app",
            "ResourceName": "example.com/gpu",
            "DeviceIDs": {"0": ["gpu0"], "1": ["gpu1"]},
            "AllocResp": "",
        }
    ],
    "RegisteredDevices": {"example.com/gpu": ["gpu0", "gpu1", "gpu2"]},
}


def compact(value: object) -> str:
    """As Go writes it."""
    return json.dumps(value, separators=(",", ":"))


def cpu_file(content: dict[str, Any] = CPU) -> str:
    """cpu_manager_state of kubelets up to v1.36."""
    total = cpus.checksum(content["policyName"], content["defaultCpuSet"], content.get("entries", {}))
    return compact(content | {"checksum": total})


def memory_file(content: dict[str, Any] = MEMORY) -> str:
    """memory_manager_state of kubelets up to v1.36."""
    return compact(content | {"checksum": memory.checksum(content)})


def device_file(content: dict[str, Any] = DEVICES) -> str:
    """kubelet_internal_checkpoint."""
    return compact({"Data": content, "Checksum": devices.checksum(content)})


def twice(text: str) -> str:
    """The file as kubelet v1.37 writes it: with its content a second time, as a text with a checksum of its own."""
    content = json.loads(text)
    data = compact({key: one for key, one in content.items() if key != "checksum"})
    assert text_checksum(data) == fnv1a(f"(string){data}")
    return compact(content | {"data": data, "dataChecksum": text_checksum(data)})


ALL = {"cpu_manager_state": cpu_file(), "memory_manager_state": memory_file(), "checkpoint": device_file()}
