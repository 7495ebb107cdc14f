"""`device-plugins/kubelet_internal_checkpoint`: which devices belong to which container, in the kubelet's format."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.harness.node.state import files
from numaproof.harness.node.state.checksum import fnv1a, go_int_map, go_list, go_map, go_struct
from numaproof.harness.providers.devices import Device

NO_NODE = -1  # where the kubelet files devices that have no NUMA node


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """The devices of one resource that one container holds, by NUMA node, and what its plugin answered for them."""

    uid: str
    container: str
    resource: str
    ids: Mapping[int, tuple[str, ...]]  # by NUMA node; -1: devices without one; a device of two nodes is in both
    response: bytes  # a serialized ContainerAllocateResponse


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What the Device manager's file says."""

    entries: tuple[DeviceEntry, ...]
    registered: Mapping[str, tuple[str, ...]]  # resource -> ids of its healthy devices


def ids_by_node(devices: Iterable[Device]) -> dict[int, tuple[str, ...]]:
    """Device ids by NUMA node; one of several nodes is in each."""
    found: dict[int, list[str]] = {}
    for device in devices:
        for node in device.numa or (NO_NODE,):
            found.setdefault(node, []).append(device.id)
    return {node: tuple(ids) for node, ids in found.items()}


def devices_of(ids: Mapping[int, tuple[str, ...]], *, healthy: bool = False) -> tuple[Device, ...]:
    """The devices of a state file; to a node they are unhealthy until their plugin says otherwise."""
    nodes: dict[str, list[int]] = {}
    for node, names in sorted(ids.items()):
        for name in names:
            nodes.setdefault(name, []).extend(() if node == NO_NODE else (node,))
    return tuple(Device(name, tuple(found) or None, healthy) for name, found in sorted(nodes.items()))


def dump(state: DeviceState) -> str:
    """The file's text."""
    entries = [
        {
            "PodUID": entry.uid,
            "ContainerName": entry.container,
            "ResourceName": entry.resource,
            "DeviceIDs": {str(node): sorted(entry.ids[node]) for node in sorted(entry.ids)},
            "AllocResp": base64.b64encode(entry.response).decode(),
        }
        for entry in sorted(state.entries, key=lambda one: (one.uid, one.container, one.resource))
    ]
    registered = {resource: sorted(ids) for resource, ids in sorted(state.registered.items())}
    data: dict[str, Any] = {"PodDeviceEntries": entries or None, "RegisteredDevices": registered}
    return files.compact({"Data": data, "Checksum": checksum(data)})


def load(path: Path) -> DeviceState | None:
    """The file's state; None when there is none yet."""
    content = files.read(path)
    if content is None:
        return None
    try:
        data = content["Data"]
        computed = checksum(data)
        state = DeviceState(
            tuple(
                DeviceEntry(
                    entry["PodUID"],
                    entry["ContainerName"],
                    entry["ResourceName"],
                    {int(node): tuple(ids) for node, ids in entry["DeviceIDs"].items()},
                    _bytes_of(entry),
                )
                for entry in data["PodDeviceEntries"] or ()
            ),
            {resource: tuple(ids or ()) for resource, ids in (data["RegisteredDevices"] or {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error):
        raise files.corrupt(path, "is not a Device manager's state") from None
    files.check_sum(path, content.get("Checksum"), computed)
    return state


def _bytes_of(entry: Mapping[str, Any]) -> bytes:
    return base64.b64decode(entry["AllocResp"] or "", validate=True)


def checksum(data: Mapping[str, Any]) -> int:
    """The checksum of a file's data; a KeyError, TypeError, ValueError or AttributeError if part is missing."""
    entries = data["PodDeviceEntries"]
    registered = data["RegisteredDevices"]
    printed = go_struct(
        (
            (
                "PodDeviceEntries",
                "[]checkpoint.PodDevicesEntry",
                "<nil>" if entries is None else go_list(map(_printed_entry, entries)),
            ),
            (
                "RegisteredDevices",
                "map[string][]string",
                "<nil>" if registered is None else go_map({key: _printed_ids(ids) for key, ids in registered.items()}),
            ),
        )
    )
    return fnv1a(f"(checkpoint.checkpointData){printed}")


def _printed_entry(entry: Mapping[str, Any]) -> str:
    ids = {int(node): _printed_ids(ids) for node, ids in entry["DeviceIDs"].items()}
    response = entry["AllocResp"]
    return go_struct(
        (
            ("PodUID", "string", entry["PodUID"]),
            ("ContainerName", "string", entry["ContainerName"]),
            ("ResourceName", "string", entry["ResourceName"]),
            ("DeviceIDs", "checkpoint.DevicesPerNUMA", go_int_map(ids)),
            ("AllocResp", "[]uint8", "<nil>" if response is None else go_list(_bytes_of(entry))),
        )
    )


def _printed_ids(ids: Iterable[str] | None) -> str:
    return "<nil>" if ids is None else go_list(ids)
