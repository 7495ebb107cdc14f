"""`memory_manager_state`: which memory of which NUMA nodes belongs to which container, in the kubelet's format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.harness.node.state import files
from numaproof.harness.node.state.checksum import fnv1a, go_int_map, go_list, go_map, go_struct
from numaproof.harness.providers.memory.state import Block, MachineState, MemoryTable, NodeState
from numaproof.harness.vocabulary import ContainerKey


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What the Memory manager's file says."""

    policy: str
    machine: MachineState
    blocks: Mapping[ContainerKey, tuple[Block, ...]]


def dump(state: MemoryState) -> str:
    """The file's text."""
    content: dict[str, Any] = {
        "policyName": state.policy,
        "machineState": {str(node): _node_json(state.machine[node]) for node in sorted(state.machine)},
    }
    entries: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for (uid, container), blocks in sorted(state.blocks.items()):
        entries.setdefault(uid, {})[container] = [
            {"numaAffinity": list(block.nodes), "type": block.resource, "size": block.size} for block in blocks
        ]
    if entries:
        content["entries"] = entries
    return files.compact(content | {"checksum": checksum(content)})


def load(path: Path, policy: str) -> MemoryState | None:
    """The file's state; None when there is none yet."""
    content = files.read(path)
    if content is None:
        return None
    try:
        computed = checksum(content)
        state = MemoryState(
            content["policyName"],
            {int(node): _node_of(node_json) for node, node_json in content["machineState"].items()},
            {
                (uid, container): tuple(Block(tuple(b["numaAffinity"]), b["type"], b["size"]) for b in blocks)
                for uid, table in content.get("entries", {}).items()
                for container, blocks in table.items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise files.corrupt(path, "is not a Memory manager's state") from None
    files.check_sum(path, content.get("checksum"), computed)
    files.check_policy(path, state.policy, policy)
    return state


def _node_json(node: NodeState) -> dict[str, Any]:
    return {
        "numberOfAssignments": node.assignments,
        "memoryMap": {
            kind: {
                "total": table.total,
                "systemReserved": table.system_reserved,
                "allocatable": table.allocatable,
                "reserved": table.reserved,
                "free": table.free,
            }
            for kind, table in sorted(node.tables.items())
        },
        "cells": list(node.cells),
    }


def _node_of(content: dict[str, Any]) -> NodeState:
    return NodeState(
        content["numberOfAssignments"],
        tuple(content["cells"]),
        {
            kind: MemoryTable(one["total"], one["systemReserved"], one["allocatable"], one["reserved"], one["free"])
            for kind, one in content["memoryMap"].items()
        },
    )


def checksum(content: Mapping[str, Any]) -> int:
    """The checksum of a file that says this; a KeyError, TypeError, ValueError or AttributeError if part is missing."""
    # Pointers inside of maps are printed as <*>, without their type.
    nodes = {}
    for node, state in content["machineState"].items():
        tables = {
            kind: "<*>"
            + go_struct(
                (name, "uint64", str(table[key]))
                for name, key in (
                    ("TotalMemSize", "total"),
                    ("SystemReserved", "systemReserved"),
                    ("Allocatable", "allocatable"),
                    ("Reserved", "reserved"),
                    ("Free", "free"),
                )
            )
            for kind, table in state["memoryMap"].items()
        }
        nodes[int(node)] = "<*>" + go_struct(
            (
                ("NumberOfAssignments", "int", str(state["numberOfAssignments"])),
                ("MemoryMap", "map[v1.ResourceName]*state.MemoryTable", go_map(tables)),
                ("Cells", "[]int", go_list(state["cells"])),
            )
        )
    entries = {
        uid: go_map({container: go_list(map(_printed_block, blocks)) for container, blocks in table.items()})
        for uid, table in content.get("entries", {}).items()
    }
    printed = go_struct(
        (
            ("PolicyName", "string", content["policyName"]),
            ("MachineState", "state.NUMANodeMap", go_int_map(nodes)),
            ("Entries", "state.ContainerMemoryAssignments", go_map(entries)),
            ("Checksum", "checksum.Checksum", "0"),
        )
    )
    return fnv1a(f"(*state.MemoryManagerCheckpoint){printed}")


def _printed_block(block: Mapping[str, Any]) -> str:
    return go_struct(
        (
            ("NUMAAffinity", "[]int", go_list(block["numaAffinity"])),
            ("Type", "v1.ResourceName", block["type"]),
            ("Size", "uint64", str(block["size"])),
        )
    )
