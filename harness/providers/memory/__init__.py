"""The memory manager, a hint provider."""

from numaproof.harness.providers.memory.manager import MemoryManager
from numaproof.harness.providers.memory.state import Block, MachineState, MemoryNode, MemoryTable, NodeState

__all__ = ["Block", "MachineState", "MemoryManager", "MemoryNode", "MemoryTable", "NodeState"]
