"""A node put together from what is known of it; what is not known is assumed, and every assumption is said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.decision.config import NodeConfig, Setting, config_of
from numaproof.harness.decision.discovery import describe, devices_of
from numaproof.harness.decision.fit import whole_amounts
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.explain.amounts import is_memory
from numaproof.harness.explain.replica import Replica, Setup
from numaproof.harness.intake.completion import Assumptions, completed
from numaproof.harness.intake.residents import devices_told, residents_of
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.pod import Pod
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import MemoryNode
from numaproof.harness.providers.memory.state import MEMORY
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import Semantics

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
    config = completed(
        config, description, said, given=settings is not None or bool(told), free=state.shared_cpus if state else None
    )
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
        system_reserved={name: one for name, one in config.system_reserved.items() if not is_memory(name)},
        kube_reserved={
            **{name: one for name, one in config.kube_reserved.items() if not is_memory(name)},
            **_pages(reserved),
            MEMORY: Fraction(total),
        },
        eviction_hard={"memory.available": "0"},
    )


def _pages(reserved: Mapping[int, Mapping[str, int]]) -> dict[str, Fraction]:
    kinds = {kind for kept in reserved.values() for kind in kept if kind != MEMORY}
    return {kind: Fraction(sum(kept.get(kind, 0) for kept in reserved.values())) for kind in kinds}
