"""Memory of finished init containers that later containers of the same pod may take over."""

from collections.abc import Iterable, Mapping

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.providers.memory.state import Block
from numaproof.harness.topology.bitmask import NodeMask, mask_of
from numaproof.harness.vocabulary import ContainerKey


class ReusableMemory:
    """Bytes to be taken over, by exact node mask and kind; only the pod allocated last is remembered."""

    def __init__(self) -> None:
        self._uid = ""
        self._sizes: dict[tuple[NodeMask, str], int] = {}

    def of(self, uid: str) -> Mapping[tuple[NodeMask, str], int]:
        return self._sizes if uid == self._uid else {}

    def record(self, pod: Pod, container: Container, blocks: Iterable[Block]) -> None:
        """Blocks of an init container become reusable, at its largest; any other container uses them up."""
        if pod.uid != self._uid:
            self._uid, self._sizes = pod.uid, {}
        leaves_memory = pod.ends(container)
        for block in blocks:
            place = mask_of(block.nodes), block.resource
            if leaves_memory:
                self._sizes[place] = max(self._sizes.get(place, 0), block.size)
            elif place in self._sizes:
                self._sizes[place] = max(self._sizes[place] - block.size, 0)

    def checkpoint(self) -> tuple[str, dict[tuple[NodeMask, str], int]]:
        return self._uid, self._sizes.copy()

    def rollback(self, checkpoint: tuple[str, dict[tuple[NodeMask, str], int]]) -> None:
        self._uid, self._sizes = checkpoint

    def forget(self, uid: str) -> None:
        if uid == self._uid:
            self._uid, self._sizes = "", {}


def shrink_reused(
    init_blocks: Mapping[ContainerKey, tuple[Block, ...]], taken: Iterable[Block]
) -> Mapping[ContainerKey, tuple[Block, ...]]:
    """The init containers' blocks less what was taken over, so that a pod's blocks sum up to what it really holds."""
    shrunk = {key: list(blocks) for key, blocks in init_blocks.items()}
    for block in taken:
        missing = block.size
        for blocks in shrunk.values():
            for index, left in enumerate(blocks):
                if (left.resource, left.nodes) == (block.resource, block.nodes):
                    reused = min(missing, left.size)
                    missing -= reused
                    blocks[index] = Block(left.nodes, left.resource, left.size - reused)
    return {key: tuple(blocks) for key, blocks in shrunk.items()}
