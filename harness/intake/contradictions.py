"""What a node's state files say that cannot be true together."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.quantity import bytes_text
from numaproof.harness.vocabulary import ContainerKey

_MOST = 5  # notes of a kind
T = TypeVar("T")


def contradictions(state: KubeletState) -> tuple[str, ...]:
    """A line for each; a CPU that containers of one pod share is none: an init container leaves it to the next."""
    return tuple(line for lines in (_cpus(state), _devices(state), _memory(state)) for line in list(lines)[:_MOST])


def _cpus(state: KubeletState) -> Iterable[str]:
    for (one, other), cpus in _held_twice(state.cpus).items():
        both = f"{_name(one, state)} and {_name(other, state)}"
        yield f"CPUs {format_cpulist(cpus)}: are held by {both}; one entry is wrong"
    if state.shared_cpus:
        for key, held in state.cpus.items():
            if common := held & state.shared_cpus:
                told = f"CPUs {format_cpulist(common)}: are held by {_name(key, state)}"
                yield f"{told}, and in defaultCpuSet; they count as held"


def _devices(state: KubeletState) -> Iterable[str]:
    resources = dict.fromkeys(resource for held in state.devices.values() for resource in held)
    for resource in resources:
        ids = {key: frozenset(one.id for one in held.get(resource, ())) for key, held in state.devices.items()}
        for (one, other), twice in _held_twice(ids).items():
            few = ", ".join(sorted(twice)[:3])[:80]
            yield f"{resource} {few}: held by {_name(one, state)} and {_name(other, state)}; one entry is wrong"


def _memory(state: KubeletState) -> Iterable[str]:
    if state.memory_nodes is None:
        return
    known = state.memory_nodes
    held: dict[tuple[tuple[int, ...], str], int] = {}
    for key, blocks in state.memory.items():
        for block in blocks:
            if unknown := set(block.nodes) - known.keys():
                told = f"NUMA nodes {format_cpulist(unknown)}: hold memory of {_name(key, state)}"
                yield f"{told}; machineState has none such"
            else:
                group = tuple(sorted(block.nodes)), block.resource
                held[group] = held.get(group, 0) + block.size
    for (nodes, resource), size in held.items():
        most = sum(known[node].allocatable(resource) for node in nodes)
        if size > most:
            yield (
                f"NUMA nodes {format_cpulist(nodes)}: pods hold {bytes_text(size)} of {resource}, "
                f"and machineState has {bytes_text(most)}; one of the two is wrong"
            )


def _held_twice(held: Mapping[ContainerKey, frozenset[T]]) -> dict[tuple[ContainerKey, ContainerKey], set[T]]:
    """What two pods hold at once."""
    owners: dict[T, ContainerKey] = {}
    twice: dict[tuple[ContainerKey, ContainerKey], set[T]] = {}
    for key, ones in held.items():
        for one in ones:
            other = owners.setdefault(one, key)
            # Entries of old kubelets are by containers, and their pods are not known.
            if other != key and (other[0] != key[0] or not key[0]):
                twice.setdefault((other, key), set()).add(one)
    return twice


def _name(key: ContainerKey, state: KubeletState) -> str:
    uid, container = key
    return "/".join(filter(None, (state.pod_names.get(uid, uid)[:60], container[:60])))
