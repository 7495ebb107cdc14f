"""A node put together from what is known of it; what is not known is assumed, and every assumption is said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import NodeConfig, Setting, config_of
from numaproof.harness.decision.discovery import describe, devices_of
from numaproof.harness.decision.fit import whole_amounts
from numaproof.harness.decision.managers import NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.explain.amounts import is_memory
from numaproof.harness.explain.replica import Replica, Resident, Setup
from numaproof.harness.intake.completion import ASSUMED_POLICIES, Assumptions, completed
from numaproof.harness.intake.residents import devices_told, residents_of
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.providers.cpu.requests import exclusive_cpus_of_pod
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
    """A node to try things on."""

    replica: Replica
    history: tuple[Pod, ...] | None  # the pods that were said to be there, in their order; None: it is not known
    assumptions: tuple[str, ...]
    obstacles: tuple[str, ...]  # why a kubelet would not start with what was told


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
        return Assembled(_as_it_is(setup, state, running, said), None, *said.told())
    replica = Replica(setup)
    for pod in running:
        verdict = replica.admit(pod).verdict
        if not verdict.admitted:
            why = f"{verdict.reason}: {verdict.message}" if verdict.message else verdict.reason
            said.say(f"the running pod {pod.namespace}/{pod.name} is left out: this node would refuse it ({why})")
    return Assembled(replica, tuple(running), *said.told())


def _tells_holders(state: KubeletState) -> bool:
    told = state.live is not None or state.cpu_policy is not None or state.memory_policy is not None
    return told or bool(state.cpus or state.memory or state.devices)


def _as_it_is(setup: Setup, state: KubeletState, running: Sequence[Pod], said: Assumptions) -> Replica:
    """The node on which pods hold what its state files say."""
    residents = residents_of(state, setup.description, running)
    strangers = [one for one in residents if one.pod not in running]
    if strangers:
        said.say("pods that are known by what they hold ask for no more than that; --running tells of their manifests")
    here = {one.pod.uid for one in residents}
    names = {one.name for one in residents}
    for pod in running:
        name = f"{pod.namespace}/{pod.name}"
        if pod.uid in here or name in names:
            continue
        if _is_known_to(state, pod, setup):
            who = "PodResources does" if state.live else "the state files do"
            said.say(f"the running pod {name} is left out: {who} not know it")
        else:
            residents += (Resident(pod, {one.name: Assignment() for one in pod.all_containers()}),)
    unknown = len(set(state.pod_names.values()) - {one.name for one in residents}) if state.live else 0
    if unknown:
        several = "1 pod that runs holds" if unknown == 1 else f"{unknown} pods that run hold"
        said.say(f"{several} nothing alone, and is not counted, as nobody tells what it asks for; --running does")
    if state.cpus_are_whole and setup.config.cpu_policy == "static" and not state.live:
        try:
            Replica(setup).managers.cpu.restore(state.cpus, state.shared_cpus)
        except UserError as error:
            said.obstruct(f"cpu_manager_state: {error}")
    replica = Replica(setup, pods=[one.pod for one in residents])
    replica.managers.restore(((one.pod, one.given) for one in residents), state.memory_nodes)
    return replica


def _is_known_to(state: KubeletState, pod: Pod, setup: Setup) -> bool:
    """Whether a pod that is on the node would be among those that were told; what runs on shared CPUs holds nothing."""
    if state.live:
        return f"{pod.namespace}/{pod.name}" not in state.pod_names
    config = setup.config
    cpus = config.cpu_policy == "static" and state.cpu_policy is not None and exclusive_cpus_of_pod(pod) > 0
    memory = config.memory_policy == "Static" and state.memory_policy is not None
    return is_pinned(pod) and (cpus or memory)


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
        _assume_policies(told, settings, said)
        description = _with_memory(description, state)
    config = config_of(told, semantics)
    if state is not None:
        config = _with_reserved_memory(config, _reserved_memory(description, state, said))
    given = settings is not None or bool(told)
    config = completed(config, description, said, given=given, free=state.shared_cpus if state else None)
    if state is not None:
        config = _with_told_cpus(config, description, state, said)
    reservations = reserve(config, description)
    offered = devices_of(machine) if devices is None else devices
    told_devices = devices_told(state, offered) if state and (state.registered or state.devices) else {}
    listed = _of_known_nodes(told_devices, description, said)
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
    for key, file, default, policy in (
        ("cpuManagerPolicy", "cpu_manager_state", "none", state.cpu_policy),
        ("memoryManagerPolicy", "memory_manager_state", "None", state.memory_policy),
    ):
        if policy is None:
            continue
        told = settings[key].value or default if key in settings else default
        if key in settings and told != policy and not state.live:
            said.obstruct(
                f"{file} is of {key} {policy}, and the configuration says {told} (could not restore state from "
                f"checkpoint); drain the node and remove {file}"
            )
        elif settings and told != policy:
            why = "the kubelet acts otherwise" if state.live else "the kubelet would refuse the file"
            said.say(f"{key} {policy}, as {'PodResources' if state.live else file} says: with {told} {why}")
        settings[key] = Setting("PodResources" if state.live else file, policy)


def _assume_policies(told: dict[str, Setting], settings: Settings | None, said: Assumptions) -> None:
    """Without a configuration the state files' policies are all that is known; what aligns is assumed beside them."""
    if settings or not told:
        return  # where nothing at all is told, all is assumed at once
    missing = {key: policy for key, policy in ASSUMED_POLICIES.items() if key not in told}
    said.say("no configuration is given: " + ", ".join(f"{key} {policy}" for key, policy in missing.items()))
    told.update({key: Setting("assumed", policy) for key, policy in missing.items()})


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


