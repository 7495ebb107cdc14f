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
from numaproof.harness.intake.residents import devices_told, residents_of
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.quantity import bytes_text, parse_quantity, value
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT, Semantics

_ASSUMED = "assumed: "  # what notes of a machine begin with that nobody told

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
    state: KubeletState | None = None,
    asked: Collection[str] = (),
    semantics: Semantics = "current",
) -> Assembled:
    """A node with this machine and configuration, after these pods came in their order, or as its state files say.

    `settings`, `devices` and `state` may be unknown (None). `asked`: the resources that the pod in question asks for.
    """
    said = Assumptions()
    for note in machine.notes:
        if note.startswith(_ASSUMED):
            said.say(note.removeprefix(_ASSUMED))
    setup = setup_of(machine, settings, devices, semantics, said, state)
    for resource in asked:
        if "/" in resource and resource not in setup.devices:
            said.say(f"nobody offers {resource} here: a kubelet admits the pod without it; --plugins tells of devices")
    if state is not None and _tells_holders(state):
        return Assembled(_as_it_is(setup, state, running, said), None, tuple(said.lines))
    replica = Replica(setup)
    for pod in running:
        verdict = replica.admit(pod).verdict
        if not verdict.admitted:
            why = f"{verdict.reason}: {verdict.message}" if verdict.message else verdict.reason
            said.say(f"the running pod {pod.namespace}/{pod.name} is left out: this node would refuse it ({why})")
    return Assembled(replica, tuple(running), tuple(said.lines))


def _tells_holders(state: KubeletState) -> bool:
    return state.cpu_policy is not None or state.memory_policy is not None or bool(state.cpus or state.devices)


def _as_it_is(setup: Setup, state: KubeletState, running: Sequence[Pod], said: Assumptions) -> Replica:
    """The node on which pods hold what its state files say."""
    residents = residents_of(state, setup.description, running)
    strangers = [one for one in residents if one.pod not in running]
    if strangers:
        said.say("pods of the state files ask for no more than they hold; --running tells of their manifests")
    here = {one.pod.uid for one in residents}
    for pod in running:
        if pod.uid not in here and all(one.name != f"{pod.namespace}/{pod.name}" for one in residents):
            said.say(f"the running pod {pod.namespace}/{pod.name} holds nothing by the state files")
    replica = Replica(setup, pods=[one.pod for one in residents])
    replica.managers.restore(((one.pod, one.given) for one in residents), state.memory_nodes)
    return replica


def setup_of(
    machine: Machine,
    settings: Settings | None,
    devices: Devices | None,
    semantics: Semantics,
    said: Assumptions,
    state: KubeletState | None = None,
) -> Setup:
    """The node without its pods."""
    beyond = [node for node in machine.node_ids if node > MAX_NODE]
    if beyond:
        raise UserError(
            f"the machine has a NUMA node {beyond[0]}, and the kubelet's masks end at {MAX_NODE}; "
            "take one with lower node ids"
        )
    description = describe(machine)
    told = dict(settings or {})
    if state is not None:
        _add_policies(told, state, said)
        description = _with_memory(description, state)
    config = config_of(told, semantics)
    if state is not None:
        config = _with_reserved_memory(config, state)
    config = completed(config, description, said, given=bool(told), free=state.shared_cpus if state else None)
    reservations = reserve(config, description)
    offered = devices_of(machine) if devices is None else devices
    listed = devices_told(state, offered) if state and (state.registered or state.devices) else {}
    if devices is None and offered and not listed:
        counts = ", ".join(f"{len(found)} {resource}" for resource, found in offered.items())
        said.say(f"plugins offer the machine's own devices: {counts}")
    for resource, found in listed.items():
        nowhere = sum(one.numa is None for one in found)
        if nowhere:
            said.say(f"{nowhere} of {len(found)} {resource} have no NUMA node, as nobody tells which; --plugins does")
    allocatable = whole_amounts(reservations.allocatable)
    return Setup(description, manager_config(config, reservations.cpus), {**offered, **listed}, allocatable)


def _add_policies(settings: dict[str, Setting], state: KubeletState, said: Assumptions) -> None:
    """Policies that the state files tell, where the configuration does not; they count, as what is held is theirs."""
    for key, file, policy in (
        ("cpuManagerPolicy", "cpu_manager_state", state.cpu_policy),
        ("memoryManagerPolicy", "memory_manager_state", state.memory_policy),
    ):
        if policy is None:
            continue
        if key in settings and settings[key].value != policy:
            said.say(f"{key} {policy}, as {file} says: with {settings[key].value} the kubelet would refuse the file")
        settings[key] = Setting(file, policy)


def _with_memory(machine: NodeDescription, state: KubeletState) -> NodeDescription:
    """The machine with the memory that the memory manager's file tells."""
    if state.memory_nodes is None:
        return machine
    nodes = []
    for node in machine.memory_nodes:
        told = state.memory_nodes.get(node.id)
        if told is None or MEMORY not in told.tables:
            nodes.append(node)
            continue
        pages = {kind: table.total for kind, table in told.tables.items() if kind != MEMORY}
        nodes.append(MemoryNode(node.id, told.tables[MEMORY].total, pages))
    return replace(machine, memory_nodes=tuple(nodes))


def _with_reserved_memory(config: NodeConfig, state: KubeletState) -> NodeConfig:
    """The configuration with the memory reserved that the memory manager's file tells."""
    if state.memory_nodes is None or config.memory_policy != "Static":
        return config
    reserved = {
        node: kept
        for node, told in state.memory_nodes.items()
        if (kept := {kind: table.system_reserved for kind, table in told.tables.items() if table.system_reserved})
    }
    total = sum(kept.get(MEMORY, 0) for kept in reserved.values())
    return replace(
        config,
        reserved_memory=reserved,
        system_reserved={name: one for name, one in config.system_reserved.items() if not _is_memory(name)},
        kube_reserved={
            **{name: one for name, one in config.kube_reserved.items() if not _is_memory(name)},
            **_pages(reserved),
            MEMORY: Fraction(total),
        },
        eviction_hard={"memory.available": "0"},
    )


def _is_memory(name: str) -> bool:
    return name == MEMORY or name.startswith("hugepages-")


def _pages(reserved: Mapping[int, Mapping[str, int]]) -> dict[str, Fraction]:
    kinds = {kind for kept in reserved.values() for kind in kept if kind != MEMORY}
    return {kind: Fraction(sum(kept.get(kind, 0) for kept in reserved.values())) for kind in kinds}


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
