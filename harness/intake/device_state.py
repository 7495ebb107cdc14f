"""`kubelet_internal_checkpoint`, as copied or pasted: which devices belong to which container."""

from typing import Any, TypeGuard

from numaproof.harness.intake.checkpoint import check_sum, is_name, read_checkpoint, table_at
from numaproof.harness.intake.loose_json import path_text
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.node.state.devices import NO_NODE, checksum, devices_of
from numaproof.harness.providers.devices import Device
from numaproof.harness.vocabulary import ContainerKey

_KEYS = ("Data", "PodDeviceEntries", "RegisteredDevices")


def read_device_state(text: str, where: str) -> KubeletState:
    """What the device manager's file says; kubelets before 1.20 do not tell the NUMA nodes of devices."""
    read = read_checkpoint(text, where, _KEYS, "kubelet_internal_checkpoint")
    notes = read.notes
    data = table_at(read.content, "Data", where, notes) if "Data" in read.content else read.content
    held: dict[ContainerKey, dict[str, tuple[Device, ...]]] = {}
    unreadable = unplaced = 0
    entries = data.get("PodDeviceEntries") or []
    for entry in entries if isinstance(entries, list) else [entries]:
        found = _devices_of(entry)
        if found is None:
            unreadable += 1
            continue
        unplaced += isinstance(entry["DeviceIDs"], list)
        held.setdefault((entry["PodUID"], entry["ContainerName"]), {})[entry["ResourceName"]] = found
    if unreadable:
        several = "1 entry is" if unreadable == 1 else f"{unreadable} entries are"
        notes.append(f"{where}: PodDeviceEntries: {several} not complete, and passed over")
    if unplaced:
        notes.append(f"{where}: the NUMA nodes of devices are not told (a kubelet before 1.20)")
    registered: dict[str, tuple[str, ...]] = {}
    for resource, ids in table_at(data, "RegisteredDevices", where, notes).items():
        if is_name(resource) and (ids is None or _are_texts(ids)):
            registered[resource] = tuple(ids or ())
        else:
            notes.append(
                f"{where}: {path_text(('RegisteredDevices', resource))}: is not a list of ids, and is passed over"
            )
    if "RegisteredDevices" not in data:
        notes.append(f"{where}: RegisteredDevices: is not there, so which devices are registered is not known")
    if read.is_whole and not unplaced:
        check_sum(where, notes, read.content.get("Checksum"), lambda: checksum(data))
    return KubeletState(devices=held, registered=registered, notes=tuple(notes))


def _devices_of(entry: Any) -> tuple[Device, ...] | None:
    if not isinstance(entry, dict):
        return None
    if not all(is_name(entry.get(key)) for key in ("PodUID", "ContainerName", "ResourceName")):
        return None
    ids = entry.get("DeviceIDs")
    if _are_texts(ids):
        return tuple(Device(one, None) for one in sorted(set(ids)))
    if not isinstance(ids, dict):
        return None
    by_node: dict[int, tuple[str, ...]] = {}
    for node, names in ids.items():
        if names is not None and not _are_texts(names):
            return None
        if node != str(NO_NODE) and not (node.isascii() and node.isdigit() and len(node) < 5):
            return None
        by_node[int(node)] = tuple(names or ())
    return devices_of(by_node, healthy=True)


def _are_texts(ids: Any) -> TypeGuard[list[str]]:
    return isinstance(ids, list) and all(map(is_name, ids))
