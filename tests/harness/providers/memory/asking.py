"""Machines and pods for the tests of the memory manager."""

from collections.abc import Callable, Collection
from fractions import Fraction

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.memory import MemoryManager, MemoryNode
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint

GI = 2**30
PAGES = "hugepages-1Gi"
NOWHERE = TopologyHint(None, False)


def manager_of(
    *memory: int, pages: int = 0, active: Callable[[], Collection[str]] | None = None, reserved: int = GI
) -> MemoryManager:
    """Nodes 0, 1, ... with so many Gi of allocatable memory each, and as many Gi of huge pages."""
    nodes = [
        MemoryNode(node, (size + pages) * GI + (reserved if node == 0 else 0), {PAGES: pages * GI})
        for node, size in enumerate(memory)
    ]
    return MemoryManager(nodes, "Static", {0: {"memory": reserved}}, active)


def asks(name: str, memory: int, *, pages: int = 0, cpu: str = "1", restartable: bool = False) -> Container:
    """A container that asks for so many Gi, and limits itself to them."""
    request = {"cpu": Fraction(cpu), "memory": Fraction(memory * GI)}
    if pages:
        request[PAGES] = Fraction(pages * GI)
    return Container(name, request, request, restartable)


def pod_of(*containers: Container, init: tuple[Container, ...] = (), uid: str = "p") -> Pod:
    return Pod(uid, uid, init, containers)


def on(*nodes: int, preferred: bool = True) -> TopologyHint:
    return TopologyHint(mask_of(nodes), preferred)


def free(manager: MemoryManager) -> list[int]:
    """The free Gi of ordinary memory, node by node."""
    return [node.free("memory") // GI for node in manager.state.values()]


def held(manager: MemoryManager, name: str = "c", uid: str = "p") -> dict[str, tuple[tuple[int, ...], int]]:
    """A container's blocks: nodes and Gi by resource."""
    return {block.resource: (block.nodes, block.size // GI) for block in manager.blocks.get((uid, name), ())}
