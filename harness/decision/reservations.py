"""What of a machine the node keeps for itself, what is left to pods, and whether the configuration adds up."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import ManagerConfig, NodeDescription
from numaproof.harness.pods.quantity import parse_quantity, value
from numaproof.harness.providers.cpu.options import parse_options
from numaproof.harness.providers.cpu.picking import reserve as pick_reserved
from numaproof.harness.providers.cpu.topology import CpuTopology

MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Reservations:
    """Which CPUs and which memory pods cannot have, and how much of everything they can, by resource."""

    cpus: frozenset[int]
    capacity: Mapping[str, Fraction]
    allocatable: Mapping[str, Fraction]
    memory: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # NUMA node -> resource -> bytes
    notes: tuple[str, ...] = ()  # what was decided that nobody said


def reserve(config: NodeConfig, machine: NodeDescription) -> Reservations:
    """The reservations of a configuration on a machine; a UserError where they do not fit together."""
    notes: list[str] = []
    capacity = _capacity(config, machine)
    reserved = _reserved(config, machine)
    asked = reserved.get("cpu", Fraction(0))
    cpus = _reserved_cpus(config, machine, asked, notes)
    if config.reserves_whole_cpus:
        reserved["cpu"] = Fraction(len(cpus))
    if config.memory_policy == "Static":
        _check_reserved_memory(config, machine)
    memory = _memory_by_node(config, machine, reserved, notes)
    allocatable = {name: max(amount - reserved.get(name, 0), Fraction(0)) for name, amount in capacity.items()}
    # Huge pages are taken from ordinary memory.
    pages = sum((amount for name, amount in capacity.items() if name.startswith("hugepages-")), start=Fraction(0))
    allocatable[MEMORY] = max(allocatable[MEMORY] - pages, Fraction(0))
    return Reservations(cpus, capacity, allocatable, memory, tuple(notes))


def manager_config(config: NodeConfig, reserved_cpus: frozenset[int]) -> ManagerConfig:
    """The managers' part of a configuration."""
    return ManagerConfig(
        topology_policy=config.topology_policy,
        topology_scope=config.topology_scope,
        topology_options=config.topology_options,
        cpu_policy=config.cpu_policy,
        cpu_options=config.cpu_options,
        reserved_cpus=reserved_cpus,
        memory_policy=config.memory_policy,
        reserved_memory=config.reserved_memory,
        topology_manager_enabled=config.enabled("TopologyManager"),
        semantics=config.semantics,
    )


def evicted_memory(config: NodeConfig, machine: NodeDescription) -> Fraction:
    """The memory that evictionHard keeps free; a share of all memory is a whole number of bytes."""
    threshold = config.eviction_hard.get("memory.available", "0")
    if not threshold.endswith("%"):
        return parse_quantity(threshold)
    whole = sum(node.memory for node in machine.memory_nodes)
    return Fraction(math.floor(whole * parse_quantity(threshold[:-1]) / 100))


def demanded_memory(config: NodeConfig, machine: NodeDescription) -> dict[str, int]:
    """What reservedMemory has to add up to under the Static policy: the bytes of each kind of memory."""
    reserved = _reserved(replace(config, reserved_system_cpus=None), machine)
    return {name: value(amount) for name, amount in reserved.items() if _is_memory(name)}


def _is_memory(name: str) -> bool:
    return name == MEMORY or name.startswith("hugepages-")


def _capacity(config: NodeConfig, machine: NodeDescription) -> dict[str, Fraction]:
    capacity = {
        "cpu": Fraction(len(machine.cpu_rows)),
        MEMORY: Fraction(sum(node.memory for node in machine.memory_nodes)),
        "pods": Fraction(config.max_pods),
    }
    for node in machine.memory_nodes:
        for name, size in node.hugepages.items():
            capacity[name] = capacity.get(name, Fraction(0)) + size
    return capacity


def _reserved(config: NodeConfig, machine: NodeDescription) -> dict[str, Fraction]:
    reserved: dict[str, Fraction] = {}
    for table in (config.system_reserved, config.kube_reserved):
        for name, amount in table.items():
            reserved[name] = reserved.get(name, Fraction(0)) + amount
    if config.reserved_system_cpus is not None:
        # A list of CPUs replaces every reserved amount of cpu.
        _check_online("reservedSystemCPUs", config.reserved_system_cpus, machine)
        reserved["cpu"] = Fraction(len(config.reserved_system_cpus))
    reserved[MEMORY] = reserved.get(MEMORY, Fraction(0)) + evicted_memory(config, machine)
    return reserved


def _check_online(where: str, cpus: frozenset[int], machine: NodeDescription) -> None:
    known = {row[0] for row in machine.cpu_rows}
    unknown = cpus - known
    if unknown:
        raise UserError(
            f"{where}: CPUs {format_cpulist(unknown)} are not online here; choose of {format_cpulist(known)}"
        )


