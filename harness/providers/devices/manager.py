"""The device manager: hands out the plugins' devices to containers."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.quantity import value
from numaproof.harness.pods.requests import pod_total
from numaproof.harness.providers.devices.choice import choose
from numaproof.harness.providers.devices.hints import affinities, device_family
from numaproof.harness.providers.devices.inventory import Device, Inventory, inventory_of
from numaproof.harness.providers.devices.port import PreferredPort
from numaproof.harness.providers.devices.preferred_sets import PreferredSets
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import ENUMERATED_NODES, HintFamily, Hints, TopologyHint
from numaproof.harness.topology.provider import AllocationError
from numaproof.harness.topology.selection import Chosen, Offer, no_choice
from numaproof.harness.vocabulary import ContainerKey

# Called once the devices are decided, before they are assigned; if it raises AllocationError, they are not.
Allocated = Callable[[Pod, Container, str, frozenset[str]], None]


class DeviceManager:
    """Hints for and assignments of devices, for pods of every QoS class.

    One decision at a time; lists may arrive meanwhile (from another thread, too), and count from the next one on.
    """

    name: Final = "devices"

    def __init__(
        self,
        numa_nodes: Collection[int],
        preferred: PreferredPort | None = None,
        active: Callable[[], Collection[str]] | None = None,  # uids of the pods that may hold devices; None: all may
        allocated: Allocated | None = None,
        chosen: Chosen = no_choice,
    ) -> None:
        self._numa_nodes = tuple(sorted(numa_nodes))
        self._port = preferred
        self._preferred_sets = PreferredSets(preferred)
        self._active = active
        self._allocated = allocated
        self._chosen_for = chosen
        self._inventories: dict[str, Inventory] = {}
        self._assignments: dict[ContainerKey, dict[str, frozenset[str]]] = {}
        # Devices of finished init containers, by resource; only the pod allocated last is remembered.
        self._reusable_by = ""
        self._reusable: dict[str, frozenset[str]] = {}

    @property
    def assignments(self) -> Mapping[ContainerKey, Mapping[str, frozenset[str]]]:
        """Who holds which devices, by resource; an init container's may be a later container's too."""
        return MappingProxyType(self._assignments)

    def update(self, resource: str, devices: Iterable[Device]) -> None:
        """A plugin's list arrived: it replaces the one before."""
        self._inventories[resource] = inventory_of(devices)

    def forget(self, resource: str) -> None:
        """The plugin is gone for good: nothing can be allocated, what is assigned stays so."""
        self._inventories[resource] = replace(self._inventory(resource), healthy=None)

    def restore(
        self, assignments: Mapping[ContainerKey, Mapping[str, frozenset[str]]], registered: Collection[str] = ()
    ) -> None:
        """Take over saved assignments, and resources that were registered: without devices until they are listed."""
        self._assignments = {key: dict(held) for key, held in assignments.items()}
        for resource in registered:
            self._inventories.setdefault(resource, Inventory())

    def devices(self, resource: str) -> tuple[Device, ...]:
        """The devices listed last, also those of a plugin that is gone."""
        return tuple(self._inventory(resource).devices.values())

    def resources(self) -> list[str]:
        """Every resource that was ever listed or registered, also those of plugins that are gone."""
        return sorted(self._inventories.copy())

    def listed(self, resource: str) -> Mapping[str, Device]:
        """The devices listed last, by id, also those of a plugin that is gone."""
        return self._inventory(resource).devices

    def masks(self, resource: str) -> Mapping[str, NodeMask]:
        """The NUMA nodes of the devices listed last, by id."""
        return self._inventory(resource).masks

    def held(self, uid: str, container: str) -> dict[str, tuple[Device, ...]]:
        """The devices of a container, by resource; one that is not listed any more counts as unhealthy."""
        held: dict[str, tuple[Device, ...]] = {}
        for resource, ids in self._assignments.get((uid, container), {}).items():
            listed = self.listed(resource)
            held[resource] = tuple(listed.get(one) or Device(one, None, healthy=False) for one in sorted(ids))
        return held

    def amount(self, resource: str) -> int | None:
        """How many devices of a resource the node can count on; None: it never had any plugin."""
        if resource not in self._inventories:
            return None
        # Devices that are in use count even if they have become unhealthy meanwhile.
        return max(len(self._inventory(resource).healthy or ()), len(self._in_use(resource)))

    def healthy(self) -> Mapping[str, frozenset[str]]:
        """The healthy devices of every registered resource."""
        return {
            resource: inventory.healthy
            for resource, inventory in sorted(self._inventories.copy().items())
            if inventory.healthy is not None
        }

    def free(self) -> dict[str, frozenset[str]]:
        """The healthy devices that nobody has, of every registered resource."""
        return {resource: ids - self._in_use(resource) for resource, ids in self.healthy().items()}

    def manages(self, resource: str) -> bool:
        """Whether a plugin is registered for the resource, or some of it is assigned still."""
        return self._inventory(resource).healthy is not None or any(
            resource in held for held in self._assignments.values()
        )

    def get_topology_hints(self, pod: Pod, container: Container) -> Hints:
        """By resource: no preference without topology, impossible with too few devices."""
        self._collect()
        hints: dict[str, list[TopologyHint] | HintFamily | None] = {}
        for resource, request in self._requests(container).items():
            held = self._held(pod.uid, container.name, resource) or frozenset()
            hints[resource] = self._hints(pod.uid, resource, request, held, self._reusable_of(pod.uid, resource))
        return hints

    def get_pod_topology_hints(self, pod: Pod) -> Hints:
        """The same for all containers of the pod together; devices are not reused then."""
        self._collect()
        hints: dict[str, list[TopologyHint] | HintFamily | None] = {}
        for resource in sorted({name for container in pod.all_containers() for name in self._requests(container)}):
            request = pod_total(pod, partial(_limit, resource), 0)
            held: frozenset[str] = frozenset().union(
                *(self._held(pod.uid, container.name, resource) or () for container in pod.all_containers())
            )
            hints[resource] = self._hints(pod.uid, resource, request, held, frozenset())
        return hints

    def offers(self, pod: Pod, container: Container | None) -> dict[str, Offer[str]]:
        """By resource: which devices a container, or the whole pod, could get; without what it cannot get."""
        self._collect()
        asking = pod.all_containers() if container is None else (container,)
        offers = {}
        for resource in sorted({name for one in asking for name in self._requests(one)}):
            wanted = _limit(resource, container) if container else pod_total(pod, partial(_limit, resource), 0)
            healthy = self._inventory(resource).healthy or frozenset()
            held: frozenset[str] = frozenset().union(*(self._held(pod.uid, one.name, resource) or () for one in asking))
            first = held if container and held else held | self._reusable_of(pod.uid, resource)
            available = healthy - self._in_use(resource) | first
            if 0 < wanted <= len(available):
                offers[resource] = Offer(wanted, available, first)
        return offers

    def allocate(self, pod: Pod, container: Container, affinity: TopologyHint) -> None:
        """Assign the container its devices: those that are chosen for it, or else from the affinity's nodes as far as
        they reach.
        """
        if self._reusable_by != pod.uid:
            self._reusable_by, self._reusable = pod.uid, {}
        requests = self._requests(container)
        if requests:
            self._collect()
        for resource, required in requests.items():
            chosen = self._chosen(pod, container, resource, required, affinity.affinity)
            if not chosen:
                continue
            if self._allocated is not None:
                self._allocated(pod, container, resource, chosen)
            self._assignments.setdefault((pod.uid, container.name), {})[resource] = chosen
        leaves_devices = pod.ends(container)
        for resource, held in self._assignments.get((pod.uid, container.name), {}).items():
            before = self._reusable.get(resource, frozenset())
            self._reusable[resource] = before | held if leaves_devices else before - held

    def remove(self, uid: str) -> None:
        """Take back all that a pod holds."""
        self._keep(lambda owner: owner != uid)
        self._preferred_sets.forget(uid)
        if self._reusable_by == uid:
            self._reusable_by, self._reusable = "", {}

    def checkpoint(self) -> Any:
        """What is assigned and left behind, to come back to by `rollback`; lists are not part of it."""
        assignments = {key: held.copy() for key, held in self._assignments.items()}
        return assignments, self._reusable_by, self._reusable.copy()

    def rollback(self, checkpoint: Any) -> None:
        """Have assigned what was assigned at the checkpoint."""
        self._assignments, self._reusable_by, self._reusable = checkpoint
        self._preferred_sets = PreferredSets(self._port)  # what was answered was for the decision that is taken back

    def _hints(
        self, uid: str, resource: str, request: int, held: frozenset[str], reusable: frozenset[str]
    ) -> list[TopologyHint] | HintFamily | None:
        inventory = self._inventory(resource)
        if not inventory.has_topology:
            return None
        available = (inventory.healthy or frozenset()) - self._in_use(resource)
        if held:
            if len(held) != request:
                return []
            available, reusable = held, frozenset()
        elif len(available | reusable) < request:
            return []
        family = device_family(inventory, self._numa_nodes, available, reusable, request)
        if family is None:
            return []
        if not held:
            family = self._with_preferred_sets(family, uid, resource, inventory, available, reusable, request)
        return list(family.hints()) if family.nodes.bit_count() <= ENUMERATED_NODES else family

    def _with_preferred_sets(
        self,
        family: HintFamily,
        uid: str,
        resource: str,
        inventory: Inventory,
        available: frozenset[str],
        reusable: frozenset[str],
        request: int,
    ) -> HintFamily:
        """With the plural draft the preferred hints are those on which a preferred allocation lies."""
        if not self._preferred_sets.offered(resource):
            return family
        inherited = sorted(reusable)[:request]
        try:
            sets = self._preferred_sets.for_hints(uid, resource, available | reusable, inherited, request)
        except AllocationError:
            return family  # hints cannot fail; the allocation asks again and tells
        return replace(family, preferred_masks=frozenset().union(*(affinities(inventory, ids) for ids in sets)))

    def _chosen(
        self, pod: Pod, container: Container, resource: str, required: int, affinity: NodeMask | None
    ) -> frozenset[str]:
        """The devices to be assigned; none if the container has them already or asks for none."""
        inventory = self._inventory(resource)
        held = self._held(pod.uid, container.name, resource)
        if held is not None and len(held) != required:
            raise AllocationError(
                f'pod "{pod.uid}" container "{container.name}" changed request for resource "{resource}" '
                f"from {len(held)} to {required}",
                resource,
            )
        if inventory.healthy is None:
            raise AllocationError(f"cannot allocate unregistered device {resource}", resource)
        if not inventory.healthy:
            raise AllocationError(f"no healthy devices present; cannot allocate unhealthy devices {resource}", resource)
        if held is not None and not held <= inventory.healthy:
            raise AllocationError(
                f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}",
                resource,
            )
        if held is not None or not required:
            return frozenset()
        exactly = self._chosen_for().devices.get(resource)
        if exactly is not None:
            return exactly
        return choose(
            resource,
            inventory,
            required,
            reusable=self._reusable_of(pod.uid, resource),
            in_use=self._in_use(resource),
            affinity=affinity,
            ask_sets=partial(self._preferred_sets.for_allocation, pod.uid, resource),
            ask=partial(self._ask, resource),
        )

    def _ask(self, resource: str, available: Collection[str], chosen: Collection[str], size: int) -> Collection[str]:
        if self._port is None or not self._port.offers(resource):
            return ()
        return self._port.preferred(resource, sorted(available), sorted(chosen), size)

    def _requests(self, container: Container) -> dict[str, int]:
        return {
            resource: _limit(resource, container) for resource in sorted(container.limits) if self.manages(resource)
        }

    def _inventory(self, resource: str) -> Inventory:
        return self._inventories.get(resource, Inventory(healthy=None))

    def _held(self, uid: str, name: str, resource: str) -> frozenset[str] | None:
        return self._assignments.get((uid, name), {}).get(resource)

    def _reusable_of(self, uid: str, resource: str) -> frozenset[str]:
        return self._reusable.get(resource, frozenset()) if uid == self._reusable_by else frozenset()

    def _in_use(self, resource: str) -> frozenset[str]:
        return frozenset().union(*(held.get(resource, ()) for held in self._assignments.values()))

    def _collect(self) -> None:
        if self._active is not None:
            active = self._active()
            self._keep(lambda owner: owner in active)

    def _keep(self, wanted: Callable[[str], bool]) -> None:
        for key in [key for key in self._assignments if not wanted(key[0])]:
            del self._assignments[key]


def _limit(resource: str, container: Container) -> int:
    # Devices cannot be overcommitted: what a container requests is its limit.
    return value(container.limits.get(resource, Fraction(0)))
