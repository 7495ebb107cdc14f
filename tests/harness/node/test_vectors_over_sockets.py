"""The recorded decisions of the kubelet, reproduced by a whole node over gRPC, plugins and all.

A whole node does more than topology admission (see the vectors' format): sequences in which that makes a difference,
or whose devices the wire cannot say, are not in the sample. Everything else is compared as recorded.
"""

import json
import lzma
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from numaproof.fake_sysfs import Cache, Cpu, Hugepages, Machine, NumaNode
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.decision.discovery import cpu_rows
from numaproof.harness.decision.fit import requests_of
from numaproof.harness.node.node import Node
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.quantity import parse_quantity
from numaproof.harness.vectors.device_alloc import PREFERENCES, numa_counts
from numaproof.harness.vectors.node import differences
from numaproof.plugins_mock import MockDevice, MockPlugin
from tests.harness.node.running import client, running_node, wait_for_devices

VECTORS = Path(__file__).parents[2] / "vectors" / "node.jsonl.xz"
SEQUENCES, PARTS = 120, 4


@cache
def sample() -> list[dict[str, Any]]:
    """Sequences on which a whole node has nothing to add, spread over the whole file."""
    with lzma.open(VECTORS, "rt") as lines:
        usable = [case for case in map(json.loads, lines) if is_usable(case)]
    assert len(usable) >= SEQUENCES
    step = len(usable) // SEQUENCES
    return list(islice(usable, 0, step * SEQUENCES, step))


def is_usable(case: dict[str, Any]) -> bool:
    listed = [device for plugin in case["plugins"] for device in plugin["devices"]]
    if any(device["numa"] == [] for device in listed):
        return False  # a topology without nodes
    pods = [event["admit"] for event in case["events"] if "admit" in event]
    if case["kubelet"]["memoryManagerPolicy"] == "Static" and any(pod["spec"].get("initContainers") for pod in pods):
        return False  # their memory is free again once they have ended
    if case["kubelet"]["cpuManagerPolicyOptions"].get("prefer-align-cpus-by-uncorecache") == "true":
        groups = [row[2] for row in cpu_rows(machine_of(case))]
        if groups != [row[2] for row in case["machine"]["cpus"]]:
            return False  # caches that span a node exactly
    return always_fits(case)


def always_fits(case: dict[str, Any]) -> bool:
    """Whether the pods that are admitted never promise more than the node has."""
    capacity: Counter[str] = Counter()
    for node in case["machine"]["numa"]:
        capacity["memory"] += node["memory"]
        for size, pages in node["hugepages"].items():
            amount = pages * int(parse_quantity(size))
            capacity[f"hugepages-{size}"] += amount
            capacity["memory"] -= amount
    for row in case["kubelet"]["reservedMemory"]:
        for resource, text in row["limits"].items():
            capacity[resource] -= int(parse_quantity(text))
    reserved = case["kubelet"]["reservedSystemCPUs"]
    capacity["cpu"] = 1000 * (len(case["machine"]["cpus"]) - (len(reserved_ids(reserved)) if reserved else 0))
    present: dict[str, Any] = {}
    for event in case["events"]:
        if "remove" in event:
            present.pop(event["remove"], None)
        elif event["result"]["admitted"]:
            present[event["admit"]["metadata"]["name"]] = requests_of(pod_from(event["admit"]))
            used: Counter[str] = Counter()
            for requests in present.values():
                used.update(requests)
            if any(used[resource] > capacity[resource] for resource in used if "/" not in resource):
                return False
    return True


def reserved_ids(text: str) -> set[int]:
    spans = [part.split("-") for part in text.split(",")]
    return {cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)}