def _reserved_cpus(config: NodeConfig, machine: NodeDescription, amount: Fraction, notes: list[str]) -> frozenset[int]:
    """The kubelet's: those that are listed, or under the static policy as many as the amount.

    Where pods are bound to CPUs, the proposal's: those that are listed, those of systemd, those that the kernel does
    not isolate, or as many as the amount, in whole CPUs.
    """
    if config.reserved_system_cpus and not config.reserves_whole_cpus:
        return config.reserved_system_cpus
    if config.reserves_whole_cpus:
        cpus = _host_cpus(config, machine, notes)
        if cpus or config.cpu_policy != "static":
            return cpus
    if config.cpu_policy != "static":
        return frozenset()
    count = value(amount)
    if count == 0:
        raise UserError(
            "cpuManagerPolicy: the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than "
            "zero; set one of them, or reservedSystemCPUs"
        )
    return _picked(config, machine, count)


def _picked(config: NodeConfig, machine: NodeDescription, count: int) -> frozenset[int]:
    return pick_reserved(CpuTopology.of(machine.cpu_rows), parse_options(config.cpu_options), count)


def _host_cpus(config: NodeConfig, machine: NodeDescription, notes: list[str]) -> frozenset[int]:
    known = frozenset(row[0] for row in machine.cpu_rows)
    amount = config.system_reserved.get("cpu", Fraction(0)) + config.kube_reserved.get("cpu", Fraction(0))
    remedy = "; for others give reservedSystemCPUs"
    if config.reserved_system_cpus:
        cpus, who, remedy = config.reserved_system_cpus, "as reservedSystemCPUs says", ""
    elif config.host_cpus is not None:
        _check_online("CPUAffinity of systemd", config.host_cpus, machine)
        cpus, who = config.host_cpus, "systemd keeps the host's processes there (CPUAffinity)"
    elif machine.isolated_cpus & known:
        cpus, who = known - machine.isolated_cpus, "the kernel does not isolate them"
    else:
        if value(amount) > len(known):
            raise UserError(f"systemReserved, kubeReserved: {value(amount)} CPUs, the machine has {len(known)}")
        cpus = _picked(config, machine, value(amount)) if amount else frozenset()
        who = "by amount, in whole CPUs" if cpus else "no amount and no CPUs are reserved"
    notes.append(f"reserved CPUs: {format_cpulist(cpus) or 'none'}: {who}{remedy}")
    if amount and amount != len(cpus):
        notes.append(f"systemReserved + kubeReserved: {float(amount):g} CPUs, and {len(cpus)} whole ones are reserved")
    return cpus


def _memory_by_node(
    config: NodeConfig, machine: NodeDescription, reserved: Mapping[str, Fraction], notes: list[str]
) -> dict[int, dict[str, int]]:
    """What is reserved on each NUMA node: as reservedMemory says, the rest of the amounts on the lowest nodes."""
    found = {node.id: dict(config.reserved_memory.get(node.id, {})) for node in machine.memory_nodes}
    moved = []
    for name, amount in reserved.items():
        if not _is_memory(name):
            continue
        left = value(amount) - sum(amounts.get(name, 0) for amounts in found.values())
        for node in sorted(machine.memory_nodes, key=lambda one: one.id):
            room = usable_memory(node.memory, node.hugepages, name) - found[node.id].get(name, 0)
            taken = max(min(left, room), 0)
            if taken:
                found[node.id][name] = found[node.id].get(name, 0) + taken
                moved.append(f"{taken} bytes of {name} on NUMA node {node.id}")
                left -= taken
    if moved and config.taints:
        notes.append(f"reserved without a word on which NUMA node: {', '.join(moved)}; for another give reservedMemory")
    return found


def usable_memory(memory: int, hugepages: Mapping[str, int], resource: str) -> int:
    """The bytes of a kind that a NUMA node has: huge pages are not ordinary memory."""
    return memory - sum(hugepages.values()) if resource == MEMORY else hugepages.get(resource, 0)


def _check_reserved_memory(config: NodeConfig, machine: NodeDescription) -> None:
    known = {node.id for node in machine.memory_nodes}
    totals: Counter[str] = Counter()
    for node, amounts in config.reserved_memory.items():
        if node not in known:
            raise UserError(
                f"reservedMemory: NUMA node {node} does not exist on this machine; choose of {format_cpulist(known)}"
            )
        totals.update(amounts)
    demanded = demanded_memory(config, machine)
    for kind in sorted(demanded.keys() | totals):
        if totals[kind] != demanded.get(kind, 0):
            raise UserError(
                f"reservedMemory: the total amount of {kind}, {totals[kind]} bytes, is not equal to the "
                f"{demanded.get(kind, 0)} "
                "bytes of systemReserved + kubeReserved + evictionHard; make them equal"
            )
