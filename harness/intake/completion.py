"""A configuration completed: what a kubelet would not start without is assumed, and said."""

from dataclasses import replace
from fractions import Fraction

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.pods.quantity import bytes_text, parse_quantity, value
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT


class Assumptions:
    """What was assumed so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Note an assumption."""
        self.lines.append(text)


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
        config = replace(config, topology_policy="single-numa-node", cpu_policy="static")
        said.say("no configuration is given: topologyManagerPolicy single-numa-node, cpuManagerPolicy static")
    if len(machine.node_ids) > SMALLEST_NODE_LIMIT and config.topology_policy != "none":
        config = _many_nodes(config, machine, said)
    if config.cpu_policy == "static" and not _reserves_cpus(config):
        cpus = _some_cpus(machine, free)
        config = replace(config, reserved_system_cpus=cpus)
        said.say(f"reservedSystemCPUs {format_cpulist(cpus)}: the static policy needs some, and none are given")
    if config.memory_policy == "Static":
        config = _memory_reserved(config, machine, said)
    return config


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


def _reserves_cpus(config: NodeConfig) -> bool:
    amounts = (table.get("cpu", Fraction(0)) for table in (config.system_reserved, config.kube_reserved))
    return bool(config.reserved_system_cpus) or sum(amounts) > 0


def _memory_reserved(config: NodeConfig, machine: NodeDescription, said: Assumptions) -> NodeConfig:
    """What is reserved for the node and what reservedMemory says have to be equal; one of them follows the other."""
    threshold = config.eviction_hard.get("memory.available", "0")
    if threshold.endswith("%"):
        whole = sum(node.memory for node in machine.memory_nodes)
        evicted = int(whole * parse_quantity(threshold[:-1]) / 100)
    else:
        evicted = value(parse_quantity(threshold))
    own = sum(value(table.get(MEMORY, Fraction(0))) for table in (config.system_reserved, config.kube_reserved))
    told = sum(table.get(MEMORY, 0) for table in config.reserved_memory.values())
    if told == own + evicted:
        return config
    if not config.reserved_memory:
        node = next((one.id for one in machine.memory_nodes if one.memory > own + evicted), machine.node_ids[0])
        said.say(f"reservedMemory {bytes_text(own + evicted)} on NUMA node {node}: the Static policy needs it told")
        return replace(config, reserved_memory={node: {MEMORY: own + evicted}})
    said.say(
        f"reserved for the node: {bytes_text(told)} of memory, as reservedMemory says; systemReserved, kubeReserved "
        f"and evictionHard make {bytes_text(own + evicted)}, and a kubelet would not start"
    )
    return replace(
        config,
        system_reserved={name: one for name, one in config.system_reserved.items() if name != MEMORY},
        kube_reserved={**config.kube_reserved, MEMORY: Fraction(max(told - evicted, 0))},
        eviction_hard={"memory.available": str(min(evicted, told))},
    )
