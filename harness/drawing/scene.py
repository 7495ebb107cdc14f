"""What is drawn: a machine, what pods hold on it, and a request that it refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.fake_sysfs.machine import Machine


@dataclass(frozen=True, slots=True)
class Holding:
    """What one pod holds."""

    label: str  # "default/web"
    cpus: frozenset[int] = frozenset()
    memory: Mapping[int, int] = field(default_factory=dict)  # NUMA node -> bytes (all kinds of memory together)
    devices: frozenset[str] = frozenset()  # ids as in DeviceMark.id
    gone: bool = False  # it is not told of, but the pods after it keep their signs and colours


@dataclass(frozen=True, slots=True)
class DeviceMark:
    """A device that a plugin offers."""

    resource: str
    id: str
    numa: tuple[int, ...]  # empty: it belongs to no NUMA node
    healthy: bool = True


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that was refused, shown where it nearly fits."""

    label: str
    nodes: tuple[int, ...]  # where it nearly fits; empty: nowhere more than elsewhere
    text: str  # what is missing there: "wants 8 CPUs, 6 free"


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a drawing shows."""

    machine: Machine
    holdings: tuple[Holding, ...] = ()
    devices: tuple[DeviceMark, ...] = ()  # empty: the PCI functions that plugins usually offer
    reserved_cpus: frozenset[int] = frozenset()
    reserved_memory: Mapping[int, int] = field(default_factory=dict)  # NUMA node -> bytes
    wish: Wish | None = None
    title: str = ""  # empty: the machine's name

    @property
    def is_bare(self) -> bool:
        """Whether it shows the machine alone, of which nobody has anything."""
        return not (self.holdings or self.reserved_cpus or self.counts_memory or self.wish)

    @property
    def counts_memory(self) -> bool:
        """Whether anybody has memory: else nothing is known of it, and none is called free."""
        return any(self.reserved_memory.values()) or any(any(one.memory.values()) for one in self.holdings)
