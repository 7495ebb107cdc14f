"""Replay of recorded memory decisions: the hints for a container, its blocks, and what they leave."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.memory import MachineState, MemoryManager, MemoryNode, MemoryTable, NodeState
from numaproof.harness.providers.memory.hints import listed
from numaproof.harness.topology.bitmask import ids_of, mask_of
from numaproof.harness.topology.hints import HintFamily, TopologyHint
from numaproof.harness.topology.provider import AllocationError

PAGE_BYTES = {"4Ki": 2**12, "64Ki": 2**16, "2Mi": 2**21, "32Mi": 2**25, "512Mi": 2**29, "1Gi": 2**30, "16Gi": 2**34}
_TABLE = ("total", "system_reserved", "allocatable", "reserved", "free")


def replay(case: dict[str, Any]) -> dict[str, Any]:
    """The hints, the blocks or the error, and the state of the machine afterwards."""
    reserved = {int(node): sizes for node, sizes in case["reserved"].items()}
    manager = MemoryManager(memory_nodes(case["machine"]), "Static", reserved)
    manager.resume(_state_from(case["state_before"]))
    request = {"cpu": Fraction(1), **{resource: Fraction(size) for resource, size in case["request"].items()}}
    pod = Pod("p", "p", containers=(Container("c", request, request),))
    hints = manager.get_topology_hints(pod, pod.containers[0])
    answer: dict[str, Any] = {
        "hints": {resource: _rows(hints_of_one) for resource, hints_of_one in hints.items()},
        "blocks": None,
        "error": None,
        "state_after": None,
    }
    affinity = case["affinity"]
    mask = None if affinity["mask"] is None else mask_of(affinity["mask"])
    try:
        manager.allocate(pod, pod.containers[0], TopologyHint(mask, affinity["preferred"]))
    except AllocationError as refused:
        return {**answer, "error": str(refused)}
    blocks = manager.blocks["p", "c"]
    return {
        **answer,
        "blocks": [{"type": block.resource, "numa": list(block.nodes), "size": block.size} for block in blocks],
        "state_after": _state_to(manager.state),
    }


def differences(case: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What differs from the record; nothing in it is random."""
    return [
        f"{field}: recorded {case[field]}, here {answer[field]}" for field in answer if case[field] != answer[field]
    ]


def memory_nodes(machine: list[dict[str, Any]]) -> list[MemoryNode]:
    """The NUMA nodes of a recorded machine, whose huge pages are given in pages by size."""
    return [
        MemoryNode(
            node["id"],
            node["memory"],
            {f"hugepages-{size}": pages * PAGE_BYTES[size] for size, pages in node["hugepages"].items()},
        )
        for node in machine
    ]


def _rows(hints: Sequence[TopologyHint] | HintFamily | None) -> list[dict[str, Any]]:
    rows = listed(hints) if isinstance(hints, HintFamily) else hints or ()
    return [{"mask": list(ids_of(affinity)), "preferred": preferred} for affinity, preferred in rows if affinity]


def _state_from(recorded: Mapping[str, Any]) -> MachineState:
    return {
        int(node): NodeState(
            row["assignments"],
            tuple(row["cells"]),
            {resource: MemoryTable(**table) for resource, table in row["memory"].items()},
        )
        for node, row in recorded.items()
    }


def _state_to(state: MachineState) -> dict[str, Any]:
    return {
        str(node): {
            "assignments": of_node.assignments,
            "cells": list(of_node.cells),
            "memory": {
                resource: {field: getattr(table, field) for field in _TABLE}
                for resource, table in of_node.tables.items()
            },
        }
        for node, of_node in state.items()
    }
