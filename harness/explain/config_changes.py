"""How a node could be configured instead."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.explain.amounts import quantity, short_amount
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.change import Change
from numaproof.harness.explain.replica import Replica, with_policy
from numaproof.harness.explain.stock import CPU
from numaproof.harness.providers.cpu import CpuTopology, reserve
from numaproof.harness.providers.cpu.options import parse_options
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.vocabulary import KUBELET_POLICIES, SCOPES

_ALIGNING = ("best-effort", "restricted", "single-numa-node")
_KIB, _MIB = 1 << 10, 1 << 20


def scope(replica: Replica) -> Iterator[Change]:
    """The other scope."""
    config = replica.setup.config
    for other in SCOPES:
        if other != config.topology_scope:
            changed = with_policy(replica.setup, config.topology_policy, other).config
            yield Change(
                f"set topologyManagerScope to {other}", {"config": {"topologyManagerScope": other}}, None, changed
            )


def laxer_policy(replica: Replica) -> Iterator[Change]:
    """A policy that demands less, the strictest of them first."""
    config = replica.setup.config
    order = ("single-numa-node", "strict", "restricted", "cost", "best-effort", "none")
    for other in order[order.index(config.topology_policy) + 1 :]:
        if other in KUBELET_POLICIES:
            yield _policy(replica, other)


def aligning_policy(replica: Replica) -> Iterator[Change]:
    """A policy that aligns, where none does now."""
    if replica.setup.config.topology_policy == "none":
        for other in _ALIGNING:
            yield _policy(replica, other)


def cpu_manager_on(replica: Replica) -> Iterator[Change]:
    """The static policy of the CPU manager, with a policy that aligns if none does now."""
    setup = replica.setup
    config, allocatable = setup.config, setup.allocatable
    if config.cpu_policy != "none" or allocatable is None:
        return
    told: dict[str, str] = {"cpuManagerPolicy": "static"}
    reserved, kept = config.reserved_cpus, 0
    count = -(-(1000 * len(setup.description.cpu_rows) - allocatable["cpu"]) // 1000)
    if not reserved and count > 0:  # of kubeReserved and systemReserved: the kubelet picks them
        topology = CpuTopology.of(setup.description.cpu_rows)
        reserved = reserve(topology, parse_options(config.cpu_options), count)
    elif not reserved:
        first = min(setup.description.cpu_rows)[1]
        reserved = frozenset(row[0] for row in setup.description.cpu_rows if row[1] == first)
        told["reservedSystemCPUs"], kept = format_cpulist(reserved), len(reserved)
    for policy in _ALIGNING if config.topology_policy == "none" else (config.topology_policy,):
        changed = replace(
            with_policy(setup, policy, config.topology_scope).config, cpu_policy="static", reserved_cpus=reserved
        )
        more = {"topologyManagerPolicy": policy} if policy != config.topology_policy else {}
        text = ", ".join(f"{key} to {value}" for key, value in (told | more).items())
        yield Change(f"set {text}", {"config": told | more}, None, changed, kept_cpus=kept)


def _policy(replica: Replica, other: str) -> Change:
    changed = with_policy(replica.setup, other, replica.setup.config.topology_scope).config
    return Change(f"set topologyManagerPolicy to {other}", {"config": {"topologyManagerPolicy": other}}, None, changed)


def without_cpu_option(replica: Replica) -> Iterator[Change]:
    """The CPU manager without one of its options."""
    config = replica.setup.config
    for name in config.cpu_options:
        kept = {key: one for key, one in config.cpu_options.items() if key != name}
        if parse_options(kept) != parse_options(config.cpu_options):
            yield Change(
                f"switch the CPU manager's option {name} off",
                {"config": {"cpuManagerPolicyOptions": {name: "false"}}},
                None,
                replace(config, cpu_options=kept),
            )


def reserved_elsewhere(replica: Replica, blame: Blame) -> Iterator[Change]:
    """Reserved CPUs or memory on another NUMA node, where one would have enough if nothing was reserved there."""
    stock = blame.stock
    if stock is None or not any(
        stock.free.get(node, 0) < stock.wanted <= stock.free.get(node, 0) + total - stock.most.get(node, 0)
        for node, total in stock.total.items()
    ):
        return
    if stock.resource == CPU:
        yield from _reserved_cpus(replica)
    elif stock.resource == MEMORY:
        yield from _reserved_memory(replica)


def _reserved_cpus(replica: Replica) -> Iterator[Change]:
    """As many CPUs of one NUMA node: free ones, whole cores first."""
    config, cpu = replica.setup.config, replica.managers.cpu
    held = frozenset().union(*cpu.assignments.values())
    count = len(config.reserved_cpus)
    cores: dict[int, list[int]] = {}
    for row in sorted(replica.setup.description.cpu_rows):
        cores.setdefault(row[1], []).append(row[0])
    for node in cpu.topology.nodes:
        here = [ids for ids in cores.values() if cpu.topology.node_of[ids[0]] == node and not held.intersection(ids)]
        chosen = frozenset([one for ids in here for one in ids][:count])
        if len(chosen) == count and chosen != config.reserved_cpus:
            text = format_cpulist(chosen)
            yield Change(
                f"reserve CPUs {text} of NUMA node {node} instead of {format_cpulist(config.reserved_cpus)}",
                {"config": {"reservedSystemCPUs": text}},
                None,
                replace(config, reserved_cpus=chosen),
            )


def _reserved_memory(replica: Replica) -> Iterator[Change]:
    """As much memory: all of it on one NUMA node, or equal parts on all of them; huge pages go with all of it."""
    config = replica.setup.config
    kinds = sorted({kind for table in config.reserved_memory.values() for kind in table})
    totals = {kind: sum(table.get(kind, 0) for table in config.reserved_memory.values()) for kind in kinds}
    nodes = replica.setup.description.memory_nodes
    for node in nodes:
        if totals.get(MEMORY, 0) < node.memory:
            yield from _reserving(
                replica, f"take all memory that is reserved from NUMA node {node.id}", {node.id: totals}
            )
    unit = next((one for one in (_MIB, _KIB) if totals.get(MEMORY, 0) % one == 0), 1)
    share = totals.get(MEMORY, 0) // len(nodes) // unit * unit
    if share and len(nodes) > 1 and all(share < node.memory for node in nodes):
        rest = totals[MEMORY] - share * len(nodes)
        parts = {node.id: share + (rest if node is nodes[0] else 0) for node in nodes}
        kept = {node: {**config.reserved_memory.get(node, {}), MEMORY: part} for node, part in parts.items()}
        yield from _reserving(replica, f"reserve {short_amount(MEMORY, share)} of memory on every NUMA node", kept)


def _reserving(replica: Replica, text: str, memory: Mapping[int, Mapping[str, int]]) -> Iterator[Change]:
    config = replica.setup.config
    if memory != config.reserved_memory:
        listed = [
            {"numaNode": node, "limits": {kind: quantity(amount) for kind, amount in table.items()}}
            for node, table in memory.items()
        ]
        change = {"config": {"reservedMemory": listed}}
        yield Change(text, change, None, replace(config, reserved_memory=memory))


def memory_manager_off(replica: Replica) -> Iterator[Change]:
    """Memory from anywhere."""
    config = replica.setup.config
    if config.memory_policy == "Static":
        yield Change(
            "switch the memory manager off (memoryManagerPolicy None): memory may come from any NUMA node then",
            {"config": {"memoryManagerPolicy": "None"}},
            None,
            replace(config, memory_policy="None", reserved_memory={}),
        )
