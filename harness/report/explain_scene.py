"""What a drawing shows of an explanation: who holds what, and where a refused pod nearly fits."""

from collections.abc import Iterable

from numaproof.fake_sysfs import Machine
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish
from numaproof.harness.explain.amounts import amount_text, is_memory, short_amounts
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.explain.nearest import Amount, nearest
from numaproof.harness.providers.memory.state import MEMORY


def scene_of(explanation: Explanation, machine: Machine) -> Scene:
    """The node with its pods and, if it is admitted, the pod in question."""
    replica, trace = explanation.replica, explanation.trace
    name = f"{explanation.pod.namespace}/{explanation.pod.name}"
    holders = [(resident.name, list(resident.given.values())) for resident in replica.residents]
    if trace.verdict.admitted:
        holders.append((f"{name} (asked about)", list(trace.given.values())))
    allocatable = replica.managers.cpu.allocatable
    return Scene(
        machine,
        tuple(_holding(label, given) for label, given in holders),
        tuple(
            DeviceMark(resource, one.id, tuple(one.numa or ()), one.healthy)
            for resource, devices in replica.setup.devices.items()
            for one in devices
        ),
        frozenset(row[0] for row in replica.setup.description.cpu_rows if row[0] not in allocatable)
        if allocatable
        else frozenset(),
        {node: kept.get(MEMORY, 0) for node, kept in replica.setup.config.reserved_memory.items()},
        None if trace.verdict.admitted else _wish(name, explanation),
    )


def _holding(label: str, given: list[Assignment]) -> Holding:
    memory: dict[int, int] = {}
    for one in given:
        for block in one.memory:
            # Who took which part of a group of nodes nobody knows: each has its share.
            for node in block.nodes:
                memory[node] = memory.get(node, 0) + block.size // len(block.nodes)
    return Holding(
        label,
        frozenset[int]().union(*(one.cpus for one in given)),
        memory,
        frozenset(device.id for one in given for devices in one.devices.values() for device in devices),
    )


def _wish(label: str, explanation: Explanation) -> Wish:
    """Where a refused pod nearly fits, and what is missing there; or else what the kubelet says."""
    found = nearest(explanation)
    if found is None:
        verdict = explanation.trace.verdict
        return Wish(label, (), verdict.message or verdict.reason)
    parts = []
    if found.lacking:
        wants = _listed(map(_lack, found.lacking))
        parts.append(f"wants {wants}{'' if found.nodes else ' on the whole machine'}")
    if not found.nodes:
        return Wish(label, (), parts[0])
    these = "this NUMA node" if len(found.nodes) == 1 else "these NUMA nodes"
    endings = {
        "would be there": [one for one in found.enough if one.resource not in (*found.cannot, *found.fewer)],
        f"would be there, but cannot come from {these} alone": [
            one for one in found.enough if one.resource in found.cannot
        ],
        "would need fewer NUMA nodes": [one for one in found.enough if one.resource in found.fewer],
    }
    parts += [f"{_listed(map(_amount, amounts))} {ending}" for ending, amounts in endings.items() if amounts]
    return Wish(label, found.nodes, "; ".join(parts))


def _amount(one: Amount) -> str:
    return amount_text(one.resource, one.wanted)


def _lack(one: Amount) -> str:
    wanted, free = short_amounts(one.resource, one.wanted, one.free)
    return f"{wanted} of {one.resource} ({free} free)" if is_memory(one.resource) else f"{_amount(one)} ({free} free)"


def _listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
