"""The frozen model of a machine: what a tree of sysfs files says, and nothing that depends on how it was described."""

from dataclasses import dataclass
from typing import Literal

from numaproof.fake_sysfs.pci import Bar, DeviceLink, DeviceNode, NetInterface, PciDevice, PciRoot, by_address
from numaproof.fake_sysfs.validate import check_machine

__all__ = [
    "Access",
    "Bar",
    "Cache",
    "CacheKind",
    "Cpu",
    "CpuKind",
    "DeviceLink",
    "DeviceNode",
    "Hugepages",
    "Machine",
    "NetInterface",
    "NumaNode",
    "PciDevice",
    "PciRoot",
    "SideCache",
]

CacheKind = Literal["Data", "Instruction", "Unified"]

# The page sizes of x86-64, in kB: what the kernel offers whether or not pages are set aside.
X86_HUGEPAGE_SIZES = (2048, 1048576)
UNKNOWN = "unknown"  # a CPU's model or vendor that nobody tells


@dataclass(frozen=True, slots=True)
class Cpu:
    """A hardware thread. An offline one keeps its id and node only: core, die and package are -1."""

    id: int
    core: int  # core_id: unique within its package
    die: int  # die_id: unique within its package
    package: int
    node: int
    online: bool = True

    @classmethod
    def offline(cls, cpu_id: int, node: int) -> "Cpu":
        """A CPU that is there, but switched off."""
        return cls(cpu_id, -1, -1, -1, node, online=False)


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache instance and the online CPUs that share it."""

    level: int
    kind: CacheKind
    size: int  # bytes, whole kB
    cpus: tuple[int, ...]
    id: int  # unique among the caches of its level and kind
    line_size: int = 64
    ways: int = 0  # 0: unknown

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpus", tuple(sorted(self.cpus)))


@dataclass(frozen=True, slots=True)
class Hugepages:
    """Pages of one size that a node has set aside."""

    size_kb: int
    pages: int


@dataclass(frozen=True, slots=True)
class Access:
    """How the nearest initiators reach a node's memory (`access0`): latency in ns, bandwidth in MB/s; 0: unknown."""

    initiators: tuple[int, ...]
    read_latency: int = 0
    write_latency: int = 0
    read_bandwidth: int = 0
    write_bandwidth: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "initiators", tuple(sorted(self.initiators)))


@dataclass(frozen=True, slots=True)
class SideCache:
    """A memory-side cache of a node (`memory_side_cache/indexN`); the numbers are the kernel's."""

    level: int
    size: int  # bytes
    line_size: int = 64
    indexing: int = 0  # 0: direct mapped
    write_policy: int = 0  # 0: write back


@dataclass(frozen=True, slots=True)
class NumaNode:
    """An online NUMA node; its CPUs are `machine.cpus_of(id)`."""

    id: int
    memory: int  # bytes, whole kB; 0: no memory
    hugepages: tuple[Hugepages, ...] = ()
    distances: tuple[int, ...] = ()  # to every online node, ascending id; (): 10 to itself, 20 to the others
    access: Access | None = None  # None: the firmware has no HMAT
    side_caches: tuple[SideCache, ...] = ()

    def __post_init__(self) -> None:
        # No pages of a size and no word of that size are the same thing.
        pages = tuple(sorted((p for p in self.hugepages if p.pages), key=lambda p: p.size_kb))
        object.__setattr__(self, "hugepages", pages)
        object.__setattr__(self, "side_caches", tuple(sorted(self.side_caches, key=lambda c: c.level)))


@dataclass(frozen=True, slots=True)
class CpuKind:
    """CPUs of one make on a hybrid machine: name as in `/sys/devices/cpu_NAME` ("core", "atom"), top speed."""

    name: str
    cpus: tuple[int, ...]
    mhz: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "cpus", tuple(sorted(self.cpus)))


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine; every sequence is kept in ascending order, so that two equal machines compare equal."""

    name: str
    cpus: tuple[Cpu, ...]
    nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...] = ()
    pci: tuple[PciRoot, ...] = ()
    links: tuple[DeviceLink, ...] = ()
    spare_nodes: tuple[int, ...] = ()  # possible, but not online
    kinds: tuple[CpuKind, ...] = ()  # (): all CPUs are alike
    isolated: tuple[int, ...] = ()  # CPUs, online or not, that `isolcpus=` keeps from the scheduler
    hugepage_sizes: tuple[int, ...] = X86_HUGEPAGE_SIZES  # in kB
    cpu_model: str = "numaproof CPU"
    cpu_vendor: str = "GenuineIntel"
    mhz: int = 2000
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "cpus", tuple(sorted(self.cpus, key=lambda cpu: cpu.id)))
        put(self, "caches", tuple(sorted(self.caches, key=lambda c: (c.cpus[:1], c.level, c.kind))))
        put(self, "pci", tuple(sorted(self.pci, key=lambda root: (root.domain, root.bus))))
        put(self, "links", tuple(sorted(self.links, key=lambda link: (link.a, link.b))))
        put(self, "kinds", tuple(sorted(self.kinds, key=lambda kind: kind.name)))
        put(self, "spare_nodes", tuple(sorted(self.spare_nodes)))
        put(self, "isolated", tuple(sorted(self.isolated)))
        put(self, "hugepage_sizes", tuple(sorted(self.hugepage_sizes)))
        ordered = tuple(sorted(self.nodes, key=lambda node: node.id))
        put(self, "nodes", tuple(_with_distances(node, ordered) for node in ordered))
        check_machine(self)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The online NUMA nodes, ascending."""
        return tuple(node.id for node in self.nodes)

    @property
    def cpu_ids(self) -> tuple[int, ...]:
        """The online CPUs, ascending."""
        return tuple(cpu.id for cpu in self.cpus if cpu.online)

    @property
    def package_ids(self) -> tuple[int, ...]:
        """The packages that have an online CPU, ascending."""
        return tuple(sorted({cpu.package for cpu in self.cpus if cpu.online}))

    def cpus_of(self, node_id: int) -> tuple[int, ...]:
        """The online CPUs of a node, ascending; () for a node without."""
        return tuple(cpu.id for cpu in self.cpus if cpu.node == node_id and cpu.online)

    def cpus_by_node(self) -> dict[int, tuple[int, ...]]:
        """The online CPUs of every node, in one pass."""
        found: dict[int, list[int]] = {node.id: [] for node in self.nodes}
        for cpu in self.cpus:
            if cpu.online:
                found[cpu.node].append(cpu.id)
        return {node: tuple(ids) for node, ids in found.items()}

    def devices(self) -> tuple[PciDevice, ...]:
        """Every PCI function: bridges, what is behind them, virtual functions; in the order of addresses."""
        return tuple(sorted((device for root in self.pci for device in root.walk()), key=by_address))


def _with_distances(node: NumaNode, nodes: tuple[NumaNode, ...]) -> NumaNode:
    if node.distances:
        return node
    row = tuple(10 if other.id == node.id else 20 for other in nodes)
    return NumaNode(node.id, node.memory, node.hugepages, row, node.access, node.side_caches)
