"""What nodes on machines of one kind share, worked out once: the machine, its reservations, its zones, its devices."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.affinity.node_topology import NodeTopology, ZoneStatus
from numaproof.harness.affinity.zones import Zone, zones_of
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.discovery import describe, devices_of
from numaproof.harness.decision.fit import Amounts, whole_amounts
from numaproof.harness.decision.managers import ManagerConfig, Managers, NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import MAX_NODE
from numaproof.harness.vocabulary import SMALLEST_NODE_LIMIT, Semantics


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A machine and how its kubelet is configured; nothing of it changes."""

    description: NodeDescription
    config: ManagerConfig
    taints: tuple[Taint, ...]
    zones: tuple[Zone, ...]
    devices: Mapping[str, tuple[Device, ...]]  # by resource
    allocatable: Amounts  # of the node as a whole, devices included
    cores: tuple[frozenset[int], ...]  # in the order of their lowest CPUs
    told: NodeTopology  # what a node of this kind tells before the first pod, but for its name

    def managers(self) -> Managers:
        """Managers of a node of this kind, on which there is no pod yet."""
        managers = Managers(self.description, self.config)
        for resource, devices in self.devices.items():
            managers.devices.update(resource, devices)
        return managers


def _told(
    config: ManagerConfig, taints: tuple[Taint, ...], zones: tuple[ZoneStatus, ...], left: Amounts
) -> NodeTopology:
    """What a node tells before the first pod, but for its name."""
    policy = config.topology_policy if config.topology_manager_enabled else "none"
    unaligned = {"cpu": config.cpu_policy == "none", "memory": config.memory_policy == "None"}
    not_here = frozenset(resource for resource, is_so in unaligned.items() if is_so)
    return NodeTopology("", policy, config.topology_scope, zones, taints, left, not_here)


def _status(zone: Zone, devices: Mapping[str, tuple[Device, ...]]) -> ZoneStatus:
    near = {resource: sum(zone.id in (one.numa or ()) for one in found) for resource, found in devices.items()}
    here = {resource: number for resource, number in near.items() if number}
    allocatable = {**zone.allocatable, **here}
    return ZoneStatus(zone.id, zone.cpus, {**zone.capacity, **here}, allocatable, allocatable, zone.distances)


def machine_kind(machine: Machine, config: NodeConfig) -> MachineKind:
    """A machine under a configuration; a UserError where the two do not go together."""
    return kind_from(describe(machine), devices_of(machine), config)


def kind_from(
    description: NodeDescription, devices: Mapping[str, tuple[Device, ...]], config: NodeConfig
) -> MachineKind:
    """The same for a machine that is described already, and its devices by resource."""
    beyond = [node for node in description.node_ids if node > MAX_NODE]
    if beyond:
        raise UserError(
            f"the machine has a NUMA node {beyond[0]}, and the kubelet's masks end at {MAX_NODE}; "
            "take one with lower node ids"
        )
    reservations = reserve(config, description)
    cores: dict[int, set[int]] = defaultdict(set)
    for cpu, core, *_ in description.cpu_rows:
        cores[core].add(cpu)
    counts = {resource: len(found) for resource, found in devices.items()}
    allocatable = {**whole_amounts(reservations.allocatable), **counts}
    zones = zones_of(description, reservations)
    of_managers = manager_config(config, reservations.cpus)
    kind = MachineKind(
        description=description,
        config=of_managers,
        taints=config.taints,
        zones=zones,
        devices=devices,
        allocatable=allocatable,
        cores=tuple(map(frozenset, sorted(cores.values(), key=min))),
        told=_told(of_managers, config.taints, tuple(_status(zone, devices) for zone in zones), allocatable),
    )
    kind.managers()  # which says now, not at the first pod, what it cannot do here
    return kind


def default_config(machine: Machine, semantics: Semantics = "current") -> NodeConfig:
    """The configuration of a node that nobody configured: CPUs are aligned on one NUMA node, the first core is kept."""
    rows = describe(machine).cpu_rows
    first = min(rows)[1]
    return NodeConfig(
        topology_policy="single-numa-node",
        topology_options={"max-allowable-numa-nodes": str(max(len(machine.node_ids), SMALLEST_NODE_LIMIT))},
        cpu_policy="static",
        reserved_system_cpus=frozenset(row[0] for row in rows if row[1] == first),
        semantics=semantics,
    )
