"""What of a machine the node keeps for itself, what is left to pods, and whether the configuration adds up."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import NodeDescription
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


def reserve(config: NodeConfig, machine: NodeDescription) -> Reservations:
    """The reservations of a configuration on a machine; a UserError where they do not fit together."""
    capacity = _capacity(config, machine)
    reserved = _reserved(config, machine, capacity)
    cpus = _reserved_cpus(config, machine, reserved.get("cpu", Fraction(0)))
    if config.memory_policy == "Static":
        _check_reserved_memory(config, machine, reserved)
    allocatable = {name: max(amount - reserved.get(name, 0), Fraction(0)) for name, amount in capacity.items()}
    # Huge pages are taken from ordinary memory.
    pages = sum((amount for name, amount in capacity.items() if name.startswith("hugepages-")), start=Fraction(0))
    allocatable[MEMORY] = max(allocatable[MEMORY] - pages, Fraction(0))
    return Reservations(cpus, capacity, allocatable)


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


def _reserved(config: NodeConfig, machine: NodeDescription, capacity: Mapping[str, Fraction]) -> dict[str, Fraction]:
    reserved: dict[str, Fraction] = {}
    for table in (config.system_reserved, config.kube_reserved):
        for name, amount in table.items():
            reserved[name] = reserved.get(name, Fraction(0)) + amount
    if config.reserved_system_cpus is not None:
        # A list of CPUs replaces every reserved amount of cpu.
        known = {row[0] for row in machine.cpu_rows}
        unknown = config.reserved_system_cpus - known
        if unknown:
            raise UserError(
                f"reservedSystemCPUs: CPUs {format_cpulist(unknown)} are not online here; "
                f"choose of {format_cpulist(known)}"
            )
        reserved["cpu"] = Fraction(len(config.reserved_system_cpus))
    threshold = config.eviction_hard.get("memory.available", "0")
    if threshold.endswith("%"):
        evicted = Fraction(math.floor(capacity[MEMORY] * parse_quantity(threshold[:-1]) / 100))
    else:
        evicted = parse_quantity(threshold)
    reserved[MEMORY] = reserved.get(MEMORY, Fraction(0)) + evicted
    return reserved


def _reserved_cpus(config: NodeConfig, machine: NodeDescription, amount: Fraction) -> frozenset[int]:
    if config.reserved_system_cpus:
        return config.reserved_system_cpus
    if config.cpu_policy != "static":
        return frozenset()
    count = value(amount)
    if count == 0:
        raise UserError(
            "cpuManagerPolicy: the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than "
            "zero; set one of them, or reservedSystemCPUs"
        )
    return pick_reserved(CpuTopology.of(machine.cpu_rows), parse_options(config.cpu_options), count)


def _check_reserved_memory(config: NodeConfig, machine: NodeDescription, reserved: Mapping[str, Fraction]) -> None:
    known = {node.id for node in machine.memory_nodes}
    totals: Counter[str] = Counter()
    for node, amounts in config.reserved_memory.items():
        if node not in known:
            raise UserError(
                f"reservedMemory: NUMA node {node} does not exist on this machine; choose of {format_cpulist(known)}"
            )
        totals.update(amounts)
    kinds = {name for name in reserved if name == MEMORY or name.startswith("hugepages-")}
    for kind in sorted(kinds | set(totals)):
        demanded = value(reserved.get(kind, Fraction(0)))
        if totals[kind] != demanded:
            raise UserError(
                f"reservedMemory: the total amount of {kind}, {totals[kind]} bytes, is not equal to the {demanded} "
                "bytes of systemReserved + kubeReserved + evictionHard; make them equal"
            )