def _with_told_cpus(config: NodeConfig, machine: NodeDescription, state: KubeletState, said: Assumptions) -> NodeConfig:
    """The configuration with the CPUs reserved that a running kubelet does not give away."""
    if state.allocatable_cpus is None or config.cpu_policy != "static":
        return config
    online = frozenset(row[0] for row in machine.cpu_rows)
    if unknown := state.allocatable_cpus - online:
        raise UserError(
            f"PodResources: tells of CPUs {format_cpulist(unknown)[:80]}, which the machine does not have; "
            "give the machine that the socket is of"
        )
    kept = online - state.allocatable_cpus
    if not kept or kept == reserve(config, machine).cpus:
        return config
    said.say(f"reservedSystemCPUs {format_cpulist(kept)}: the CPUs that PodResources does not list as allocatable")
    return replace(config, reserved_system_cpus=kept)


def _reserved_memory(
    machine: NodeDescription, state: KubeletState, said: Assumptions
) -> Mapping[int, Mapping[str, int]] | None:
    """What is kept of each NUMA node's memory, by the memory manager's file or by a running kubelet; None: not told."""
    if state.memory_nodes is not None:
        return {
            node: kept
            for node, told in state.memory_nodes.items()
            if (kept := {kind: table.system_reserved for kind, table in told.tables.items() if table.system_reserved})
        }
    if state.allocatable_memory is None:
        return None
    free: dict[tuple[int, str], int] = {}
    for block in state.allocatable_memory:
        for node_id in block.nodes[:1]:  # each is of one NUMA node
            free[node_id, block.resource] = free.get((node_id, block.resource), 0) + block.size
    reserved: dict[int, dict[str, int]] = {}
    for node in machine.memory_nodes:
        tables = {MEMORY: node.memory - sum(node.hugepages.values()), **node.hugepages}
        kept = {kind: size - free.pop((node.id, kind), 0) for kind, size in tables.items()}
        if any(size < 0 for size in kept.values()):
            said.say("the machine has less memory than PodResources lists, so what is reserved is not taken from there")
            return None
        if any(kept.values()):
            reserved[node.id] = {kind: size for kind, size in kept.items() if size}
    return None if free else reserved


def _of_known_nodes(devices: Devices, machine: NodeDescription, said: Assumptions) -> Devices:
    """The devices without NUMA nodes that the machine does not have."""
    known = set(machine.node_ids)
    made = {}
    for resource, listed in devices.items():
        strange = {node for one in listed for node in one.numa or ()} - known
        if strange:
            few = ", ".join(map(str, sorted(strange)[:4]))
            said.say(f"{resource}: devices are on NUMA nodes that the machine does not have ({few}): as if on none")
        made[resource] = tuple(
            replace(one, numa=tuple(node for node in one.numa or () if node in known) or None) for one in listed
        )
    return made


def _with_reserved_memory(config: NodeConfig, reserved: Mapping[int, Mapping[str, int]] | None) -> NodeConfig:
    """The configuration with the memory reserved that was told."""
    if reserved is None or config.memory_policy != "Static":
        return config
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
