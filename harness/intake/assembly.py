"""A node put together from what is known of it; what is not known is assumed, and every assumption is said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import NodeConfig, Setting, config_of
from numaproof.harness.decision.discovery import describe, devices_of
from numaproof.harness.decision.fit import whole_amounts
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.explain.replica import Replica, Setup
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.quantity import bytes_text, parse_quantity, value
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT, Semantics

Devices = Mapping[str, tuple[Device, ...]]
Settings = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A node to try things on, the pods that were said to be there, in their order if that is known, and what was
    assumed.
    """

    replica: Replica
    history: tuple[Pod, ...] | None
    assumptions: tuple[str, ...]


class Assumptions:
    """What was assumed so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Note an assumption."""
        self.lines.append(text)


def assemble(
    machine: Machine,
    settings: Settings | None,
    devices: Devices | None,
    running: Sequence[Pod],
    *,
    asked: Collection[str] = (),
    semantics: Semantics = "current",
) -> Assembled:
    """A node with this machine and configuration, after these pods came in their order.

    `settings` and `devices` may be unknown (None). `asked`: the resources that the pod in question asks for.
    """
    said = Assumptions()
    for note in machine.notes:
        if note.startswith("assumed: "):
            said.say(note.removeprefix("assumed: "))
    setup = setup_of(machine, settings, devices, semantics, said)
    for resource in asked:
        if "/" in resource and resource not in setup.devices:
            said.say(f"nobody offers {resource} here: a kubelet admits the pod without it; --plugins tells of devices")
    replica = Replica(setup)
    for pod in running:
        verdict = replica.admit(pod).verdict
        if not verdict.admitted:
            why = f"{verdict.reason}: {verdict.message}" if verdict.message else verdict.reason
            said.say(f"the running pod {pod.namespace}/{pod.name} is left out: this node would refuse it ({why})")
    return Assembled(replica, tuple(running), tuple(said.lines))


def setup_of(
    machine: Machine, settings: Settings | None, devices: Devices | None, semantics: Semantics, said: Assumptions
) -> Setup:
    """The node without its pods."""
    beyond = [node for node in machine.node_ids if node > MAX_NODE]
    if beyond:
        raise UserError(
            f"the machine has a NUMA node {beyond[0]}, and the kubelet's masks end at {MAX_NODE}; "
            "take one with lower node ids"
        )
    description = describe(machine)
    config = completed(config_of(settings or {}, semantics), description, said, given=settings is not None)
    reservations = reserve(config, description)
    offered = devices_of(machine) if devices is None else devices
    if devices is None and offered:
        counts = ", ".join(f"{len(found)} {resource}" for resource, found in offered.items())
        said.say(f"plugins offer the machine's own devices: {counts}")
    allocatable = whole_amounts(reservations.allocatable)
    return Setup(description, manager_config(config, reservations.cpus), offered, allocatable)


def completed(config: NodeConfig, machine: NodeDescription, said: Assumptions, *, given: bool) -> NodeConfig:
    """The configuration with what a kubelet would not start without; where none is given, one that aligns CPUs."""
    if not given:
        config = replace(config, topology_policy="single-numa-node", cpu_policy="static")
        said.say("no configuration is given: topologyManagerPolicy single-numa-node, cpuManagerPolicy static")
    if len(machine.node_ids) > SMALLEST_NODE_LIMIT and config.topology_policy != "none":
        config = _many_nodes(config, machine, said)
    if config.cpu_policy == "static" and not _reserves_cpus(config):
        first = min(machine.cpu_rows)[1]
        cpus = frozenset(row[0] for row in machine.cpu_rows if row[1] == first)
        config = replace(config, reserved_system_cpus=cpus)
        said.say(f"reservedSystemCPUs {format_cpulist(cpus)}: the static policy needs some, and none are given")
    if config.memory_policy == "Static":
        config = _memory_reserved(config, machine, said)
    return config


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
