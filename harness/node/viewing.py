"""What is held, made into values that nothing changes later; whoever calls holds the lock of the admissions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from numaproof.harness.affinity.node_topology import DeviceStock, NodeTopology
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as plugin_api
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.decision.reservations import Reservations
from numaproof.harness.node.house_rules import HouseRules
from numaproof.harness.node.records import PodRecord, PodRecords
from numaproof.harness.node.snapshot import Admission, ContainerView, NodeSnapshot, PodView
from numaproof.harness.pods.pod import Container
from numaproof.harness.providers.devices import Device


@dataclass(frozen=True, slots=True)
class Views:
    """Looks at managers, records and rules."""

    name: str
    config: NodeConfig
    managers: Managers
    records: PodRecords
    rules: HouseRules
    reservations: Reservations

    def snapshot(self, refused: Mapping[str, Admission]) -> NodeSnapshot:
        """All that is held now."""
        managers = self.managers
        held: dict[str, set[str]] = {}
        for given in managers.devices.assignments.values():
            for resource, ids in given.items():
                held.setdefault(resource, set()).update(ids)
        devices = {resource: managers.devices.devices(resource) for resource in managers.devices.resources()}
        in_use = {resource: frozenset(ids) for resource, ids in held.items()}
        healthy = managers.devices.healthy()
        return NodeSnapshot(
            pods=tuple(self.pod(record) for record in self.records if record.is_shown),
            refused=tuple(refused.values()),
            running=managers.topology.containers(),
            shared_cpus=managers.cpu.shared_pool,
            allocatable_cpus=managers.cpu.allocatable,
            free_cpus=managers.cpu.free,
            memory=managers.memory.state,
            allocatable_memory=managers.memory.allocatable,
            devices=devices,
            healthy=healthy,
            held=in_use,
            pending=tuple(self.waiting(record) for record in self.records if record.waits),
            topology=NodeTopology(
                self.name,
                self.config.policy_in_force,
                self.config.topology_scope,
                self.rules.statuses(
                    {
                        resource: DeviceStock(
                            listed, healthy.get(resource, frozenset()), in_use.get(resource, frozenset())
                        )
                        for resource, listed in devices.items()
                    }
                ),
                self.rules.state.taints,
            ),
            capacity=self.reservations.capacity,
            allocatable=self.reservations.allocatable,
            quotas=self.rules.quotas(),
        )

    def pod(self, record: PodRecord) -> PodView:
        """A pod with all that it was given."""
        containers = tuple(self.container(record, one) for one in record.pod.all_containers())
        return PodView(record.pod, record.manifest, containers, self.rules.binding(record, waits=False))

    def waiting(self, record: PodRecord) -> PodView:
        """A pod that was given nothing yet."""
        return PodView(record.pod, record.manifest, (), self.rules.binding(record, waits=True))

    def container(self, record: PodRecord, container: Container) -> ContainerView:
        """One container of a pod."""
        return ContainerView(
            container,
            record.pod.is_init(container),
            record.pod.ends(container),
            self._as_listed(record.assignments.get(container.name, Assignment())),
            record.merged.get(container.name, plugin_api.ContainerAllocateResponse()),
            record.start_errors.get(container.name, ""),
        )

    def _as_listed(self, given: Assignment) -> Assignment:
        """The assignment with its devices as their plugins listed them last."""
        if not given.devices:
            return given
        devices: dict[str, tuple[Device, ...]] = {}
        for resource, held in given.devices.items():
            listed = self.managers.devices.listed(resource)
            devices[resource] = tuple(listed.get(one.id, one) for one in held)
        return replace(given, devices=devices)
