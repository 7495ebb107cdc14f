"""Replays whole admission sequences: pods come and go on one machine, and every answer counts."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.decision.trace import Trace
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.quantity import parse_quantity, value
from numaproof.harness.providers.devices import Device
from numaproof.harness.vectors.device_alloc import RecordingPort, numa_counts
from numaproof.harness.vectors.memory import memory_nodes
from numaproof.harness.vectors.merge import hint_to_json


def replay(case: dict[str, Any]) -> list[dict[str, Any] | None]:
    """The result of every event; a removal has none."""
    port = RecordingPort({plugin["resource"]: plugin["preferred"] for plugin in case["plugins"] if plugin["preferred"]})
    managers = managers_of(case, port)
    numa = {device["id"]: device["numa"] for plugin in case["plugins"] for device in plugin["devices"]}
    uids: dict[str, str] = {}
    results: list[dict[str, Any] | None] = []
    for event in case["events"]:
        if "remove" in event:
            managers.remove(uids.get(event["remove"], ""))
            results.append(None)
            continue
        pod = pod_from(event["admit"])
        uids[pod.name] = pod.uid
        port.calls.clear()
        results.append(result_of(managers.admit(pod), port.calls, numa))
    return results


def managers_of(case: dict[str, Any], port: RecordingPort) -> Managers:
    """The managers on the recorded machine, configured as recorded, with the plugins' devices listed."""
    managers = Managers(description_of(case), config_of(case), port)
    for resource, devices in devices_of(case).items():
        managers.devices.update(resource, devices)
    return managers


def description_of(case: dict[str, Any]) -> NodeDescription:
    """The recorded machine."""
    machine = case["machine"]
    nodes = tuple(node["id"] for node in machine["numa"])
    return NodeDescription(
        [tuple(row) for row in machine["cpus"]],
        tuple(memory_nodes(machine["numa"])),
        nodes,
        dict(zip(nodes, machine["distances"], strict=True)) if machine["distances"] else {},
    )


def config_of(case: dict[str, Any]) -> ManagerConfig:
    """The recorded configuration."""
    kubelet = case["kubelet"]
    return ManagerConfig(
        topology_policy=kubelet["topologyManagerPolicy"],
        topology_scope=kubelet["topologyManagerScope"],
        topology_options=kubelet["topologyManagerPolicyOptions"],
        cpu_policy=kubelet["cpuManagerPolicy"],
        cpu_options=kubelet["cpuManagerPolicyOptions"],
        reserved_cpus=frozenset(parse_cpulist(kubelet["reservedSystemCPUs"])),
        memory_policy=kubelet["memoryManagerPolicy"],
        reserved_memory={
            row["numaNode"]: {resource: _bytes(text) for resource, text in row["limits"].items()}
            for row in kubelet["reservedMemory"]
        },
    )


def devices_of(case: dict[str, Any]) -> dict[str, tuple[Device, ...]]:
    """The devices that the recorded plugins list, by resource."""
    return {plugin["resource"]: tuple(map(_device, plugin["devices"])) for plugin in case["plugins"]}


def differences(case: dict[str, Any], answer: list[dict[str, Any] | None]) -> list[str]:
    """What differs from the record, event by event; a recorded null of device ids or calls was random."""
    found = []
    for number, (event, result) in enumerate(zip(case["events"], answer, strict=True)):
        if result is not None:
            where = f"events[{number}] {event['admit']['metadata']['name']}"
            found += [f"{where}: {text}" for text in different(event["result"], result)]
    return found


def result_of(trace: Trace, calls: Iterable[dict[str, Any]], numa: dict[str, Any]) -> dict[str, Any]:
    """A decision in the form of a record; `numa`: the NUMA nodes of devices by id."""
    verdict = trace.verdict
    containers = {name: _container(given, numa) for name, given in trace.given.items()}
    return {
        "admitted": verdict.admitted,
        "reason": verdict.reason,
        "message": verdict.message,
        "containers": containers if verdict.admitted else None,
        "preferred_calls": sorted(calls, key=lambda call: str(call["resource"])) if verdict.admitted else [],
    }


def _container(assignment: Assignment, numa: dict[str, Any]) -> dict[str, Any]:
    return {
        "affinity": hint_to_json(assignment.affinity),
        "cpus": sorted(assignment.cpus) or None,
        "memory": [
            {"type": block.resource, "numa": list(block.nodes), "size": block.size} for block in assignment.memory
        ],
        "devices": {
            resource: {"numa_counts": numa_counts(ids, numa), "ids": sorted(ids)}
            for resource, ids in assignment.device_ids().items()
        },
    }


def different(recorded: dict[str, Any], result: dict[str, Any]) -> list[str]:
    """What differs in one result."""
    plain = ("admitted", "reason", "message")
    found = [
        f"{key}: recorded {recorded[key]!r}, here {result[key]!r}" for key in plain if recorded[key] != result[key]
    ]
    if found:
        return found
    known, answered = recorded["containers"] or {}, result["containers"] or {}
    for name in sorted(known.keys() | answered.keys()):
        found += _different_container(name, known.get(name, {}), answered.get(name, {}))
    expected = [
        _certain(mine, theirs)
        for mine, theirs in zip(result["preferred_calls"], recorded["preferred_calls"], strict=False)
    ]
    if expected != recorded["preferred_calls"] or len(result["preferred_calls"]) != len(expected):
        found.append(f"preferred_calls: recorded {recorded['preferred_calls']}, here {result['preferred_calls']}")
    return found


def _different_container(name: str, recorded: dict[str, Any], result: dict[str, Any]) -> list[str]:
    found = [
        f"{name}: {key}: recorded {recorded.get(key)}, here {result.get(key)}"
        for key in ("affinity", "cpus", "memory")
        if recorded.get(key) != result.get(key)
    ]
    mine, theirs = result.get("devices", {}), recorded.get("devices", {})
    answered = {resource: _certain(given, theirs.get(resource, {})) for resource, given in mine.items()}
    if answered != theirs:
        found.append(f"{name}: devices: recorded {theirs}, here {mine}")
    return found


def _certain(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """The answer with null where the record has null: what the kubelet chose at random."""
    return {key: None if key in theirs and theirs[key] is None else value for key, value in mine.items()}


def _device(row: dict[str, Any]) -> Device:
    numa = row["numa"]
    return Device(row["id"], None if numa is None else tuple(numa), healthy=not row.get("unhealthy", False))


def _bytes(text: str) -> int:
    quantity: Fraction = parse_quantity(text)
    return value(quantity)
