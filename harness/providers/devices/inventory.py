"""The devices that a plugin lists for one resource."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from numaproof.harness.topology.bitmask import EMPTY, MAX_NODE, NodeMask, mask_of

UNKNOWN_NODE = -1  # what plugins send when they do not know: no node


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its plugin lists it."""

    id: str
    numa: tuple[int, ...] | None  # None: the plugin sent no topology; empty: a topology without nodes
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is known of a resource; it outlives the plugin, of which only the list of devices is left then."""

    devices: Mapping[str, Device] = field(default_factory=dict)
    healthy: frozenset[str] | None = frozenset()  # None: no plugin is registered
    masks: Mapping[str, NodeMask] = field(default_factory=dict)  # the NUMA nodes of every device, by its id
    has_topology: bool = False  # whether any device tells its NUMA nodes, so that it matters where one is taken

    def nodes(self, device_id: str) -> NodeMask:
        """The NUMA nodes of a device; one that is listed no more is nowhere."""
        return self.masks.get(device_id, EMPTY)

    def places(self, ids: Iterable[str]) -> Counter[NodeMask]:
        """How many of the devices there are on which NUMA nodes."""
        return Counter(map(self.masks.__getitem__, filter(self.masks.__contains__, ids)))

    def sends_topology(self, device_id: str) -> bool:
        """Whether the plugin sent a topology for the device, be it one without nodes."""
        return device_id in self.devices and self.devices[device_id].numa is not None

    def is_nowhere(self, device_id: str) -> bool:
        """Whether the device names no node at all; one that the machine does not have is a node, too."""
        if self.nodes(device_id):
            return False
        return not self.sends_topology(device_id) or set(self.devices[device_id].numa or ()) <= {UNKNOWN_NODE}


def inventory_of(devices: Iterable[Device]) -> Inventory:
    """A plugin's list; of two devices with one id the last counts, and either can make it healthy."""
    listed = tuple(devices)
    by_id = {device.id: device for device in listed}
    return Inventory(
        by_id,
        frozenset(device.id for device in listed if device.healthy),
        {device.id: _mask(device) for device in by_id.values()},
        any(device.numa for device in by_id.values()),
    )


def _mask(device: Device) -> NodeMask:
    # An id that fits into no mask is a node that no affinity can name.
    return mask_of(node for node in device.numa or () if 0 <= node <= MAX_NODE)
