"""The memory manager, a hint provider."""

from numaproof.harness.providers.memory.manager import MemoryManager
from numaproof.harness.providers.memory.state import Block, Key, MachineState, MemoryNode, MemoryTable, NodeState

__all__ = ["Block", "Key", "MachineState", "MemoryManager", "MemoryNode", "MemoryTable", "NodeState"]
