"""A file that tells which devices the plugins of a node offer: YAML or JSON, or what `nvidia-smi topo -m` draws."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import LARGEST, Where, load
from numaproof.harness.intake.nvidia_topo import names_text, read_nvidia_topo
from numaproof.harness.providers.devices import Device
from numaproof.harness.resource_names import resource_name_problem
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.near import did_you_mean

MOST_DEVICES = 100_000
NVIDIA_GPU = "nvidia.com/gpu"
_KEYS = ("id", "numa", "healthy")
_FORMS = f"write `{NVIDIA_GPU}: [{{id: gpu0, numa: [0]}}]` or `{NVIDIA_GPU}: {{0: 4, 1: 4}}`"
_OTHER_OUTPUT = re.compile(r"NVIDIA-SMI [0-9]|^GPU [0-9]+: NVIDIA ", re.MULTILINE)
_NODE = re.compile(r"0|[1-9][0-9]{0,3}")

Devices = dict[str, tuple[Device, ...]]


def read_plugins(
    text: str, where: str, cpus_by_node: Mapping[int, Collection[int]] | None = None
) -> tuple[Devices, tuple[str, ...]]:
    """The devices of each resource, and what was assumed; the first fault is a UserError with its place."""
    if len(text) > LARGEST:
        raise UserError(f"{where}: is longer than {LARGEST} characters; give the file that was meant")
    topo = read_nvidia_topo(text, where, cpus_by_node)
    if topo is None:
        if _OTHER_OUTPUT.search(text):
            raise UserError(f"{where}: is another output of nvidia-smi; give that of `nvidia-smi topo -m`")
        return _resources(text, where), ()
    notes = topo.notes
    if topo.nics:
        nics = names_text([nic.id for nic in topo.nics])
        notes += (f"{where}: {nics}: left out, since nvidia-smi does not tell the resource of a NIC",)
    return {NVIDIA_GPU: topo.gpus}, notes


def _resources(text: str, file: str) -> Devices:
    document = load(text, file)
    if not isinstance(document.value, dict):
        raise UserError(f"{document.where}: does not tell devices by resource; {_FORMS}")
    found: Devices = {}
    room = MOST_DEVICES
    for resource, given in document.value.items():
        if problem := resource_name_problem(resource):
            told = problem if len(problem) <= 120 else problem[:117] + "..."
            place = _place(document.where, resource)
            raise UserError(f"{place}: is not the name of a resource: {told}; name one such as {NVIDIA_GPU}")
        found[resource] = _devices(resource, given, document.where.at(resource), room)
        room -= len(found[resource])
    return found


def _devices(resource: str, given: Any, where: Where, room: int) -> tuple[Device, ...]:
    if isinstance(given, dict):
        return _counted(resource, given, where, room)
    if not isinstance(given, list):
        raise UserError(f"{where}: {_short(given)} does not tell devices; {_FORMS}")
    if len(given) > room:
        raise _too_many(where)
    return tuple(_listed(given, where))


def _counted(resource: str, given: Mapping[str, Any], where: Where, room: int) -> tuple[Device, ...]:
    """So many devices on each NUMA node."""
    name = resource.partition("/")[2]
    counts: dict[int, int] = {}
    for key, count in given.items():
        if not _NODE.fullmatch(key) or int(key) > MAX_NODE:
            raise UserError(f"{_place(where, key)}: is not a NUMA node from 0 to {MAX_NODE}; {_FORMS}")
        if not _is_number(count) or count < 0:
            raise UserError(f"{where.at(key)}: {_short(count)} is not a number of devices; write 0 or more")
        room -= count
        if room < 0:
            raise _too_many(where.at(key))
        counts[int(key)] = count
    return tuple(Device(f"{name}-{node}-{i}", (node,)) for node in sorted(counts) for i in range(counts[node]))


def _listed(given: list[Any], where: Where) -> Iterator[Device]:
    seen: set[str] = set()
    for i, one in enumerate(given):
        if not isinstance(one, dict):
            raise UserError(f"{where.at(i)}: {_short(one)} is not a device; write {{id: gpu0, numa: [0]}}")
        if unknown := [key for key in one if key not in _KEYS]:
            remedy = did_you_mean(unknown[0], _KEYS) or f"; known are {', '.join(_KEYS)}"
            raise UserError(f"{_place(where.at(i), unknown[0])}: unknown key{remedy}")
        name = one.get("id")
        if not isinstance(name, str) or not name:
            told = "is missing; name each device" if name in (None, "") else f"{_short(name)} is not a text; quote it"
            raise UserError(f"{where.at(i).at('id')}: {told}")
        if name in seen:
            raise UserError(f"{where.at(i).at('id')}: {_short(name)} is there twice; ids differ within a resource")
        seen.add(name)
        healthy = one.get("healthy", True)
        if not isinstance(healthy, bool):
            raise UserError(f"{where.at(i).at('healthy')}: {_short(healthy)} is neither true nor false; write one")
        yield Device(name, _nodes(one.get("numa"), where.at(i).at("numa")), healthy)


def _nodes(given: Any, where: Where) -> tuple[int, ...] | None:
    if given is None:
        return None
    listed = given if isinstance(given, list) else [given]
    for node in listed:
        if not _is_number(node) or not 0 <= node <= MAX_NODE:
            raise UserError(f"{where}: {_short(node)} is not a NUMA node from 0 to {MAX_NODE}; write [0], or drop it")
    return tuple(sorted(set(listed)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _too_many(where: Where) -> UserError:
    return UserError(f"{where}: these are more than {MOST_DEVICES} devices in all; tell fewer")


def _place(where: Where, key: str) -> str:
    """The position of a key that may hold anything; a message stays one short line."""
    return f"{where.file}:{where.at(key).line}: {_short(key)}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
