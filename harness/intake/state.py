"""What a kubelet's state files, or its PodResources, say of who holds what."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import Block, MachineState
from numaproof.harness.vocabulary import ContainerKey


@dataclass(frozen=True, slots=True)
class KubeletState:
    """Who holds what; a pod is known by its uid, or by "namespace/name" where PodResources told."""

    cpu_policy: str | None = None  # None: there is no such file, or it does not tell
    shared_cpus: frozenset[int] | None = None  # defaultCpuSet; None: not told
    cpus: Mapping[ContainerKey, frozenset[int]] = field(default_factory=dict)
    memory_policy: str | None = None
    memory: Mapping[ContainerKey, tuple[Block, ...]] = field(default_factory=dict)
    memory_nodes: MachineState | None = None  # None: not told, or part of it is elided
    devices: Mapping[ContainerKey, Mapping[str, tuple[Device, ...]]] = field(default_factory=dict)  # by resource
    registered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # ids by resource
    pod_names: Mapping[str, str] = field(default_factory=dict)  # uid -> "namespace/name", where known
    listed: Mapping[str, tuple[Device, ...]] = field(default_factory=dict)  # by resource, as the live node lists them
    allocatable_cpus: frozenset[int] | None = None  # that are not reserved; None: not told
    allocatable_memory: tuple[Block, ...] | None = None  # of each NUMA node, without what is reserved; None: not told
    live: bool | None = None  # True: a running kubelet told who holds what, so who is not named holds nothing
    cpus_are_whole: bool | None = None  # whether the CPU manager's file tells of all its CPUs; None: there is none
    notes: tuple[str, ...] = ()  # what is missing, was passed over, or does not fit


def merge(*states: KubeletState) -> KubeletState:
    """What all of them say together; where two disagree, the later one counts, and a note says so."""
    merged = KubeletState()
    notes: list[str] = []
    for state in states:
        changes: dict[str, Any] = {}
        for name in (one.name for one in fields(KubeletState) if one.name != "notes"):
            before, now = getattr(merged, name), getattr(state, name)
            if isinstance(now, Mapping) and isinstance(before, Mapping) and name != "memory_nodes":
                differ = [key for key in now if key in before and before[key] != now[key]]
                changes[name] = {**before, **now}
            else:
                differ = [""] if None not in (before, now) and before != now else []
                changes[name] = before if now is None else now
            notes += [f"{_TOLD[name]}{_of(key)}: told twice, differently; the later one counts" for key in differ]
        notes += state.notes
        merged = replace(merged, **changes)
    return replace(merged, notes=tuple(dict.fromkeys(notes)))


_TOLD = {
    "cpu_policy": "the CPU manager's policy",
    "shared_cpus": "the shared CPUs",
    "cpus_are_whole": "whether the CPU manager's file is whole",
    "cpus": "the CPUs",
    "memory_policy": "the memory manager's policy",
    "memory": "the memory",
    "memory_nodes": "the memory of the NUMA nodes",
    "devices": "the devices",
    "registered": "the registered devices",
    "pod_names": "the name",
    "listed": "the devices listed",
    "allocatable_cpus": "the CPUs that are not reserved",
    "allocatable_memory": "the memory that is not reserved",
    "live": "who told",
}


def _of(key: object) -> str:
    words = "/".join(filter(None, key)) if isinstance(key, tuple) else str(key)
    return f" of {words[:80]}" if words else ""
