"""`pods/`: one file for every pod that is here, with all that it was given; nothing if it waits to be bound.

A pod is admitted when its file is there, and removed when it is gone: these files decide, and they survive the machine.
The kubelet's files say the same in the kubelet's own form.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from numaproof.errors import UserError
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.node.state import files
from numaproof.harness.node.state.devices import devices_of, ids_by_node
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.pod import MemoryPolicy, Pod
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import TopologyHint

_MEMORY_POLICIES: Mapping[Any, MemoryPolicy | None] = {None: None, "strict": "strict", "preferred": "preferred"}
_TRUTHS = {None: False, True: True}
_LONGEST_NAME = 200  # file systems hold 255 bytes; ours has a frame


@dataclass(frozen=True, slots=True)
class SavedPod:
    """A pod, what each of its containers was given, and what the plugins answered for it."""

    pod: Pod
    manifest: Mapping[str, Any]
    assignments: Mapping[str, Assignment]  # by container; devices that were loaded are unhealthy until they are listed
    responses: Mapping[tuple[str, str], bytes]  # by container and resource: a serialized ContainerAllocateResponse
    waits: bool = False  # to be bound: it was given nothing


def save(directory: Path, saved: SavedPod) -> None:
    """Make the pod's admission durable."""
    responses: dict[str, dict[str, bytes]] = {name: {} for name in saved.assignments}
    for (name, resource), response in saved.responses.items():
        responses[name][resource] = response
    content: dict[str, Any] = {
        "manifest": saved.manifest,
        "uid": saved.pod.uid,
        "containers": {name: _container_json(one, responses[name]) for name, one in saved.assignments.items()},
    }
    # Files of pods that have nothing to do with the NUMA proposal say nothing of it.
    content |= {"waits": True} if saved.waits else {}
    content |= {"numaMemoryPolicy": saved.pod.numa_memory} if saved.pod.numa_memory else {}
    text = files.compact(content | {"checksum": files.sha256(content)})
    files.write(_file_of(directory, saved.pod.uid), text, durable=True)


def delete(directory: Path, uid: str) -> None:
    """Make the pod's removal durable."""
    _file_of(directory, uid).unlink(missing_ok=True)
    files.sync_directory(directory)


def load(directory: Path) -> list[SavedPod]:
    """All admitted pods, in the order of their files; half-written ones of a killed node are nobody's."""
    return [_load(path) for path in sorted(directory.glob("pod-*.json"))]


def _load(path: Path) -> SavedPod:
    content = files.read(path) or {}
    try:
        stored = content.pop("checksum")
        computed = files.sha256(content)
        manifest = content["manifest"]
        pod = pod_from(manifest | {"metadata": manifest["metadata"] | {"uid": content["uid"]}})
        pod = replace(pod, numa_memory=_MEMORY_POLICIES[content.get("numaMemoryPolicy")])
        waits = _TRUTHS[content.get("waits")]
        assignments = {name: _assignment_of(one) for name, one in content["containers"].items()}
        responses = {
            (name, resource): base64.b64decode(held["response"], validate=True)
            for name, one in content["containers"].items()
            for resource, held in one["devices"].items()
        }
    except (UserError, KeyError, TypeError, ValueError, AttributeError, binascii.Error):
        raise files.corrupt(path, "is not an admitted pod's file") from None
    files.check_sum(path, stored, computed)
    return SavedPod(pod, manifest, assignments, responses, waits)


def _container_json(container: Assignment, responses: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "affinity": {"mask": container.affinity.affinity, "preferred": container.affinity.preferred},
        "cpus": sorted(container.cpus),
        "memory": [{"nodes": one.nodes, "resource": one.resource, "size": one.size} for one in container.memory],
        "devices": {
            resource: {
                "ids": {str(node): list(ids) for node, ids in ids_by_node(devices).items()},
                "response": base64.b64encode(responses.get(resource, b"")).decode(),
            }
            for resource, devices in container.devices.items()
        },
    }


def _assignment_of(content: Mapping[str, Any]) -> Assignment:
    mask = content["affinity"]["mask"]
    return Assignment(
        TopologyHint(None if mask is None else NodeMask(mask), bool(content["affinity"]["preferred"])),
        frozenset(content["cpus"]),
        tuple(Block(tuple(one["nodes"]), one["resource"], one["size"]) for one in content["memory"]),
        {
            resource: devices_of({int(node): tuple(ids) for node, ids in one["ids"].items()})
            for resource, one in content["devices"].items()
        },
    )


def _file_of(directory: Path, uid: str) -> Path:
    name = quote(uid, safe="")
    if len(name) > _LONGEST_NAME:
        name = hashlib.sha256(uid.encode()).hexdigest()
    return directory / f"pod-{name}.json"
