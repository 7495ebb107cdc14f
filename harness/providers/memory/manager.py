"""The memory manager: pins Guaranteed containers' memory and huge pages to NUMA nodes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from numaproof.errors import UserError
from numaproof.harness.pods.affinity import is_bound
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.providers.memory.hints import (
    best_hint,
    breaks_a_group,
    has_mask,
    listed,
    memory_family,
    satisfies,
    smallest_masks,
)
from numaproof.harness.providers.memory.requests import container_request, pod_request
from numaproof.harness.providers.memory.reuse import ReusableMemory, shrink_reused
from numaproof.harness.providers.memory.state import (
    MEMORY,
    Block,
    MachineState,
    MemoryNode,
    empty_state,
    is_overdrawn,
    same_state,
    with_block,
    without_block,
)
from numaproof.harness.topology.bitmask import EMPTY, NodeMask, ids_of, mask_of
from numaproof.harness.topology.hints import ENUMERATED_NODES, Hints, TopologyHint
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.selection import Chosen, no_choice
from numaproof.harness.vocabulary import ContainerKey

PolicyName = Literal["None", "Static"]
POLICIES: Final = ("None", "Static")


class MemoryManager:
    """Hints for and assignments of memory; the policy `None` has no opinion and assigns nothing."""

    name: Final = "memory"

    def __init__(
        self,
        nodes: Iterable[MemoryNode],
        policy: PolicyName,
        reserved: Mapping[int, Mapping[str, int]],
        active: Callable[[], Collection[str]] | None = None,  # uids of the pods that may hold memory; None: all may
        chosen: Chosen = no_choice,
    ) -> None:
        self._nodes = tuple(sorted(nodes, key=lambda node: node.id))
        _check(self._nodes, policy, reserved)
        self._static = policy == "Static"
        self._reserved = reserved
        self._active = active
        self._chosen = chosen
        self._reusable = ReusableMemory()
        self._blocks: dict[ContainerKey, tuple[Block, ...]] = {}
        self._state = empty_state(self._nodes, reserved) if self._static else {}
        if len(self._nodes) > ENUMERATED_NODES and is_overdrawn(self._state):
            raise UserError(
                "reservedMemory: more is reserved than a NUMA node has, which the kubelet takes for endless memory; "
                f"that is reproduced on machines of up to {ENUMERATED_NODES} nodes only: reserve less"
            )

    @property
    def blocks(self) -> Mapping[ContainerKey, tuple[Block, ...]]:
        """Who holds what; blocks of finished init containers shrink as later containers take them over."""
        return MappingProxyType(self._blocks)

    @property
    def state(self) -> MachineState:
        """The machine as the assignments leave it; empty under the policy None."""
        return self._state

    @property
    def allocatable(self) -> tuple[Block, ...]:
        """All that can be assigned at all, node by node."""
        return tuple(
            Block((node_id,), resource, table.allocatable)
            for node_id, node in self._state.items()
            for resource, table in sorted(node.tables.items())
            if table.allocatable
        )

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        """The same hints for every kind of memory asked for; no opinion at all where the request fits nowhere."""
        self._collect()
        if not self._pins(pod) or _may_be_anywhere(pod):
            return {}
        held = self._blocks.get((pod.uid, container.name))
        request = _request(pod, container)
        return self._hints(pod, request) if held is None else _hints_again(held, request)

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        """Hints for all containers of the pod together."""
        self._collect()
        if not self._pins(pod) or _may_be_anywhere(pod):
            return {}
        held = (self._blocks.get((pod.uid, container.name)) for container in pod.all_containers())
        first = next((blocks for blocks in held if blocks is not None), None)
        request = _request(pod, None)
        return self._hints(pod, request) if first is None else _hints_again(first, request)

    def groups(self, pod: Pod, container: Container | None, within: NodeMask | None = None) -> tuple[NodeMask, ...]:
        """The groups of NUMA nodes that a container's memory, or the whole pod's, could come from, the smallest only.

        Empty: no memory is pinned, or there is no such group. What a container has it keeps; `within` counts alone
        where it is such a group, of whatever size.
        """
        self._collect()
        request = _request(pod, container) if self._pins(pod) else {}
        if not request:
            return ()
        for one in pod.all_containers() if container is None else (container,):
            held = self._blocks.get((pod.uid, one.name))
            if held:
                return (mask_of(held[0].nodes),)
        family = memory_family(self._state, request, self._reusable.of(pod.uid))
        if family is None:
            return ()
        return (within,) if within is not None and has_mask(family, within) else smallest_masks(family)

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Take the container's memory from the group of nodes that is chosen for it, or else from the affinity's nodes
        or a wider group that contains them. Of a pod that is to have it near, the affinity's nodes give first.
        """
        self._collect()
        if not self._pins(pod):
            return
        key = pod.uid, container.name
        if key in self._blocks:
            self._reusable.record(pod, container, self._blocks[key])
            return
        request = container_request(container)
        chosen = self._chosen().memory
        if chosen is None:
            mask = (self._placed_near if is_bound(pod) else self._placed)(pod, request, affinity)
        else:
            mask = chosen
        near = ids_of(affinity.affinity or EMPTY) if _may_be_anywhere(pod) else ()
        reusable = self._reusable.of(pod.uid)
        blocks = tuple(Block(ids_of(mask), resource, size) for resource, size in request.items())
        for block in blocks:
            fresh = max(block.size - reusable.get((mask, block.resource), 0), 0)
            self._state = with_block(self._state, Block(block.nodes, block.resource, fresh), near)
        self._reusable.record(pod, container, blocks)
        self._blocks[key] = blocks
        self._blocks.update(self._shrunk_init_blocks(pod, container, blocks))

    def remove(self, uid: str) -> None:
        """Give back all that a pod holds."""
        for owner, name in list(self._blocks):
            if owner == uid:
                self._release(owner, name)
        self._reusable.forget(uid)

    def checkpoint(self) -> Any:
        """What is assigned and left behind, to come back to by `rollback`.

        Giving back what a pod got is not enough for that: it shifts memory within a group of nodes.
        """
        return self._blocks.copy(), self._state, self._reusable.checkpoint()

    def rollback(self, checkpoint: Any) -> None:
        """Have assigned what was assigned at the checkpoint."""
        self._blocks, self._state, reusable = checkpoint
        self._reusable.rollback(reusable)

    def release_init(self, uid: str, container: str) -> None:
        """Give back what a finished init container (by its own name) still holds, when the next container starts."""
        self._release(uid, container)

    def restore(self, blocks: Mapping[ContainerKey, tuple[Block, ...]], state: MachineState | None = None) -> None:
        """Take over saved assignments, with the saved state or with one rebuilt from them; UserError if they clash."""
        if not self._static:
            return
        rebuilt = empty_state(self._nodes, self._reserved)
        for (uid, name), held in blocks.items():
            for block in held:
                _check_block(block, rebuilt, f"pod {uid}, container {name}")
                rebuilt = with_block(rebuilt, block)
        if state is not None and not same_state(state, rebuilt):
            raise UserError(
                "memory_manager_state: the expected machine state is different from the real one: the machine, its "
                "reserved memory or the assignments changed; drain the node and remove the file"
            )
        self._blocks = dict(blocks)
        self._state = rebuilt if state is None else state

    def resume(self, state: MachineState) -> None:
        """Go on from a machine state alone: memory that is in use there belongs to nobody and stays in use."""
        self._blocks = {}
        self._state = state

    def _pins(self, pod: Pod) -> bool:
        return self._static and is_pinned(pod)

    def _hints(self, pod: Pod, request: Mapping[str, int]) -> Hints:
        family = memory_family(self._state, request, self._reusable.of(pod.uid))
        if family is None:
            return {}
        hints = listed(family) if len(self._state) <= ENUMERATED_NODES else family
        return dict.fromkeys(request, hints)

    def _placed_near(self, pod: Pod, request: Mapping[str, int], affinity: TopologyHint) -> NodeMask:
        """The nodes of a bound pod's memory: its own, or else the best group that holds them.

        Unlike the kubelet's way, it never takes memory of one node out of a group: from such a state no node starts
        again.
        """
        near = NodeMask((affinity.affinity or EMPTY) & mask_of(self._state))
        family = memory_family(self._state, request, self._reusable.of(pod.uid))
        if family is not None and has_mask(family, near):
            return near
        found = best_hint(family, near) if family else None
        if found is None and family and _may_be_anywhere(pod):
            found = best_hint(family)
        if found is None or found.affinity is None:
            raise AllocationError("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
        return found.affinity

    def _placed(self, pod: Pod, request: Mapping[str, int], affinity: TopologyHint) -> NodeMask:
        family = memory_family(self._state, request, self._reusable.of(pod.uid))
        wanted = affinity
        if wanted.affinity is None:
            default = best_hint(family) if family else None
            if default is None:
                raise AllocationError(
                    "[memorymanager] failed to get the default NUMA affinity, "
                    "no NUMA nodes with enough memory is available"
                )
            if wanted.preferred and not default.preferred:
                raise AllocationError("[memorymanager] failed to find the default preferred hint")
            wanted = default
        mask = NodeMask((wanted.affinity or EMPTY) & mask_of(self._state))
        if not satisfies(self._state, mask, request):
            wider = best_hint(family, mask) if family else None
            if wider is None:
                raise AllocationError("[memorymanager] failed to find NUMA nodes to extend the current topology hint")
            if wanted.preferred and not wider.preferred:
                raise AllocationError("[memorymanager] failed to find the extended preferred hint")
            mask = wider.affinity or EMPTY
        if breaks_a_group(self._state, mask):
            raise AllocationError("[memorymanager] preferred hint violates NUMA node allocation")
        return mask

    def _shrunk_init_blocks(
        self, pod: Pod, container: Container, taken: tuple[Block, ...]
    ) -> Mapping[ContainerKey, tuple[Block, ...]]:
        before = {}
        for init in pod.init_containers:
            if init.name == container.name:
                break
            if pod.ends(init) and (pod.uid, init.name) in self._blocks:
                before[pod.uid, init.name] = self._blocks[pod.uid, init.name]
        return shrink_reused(before, taken)

    def _collect(self) -> None:
        if self._active is None:
            return
        active = self._active()
        for uid, name in list(self._blocks):
            if uid not in active:
                self._release(uid, name)

    def _release(self, uid: str, name: str) -> None:
        for block in self._blocks.pop((uid, name), ()):
            self._state = without_block(self._state, block)


def _request(pod: Pod, container: Container | None) -> Mapping[str, int]:
    """What a container, or the whole pod, asks for; nothing where that is no number of bytes: allocating tells it."""
    try:
        return pod_request(pod) if container is None else container_request(container)
    except AllocationError:
        return {}


def _may_be_anywhere(pod: Pod) -> bool:
    """Whether the memory of a bound pod is to be near it if it can, and anywhere else if not."""
    return is_bound(pod) and pod.numa_memory == "preferred"


def _hints_again(held: tuple[Block, ...], request: Mapping[str, int]) -> Hints:
    """Hints for what is allocated already, as after a restart; no opinion if the request is another one now."""
    if {block.resource: block.size for block in held} != dict(request):
        return {}
    return {block.resource: [TopologyHint(mask_of(block.nodes), True)] for block in held}


def _check(nodes: tuple[MemoryNode, ...], policy: str, reserved: Mapping[int, Mapping[str, int]]) -> None:
    if policy not in POLICIES:
        raise UserError(f'memoryManagerPolicy: unknown policy: "{policy}" (known: {", ".join(POLICIES)})')
    if policy != "Static":
        return
    known = {node.id for node in nodes}
    for node_id in reserved:
        if node_id not in known:
            raise UserError(
                f"reservedMemory: the reserved memory configuration references a NUMA node {node_id} that does not "
                f"exist on this machine (it has {', '.join(map(str, sorted(known)))})"
            )
    if not sum(sizes.get(MEMORY, 0) for sizes in reserved.values()):
        raise UserError(
            "reservedMemory: [memorymanager] you should specify the system reserved memory "
            "(the policy Static needs some memory reserved on at least one NUMA node)"
        )


def _check_block(block: Block, state: MachineState, owner: str) -> None:
    for node_id in block.nodes:
        if node_id not in state:
            raise UserError(
                f"memory_manager_state: {owner}: the memory assignment uses the NUMA node {node_id} that does not "
                "exist; drain the node and remove the file"
            )
        if block.resource not in state[node_id].tables:
            raise UserError(
                f"memory_manager_state: {owner}: the memory assignment uses memory resource {block.resource} that "
                f"does not exist on NUMA node {node_id}; drain the node and remove the file"
            )
