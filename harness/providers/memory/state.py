"""How much memory of every kind each NUMA node has, and which nodes are bound together by assignments."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

MEMORY = "memory"
WORD = 2**64


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """A NUMA node as the machine has it: all memory in bytes, and how much of it is set aside for huge pages."""

    id: int
    memory: int
    hugepages: Mapping[str, int] = field(default_factory=dict)  # bytes by resource name, e.g. hugepages-2Mi


@dataclass(frozen=True, slots=True)
class Block:
    """So much memory of one kind, taken from a group of NUMA nodes together."""

    nodes: tuple[int, ...]
    resource: str
    size: int


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """The bytes of one kind of memory on one node; free + reserved = allocatable = total less what is set aside."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node: its tables, how many blocks use it, and the group of nodes that those blocks span."""

    assignments: int
    cells: tuple[int, ...]  # the node alone while nothing is assigned
    tables: Mapping[str, MemoryTable]

    def free(self, resource: str) -> int:
        return self.tables[resource].free if resource in self.tables else 0

    def allocatable(self, resource: str) -> int:
        return self.tables[resource].allocatable if resource in self.tables else 0


MachineState = Mapping[int, NodeState]


def empty_state(nodes: Iterable[MemoryNode], reserved: Mapping[int, Mapping[str, int]]) -> MachineState:
    """The machine with nothing assigned; huge pages are not ordinary memory, reserved bytes are nobody's."""
    return {node.id: _empty_node(node, reserved.get(node.id, {})) for node in nodes}


def _empty_node(node: MemoryNode, reserved: Mapping[str, int]) -> NodeState:
    ordinary = node.memory - sum(node.hugepages.values())
    tables = {
        resource: _empty_table(size, size, reserved.get(resource, 0))
        for resource, size in sorted(node.hugepages.items())
    }
    tables[MEMORY] = _empty_table(node.memory, ordinary, reserved.get(MEMORY, 0))
    return NodeState(0, (node.id,), tables)


def _empty_table(total: int, usable: int, reserved: int) -> MemoryTable:
    # The kubelet counts in 64 bits without a sign, so more reserved than there is comes out as nearly endless memory.
    allocatable = (usable - reserved) % WORD
    return MemoryTable(total, reserved, allocatable, 0, allocatable)


def is_overdrawn(state: MachineState) -> bool:
    """Whether more is reserved on some node than it has, so that adding a node to a group may make it poorer."""
    return any(table.allocatable >= WORD // 2 for node in state.values() for table in node.tables.values())


def with_block(state: MachineState, block: Block, near: Collection[int] = ()) -> MachineState:
    """The state after a block is taken: from the first node what it has, the rest from the next; near ones first."""
    changed = dict(state)
    missing = block.size
    for node_id in sorted(block.nodes, key=lambda node: node not in near):
        node = changed[node_id]
        taken = min(missing, node.free(block.resource))
        missing -= taken
        changed[node_id] = NodeState(
            node.assignments + 1, block.nodes, _moved_to_reserved(node.tables, block.resource, taken)
        )
    return changed


def without_block(state: MachineState, block: Block) -> MachineState:
    """The state after a block is given back; a node that serves no block any more is on its own again."""
    changed = dict(state)
    missing = block.size
    for node_id in block.nodes:
        node = changed[node_id]
        returned = min(missing, node.tables[block.resource].reserved) if block.resource in node.tables else 0
        missing -= returned
        assignments = node.assignments - 1
        changed[node_id] = NodeState(
            assignments,
            node.cells if assignments else (node_id,),
            _moved_to_reserved(node.tables, block.resource, -returned),
        )
    return changed


def _moved_to_reserved(tables: Mapping[str, MemoryTable], resource: str, size: int) -> Mapping[str, MemoryTable]:
    if not size:
        return tables
    table = tables[resource]
    return {**tables, resource: replace(table, reserved=table.reserved + size, free=table.free - size)}


def same_state(one: MachineState, other: MachineState) -> bool:
    """Whether two states say the same; within a group only the sums count, since blocks may be split either way."""
    return one.keys() == other.keys() and all(_same_node(one, other, node_id) for node_id in one)


def _same_node(one: MachineState, other: MachineState, node_id: int) -> bool:
    mine, theirs = one[node_id], other[node_id]
    if (mine.assignments, sorted(mine.cells)) != (theirs.assignments, sorted(theirs.cells)):
        return False
    if mine.tables.keys() != theirs.tables.keys():
        return False
    return all(
        _fixed(mine.tables[resource]) == _fixed(theirs.tables[resource])
        and _used(one, mine.cells, resource) == _used(other, mine.cells, resource)
        for resource in mine.tables
    )


def _fixed(table: MemoryTable) -> tuple[int, int, int]:
    return table.total, table.system_reserved, table.allocatable


def _used(state: MachineState, group: Iterable[int], resource: str) -> tuple[int, int]:
    tables = [state[node_id].tables[resource] for node_id in group]
    return sum(table.free for table in tables), sum(table.reserved for table in tables)
