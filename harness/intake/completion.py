"""A configuration completed: what a kubelet would not start without is assumed, and said."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import demanded_memory, evicted_memory, usable_memory
from numaproof.harness.pods.quantity import bytes_text
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.vocabulary import SELECTING_POLICY, SMALLEST_NODE_LIMIT

# Of a node whose configuration nobody tells.
ASSUMED_POLICIES = {"topologyManagerPolicy": "single-numa-node", "cpuManagerPolicy": "static"}
_LEAST_MEMORY = 100 << 20  # bytes: what a kubelet keeps free where nobody says how much


class Assumptions:
    """What was assumed so far, and what stands in the way of a kubelet."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.obstacles: list[str] = []

    def say(self, text: str) -> None:
        """Note an assumption."""
        self.lines.append(text)

    def told(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The assumptions, and the obstacles."""
        return tuple(self.lines), tuple(self.obstacles)

    def obstruct(self, text: str) -> None:
        """Note why a kubelet would not start with what was told."""
        self.obstacles.append(text)


def completed(
    config: NodeConfig,
    machine: NodeDescription,
    said: Assumptions,
    *,
    given: bool,
    free: frozenset[int] | None = None,
) -> NodeConfig:
    """The configuration with what a kubelet would not start without; where none is given, one that aligns CPUs.

    `free`: the CPUs that no pod has for itself, if that is known: reserved ones are among them.
    """
    if not given:
        topology, cpu = ASSUMED_POLICIES.values()
        config = replace(config, topology_policy=topology, cpu_policy=cpu)
        said.say(f"no configuration is given: topologyManagerPolicy {topology}, cpuManagerPolicy {cpu}")
    # Semantics kep knows no option for more NUMA nodes, and the policy cost needs none.
    if config.semantics == "current" and config.policy_in_force not in ("none", SELECTING_POLICY):
        config = _many_nodes(config, machine, said)
    if config.cpu_policy == "static" and not _reserves_cpus(config, machine):
        cpus = _some_cpus(machine, free)
        config = replace(config, reserved_system_cpus=cpus)
        said.say(f"reservedSystemCPUs {format_cpulist(cpus)}: the static policy needs some, and none are given")
    _note_overdrawn(config, machine, said)
    if config.memory_policy == "Static":
        config = _memory_reserved(config, machine, said)
    return config


def _note_overdrawn(config: NodeConfig, machine: NodeDescription, said: Assumptions) -> None:
    """Memory of which the node is to keep more than it has: a kubelet counts pages among it, too."""
    for kind, amount in sorted(demanded_memory(config, machine).items()):
        has = sum(node.memory if kind == MEMORY else node.hugepages.get(kind, 0) for node in machine.memory_nodes)
        if amount > has:
            said.obstruct(
                f"systemReserved, kubeReserved and evictionHard: make {bytes_text(amount)} of {kind}, and the machine "
                f"has {bytes_text(has)} (invalid Node Allocatable configuration); reserve less"
            )


def _some_cpus(machine: NodeDescription, free: frozenset[int] | None) -> frozenset[int]:
    """The first core or, of CPUs that must be free, the first one."""
    if free:
        return frozenset({min(free)})
    first = min(machine.cpu_rows)[1]
    return frozenset(row[0] for row in machine.cpu_rows if row[1] == first)


def _many_nodes(config: NodeConfig, machine: NodeDescription, said: Assumptions) -> NodeConfig:
    count = len(machine.node_ids)
    limit = int(config.topology_options.get("max-allowable-numa-nodes", SMALLEST_NODE_LIMIT))
    if count <= limit:
        return config
    said.say(
        f"max-allowable-numa-nodes {count}: without it a kubelet does not start with the policy "
        f"{config.topology_policy} on {count} NUMA nodes (its limit is {limit})"
    )
    return replace(config, topology_options={**config.topology_options, "max-allowable-numa-nodes": str(count)})


def _reserves_cpus(config: NodeConfig, machine: NodeDescription) -> bool:
    if config.reserves_whole_cpus and (config.host_cpus or machine.isolated_cpus):
        return True
    amounts = (table.get("cpu", Fraction(0)) for table in (config.system_reserved, config.kube_reserved))
    return bool(config.reserved_system_cpus) or sum(amounts) > 0


def _memory_reserved(config: NodeConfig, machine: NodeDescription, said: Assumptions) -> NodeConfig:
    """What is reserved for the node and what reservedMemory says have to be equal; one of them follows the other."""
    told: Counter[str] = Counter()
    for kinds in config.reserved_memory.values():
        told.update(kinds)
    if not told[MEMORY] and not demanded_memory(config, machine)[MEMORY]:
        config = replace(config, kube_reserved={**config.kube_reserved, MEMORY: Fraction(_LEAST_MEMORY)})
        said.say(f"kubeReserved {bytes_text(_LEAST_MEMORY)} of memory: the Static policy needs some, and none is given")
    demanded = demanded_memory(config, machine)
    for kind in sorted(demanded.keys() | told.keys()):
        amount = demanded.get(kind, 0)
        if told[kind] == amount:
            continue
        if not told[kind]:
            config = _with_places(config, machine, kind, amount, said)
            continue
        said.say(f"reserved for the node: {bytes_text(told[kind])} of {kind}, as reservedMemory says")
        said.obstruct(
            f"reservedMemory: has {bytes_text(told[kind])} of {kind}, and systemReserved, kubeReserved and "
            f"evictionHard make {bytes_text(amount)}; make them equal"
        )
        config = _with_amount(config, machine, kind, told[kind])
    return config


def _with_places(config: NodeConfig, machine: NodeDescription, kind: str, amount: int, said: Assumptions) -> NodeConfig:
    """The configuration with an amount in reservedMemory: on the first NUMA node that has more, or on several."""
    reserved = config.reserved_memory
    rooms = {
        node.id: max(usable_memory(node.memory, node.hugepages, kind) - reserved.get(node.id, {}).get(kind, 0), 0)
        for node in machine.memory_nodes
    }
    parts = _parts(amount, rooms)
    kept = "" if kind == MEMORY else f" of {kind}"
    nodes = f"NUMA node{'s' if len(parts) > 1 else ''} {format_cpulist(parts)}"
    said.say(f"reservedMemory {bytes_text(amount)}{kept} on {nodes}: the Static policy does not start without")
    return replace(
        config,
        reserved_memory={
            node: {**reserved.get(node, {}), **({kind: parts[node]} if node in parts else {})}
            for node in sorted({*reserved, *parts})
        },
    )


def _parts(amount: int, rooms: Mapping[int, int]) -> dict[int, int]:
    """How much of an amount is on which NUMA node; what fits nowhere is on the first."""
    for node, room in rooms.items():
        if room > amount:
            return {node: amount}
    parts: dict[int, int] = {}
    for node, room in rooms.items():
        taken = min(room, amount - sum(parts.values()))
        if taken:
            parts[node] = taken
    first = min(rooms)
    if left := amount - sum(parts.values()):
        parts[first] = parts.get(first, 0) + left
    return parts


def _with_amount(config: NodeConfig, machine: NodeDescription, kind: str, amount: int) -> NodeConfig:
    """The configuration that reserves an amount for the node, of which eviction keeps its part."""
    evicted = evicted_memory(config, machine) if kind == MEMORY else Fraction(0)
    eviction = config.eviction_hard
    if evicted > amount:
        eviction, evicted = {**eviction, "memory.available": str(amount)}, Fraction(amount)
    return replace(
        config,
        system_reserved={name: one for name, one in config.system_reserved.items() if name != kind},
        kube_reserved={**config.kube_reserved, kind: amount - evicted},
        eviction_hard=eviction,
    )
