"""`memory_manager_state`, as copied or pasted: which memory of which NUMA nodes belongs to which container."""

from typing import Any

from numaproof.errors import UserError
from numaproof.harness.intake.checkpoint import (
    Checkpoint,
    check_sum,
    is_amount,
    is_id,
    is_name,
    read_checkpoint,
    table_at,
)
from numaproof.harness.intake.loose_json import path_text
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.node.state import memory
from numaproof.harness.providers.memory.state import Block, MachineState, MemoryTable, NodeState
from numaproof.harness.vocabulary import ContainerKey

_KEYS = ("policyName", "machineState", "entries")
_TABLE = ("total", "systemReserved", "allocatable", "reserved", "free")


def read_memory_state(text: str, where: str) -> KubeletState:
    """What the memory manager's file says."""
    read = read_checkpoint(text, where, _KEYS, "memory_manager_state", "defaultCpuSet")
    content, notes = read.content, read.notes
    if "defaultCpuSet" in content:
        raise UserError(f"{where}: is a cpu_manager_state, not a memory_manager_state; give the other file")
    policy = content.get("policyName")
    if not isinstance(policy, str):
        notes.append(f"{where}: policyName: is not there")
        policy = None
    held: dict[ContainerKey, tuple[Block, ...]] = {}
    for uid, table in table_at(content, "entries", where, notes).items():
        for container, listed in (table if isinstance(table, dict) else {"?": table}).items():
            keys = ("entries", uid, container)
            if not is_name(uid) or not is_name(container):
                notes.append(f"{where}: {path_text(keys)}: is not a name, and is passed over")
                continue
            blocks = [_block_of(one) for one in listed] if isinstance(listed, list) else [None]
            known = tuple(one for one in blocks if one is not None)
            if len(known) < len(blocks) and not any(one.keys[:3] == keys for one in read.elided):
                notes.append(f"{where}: {path_text(keys)}: {len(blocks) - len(known)} of its blocks cannot be read")
            if known:
                held[uid, container] = known
    if read.is_whole and "podEntries" not in content:
        check_sum(where, notes, content.get("checksum"), lambda: memory.checksum(content))
    return KubeletState(
        memory_policy=policy, memory=held, memory_nodes=_machine_of(read, where), notes=tuple(dict.fromkeys(notes))
    )


def _block_of(value: Any) -> Block | None:
    if not isinstance(value, dict):
        return None
    nodes, kind, size = value.get("numaAffinity"), value.get("type"), value.get("size", -1)
    if not (isinstance(nodes, list) and all(map(is_id, nodes)) and is_name(kind) and is_amount(size)):
        return None
    return Block(tuple(nodes), kind, size)


def _machine_of(read: Checkpoint, where: str) -> MachineState | None:
    """The NUMA nodes; None if one is not complete."""
    if "machineState" not in read.content:
        read.notes.append(f"{where}: machineState: is not there, so the memory of the NUMA nodes is not known")
        return None
    nodes = table_at(read.content, "machineState", where, read.notes)
    made: dict[int, NodeState] = {}
    for name, node in nodes.items():
        state = _node_of(node)
        incomplete = any(one.keys[:2] == ("machineState", name) for one in read.elided)
        if state is None or incomplete or not (name.isascii() and name.isdigit() and len(name) < 5):
            place = path_text(("machineState", name[:20]))
            read.notes.append(f"{where}: {place}: is not complete, so the memory of the NUMA nodes is not known")
            return None
        made[int(name)] = state
    is_cut = not read.is_whole and list(read.content)[-1] == "machineState"
    return None if is_cut or any(one.keys == ("machineState",) for one in read.elided) else made


def _node_of(node: Any) -> NodeState | None:
    if not isinstance(node, dict) or not isinstance(node.get("memoryMap"), dict):
        return None
    count, cells = node.get("numberOfAssignments", -1), node.get("cells")
    if not is_amount(count) or not (isinstance(cells, list) and all(map(is_id, cells))):
        return None
    tables = {}
    for kind, one in node["memoryMap"].items():
        if not isinstance(one, dict) or not all(is_amount(one.get(key)) for key in _TABLE):
            return None
        tables[kind] = MemoryTable(*(one[key] for key in _TABLE))
    return NodeState(count, tuple(cells), tables)
