"""What one container was given: the one shape for managers, records, files and views."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.topology.store import NO_AFFINITY


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one container was given, and where it was meant to be."""

    affinity: TopologyHint = NO_AFFINITY
    cpus: frozenset[int] = frozenset()  # exclusive ones; empty: the shared pool
    memory: tuple[Block, ...] = ()
    devices: Mapping[str, tuple[Device, ...]] = field(default_factory=dict)  # by resource, in the order of their ids

    def device_ids(self) -> dict[str, frozenset[str]]:
        """The ids of the devices, by resource."""
        return {resource: frozenset(one.id for one in devices) for resource, devices in self.devices.items()}