def machine_of(case: dict[str, Any]) -> Machine:
    rows = case["machine"]["cpus"]
    groups: dict[int, list[int]] = {}
    for cpu, _core, uncore, _node, _socket in rows:
        groups.setdefault(uncore, []).append(cpu)
    ids = [node["id"] for node in case["machine"]["numa"]]
    distances = case["machine"]["distances"]
    return Machine(
        "recorded",
        tuple(Cpu(cpu, core, 0, socket, node) for cpu, core, _uncore, node, socket in rows),
        tuple(
            NumaNode(
                node["id"],
                node["memory"],
                tuple(Hugepages(int(parse_quantity(size)) // 1024, pages) for size, pages in node["hugepages"].items()),
                tuple(distances[index][other] for other in ids) if distances else (),
            )
            for index, node in enumerate(case["machine"]["numa"])
        ),
        tuple(Cache(3, "Unified", 1 << 20, tuple(cpus), uncore) for uncore, cpus in groups.items()),
    )


def kubelet_of(case: dict[str, Any]) -> dict[str, Any]:
    """The recorded configuration, with the reservations from which a whole kubelet derives the reserved memory."""
    totals: Counter[str] = Counter()
    for row in case["kubelet"]["reservedMemory"]:
        for resource, text in row["limits"].items():
            totals[resource] += int(parse_quantity(text))
    recorded: dict[str, Any] = case["kubelet"]
    return recorded | {
        "evictionHard": {"memory.available": "0"},
        "systemReserved": {resource: str(amount) for resource, amount in totals.items()},
        "featureGates": {"CPUManagerPolicyAlphaOptions": True},
    }


def preference(name: str | None) -> Callable[[Sequence[str], Sequence[str], int], list[list[str]]] | None:
    if name is None:
        return None
    return lambda available, must_include, size: [list(PREFERENCES[name](list(available), list(must_include), size))]


def result_of(answer: api.AdmitResponse, asked: list[dict[str, Any]], numa: dict[str, Any]) -> dict[str, Any]:
    """The node's answer in the form of the record."""
    return {
        "admitted": answer.verdict.admitted,
        "reason": answer.verdict.reason,
        "message": answer.verdict.message,
        "preferred_calls": sorted(asked, key=lambda call: str(call["resource"])) if answer.verdict.admitted else [],
        "containers": {
            container.name: {
                "affinity": {
                    "mask": list(container.affinity.affinity.nodes)
                    if container.affinity.HasField("affinity")
                    else None,
                    "preferred": container.affinity.preferred,
                },
                "cpus": list(container.cpus) or None,
                "memory": [
                    {"type": block.resource, "numa": list(block.nodes), "size": block.size}
                    for block in container.memory
                ],
                "devices": {
                    one.resource: {
                        "numa_counts": numa_counts([device.id for device in one.devices], numa),
                        "ids": sorted(device.id for device in one.devices),
                    }
                    for one in container.devices
                },
            }
            for container in answer.pod.containers
        }
        if answer.verdict.admitted
        else None,
    }


def replay_over_sockets(
    case: dict[str, Any], look: Callable[[Node], None] = lambda _node: None
) -> list[dict[str, Any] | None]:
    """What a node answers to every event; `look` sees it after the last one."""
    asked: list[dict[str, Any]] = []
    numa = {device["id"]: device["numa"] for plugin in case["plugins"] for device in plugin["devices"]}
    with running_node(kubelet_of(case), machine_of(case)) as node, client(node.root) as control, ExitStack() as stack:

        def record(resource: str) -> Callable[[Any], None]:
            def note(call: Any) -> None:
                if call.name == "GetPreferredAllocation":
                    request = call.request.container_requests[0]
                    asked.append(
                        {
                            "resource": resource,
                            "available": list(request.available_deviceIDs),
                            "must_include": list(request.must_include_deviceIDs),
                            "size": request.allocation_size,
                        }
                    )

            return note

        plugins = [
            stack.enter_context(
                MockPlugin(
                    plugin["resource"],
                    [
                        MockDevice(
                            one["id"],
                            None if one["numa"] is None else tuple(one["numa"]),
                            healthy=not one.get("unhealthy", False),
                        )
                        for one in plugin["devices"]
                    ],
                    node.device_plugins,
                    preferred=preference(plugin["preferred"]),
                    on_call=record(plugin["resource"]),
                )
            )
            for plugin in case["plugins"]
        ]
        wait_for_devices(node, *plugins)
        uids: dict[str, str] = {}
        results: list[dict[str, Any] | None] = []
        for event in case["events"]:
            if "remove" in event:
                if event["remove"] in uids:
                    control.remove(uids[event["remove"]])
                results.append(None)
                continue
            asked.clear()
            uids[event["admit"]["metadata"]["name"]] = event["admit"]["metadata"]["uid"]
            results.append(result_of(control.admit(event["admit"]), list(asked), numa))
        look(node)
        return results


@pytest.mark.parametrize("part", range(PARTS))
def test_a_whole_node_decides_as_recorded(part: int) -> None:
    for number, case in enumerate(sample()):
        if number % PARTS == part:
            assert differences(case, replay_over_sockets(case)) == [], f"sequence {number} of the sample"


def test_the_sample_has_every_policy_and_scope() -> None:
    kinds = Counter(
        (case["kubelet"]["topologyManagerPolicy"], case["kubelet"]["topologyManagerScope"]) for case in sample()
    )
    assert len(kinds) == 8
    assert min(kinds.values()) >= 5
