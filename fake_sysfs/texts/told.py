"""What a text tells of a machine, before anything is assumed."""

from dataclasses import dataclass, field

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import CacheKind

MOST_CPUS = 8192  # what a kernel can be built for; ids lie below
MOST_NODES = 1024
ASSUMED = "assumed: "  # what a note of a machine begins with that tells of something that no text told

CacheName = tuple[int, CacheKind]


@dataclass(frozen=True, slots=True)
class CacheSum:
    """The caches of one name as lscpu tells them: how large one is, or all together, from `least` to `most` bytes."""

    least: float
    most: float
    instances: int | None  # None: not told
    summed: bool  # whether the size is that of all together


@dataclass(frozen=True, slots=True)
class Row:
    """What `lscpu -e` or `-p` says of an online CPU; numbers count over the whole machine; None: not told."""

    node: int | None
    socket: int | None
    core: int | None
    caches: tuple[tuple[CacheName, int], ...]


@dataclass(slots=True)
class Told:
    """What was told so far; what is empty or None was not."""

    nodes: set[int] = field(default_factory=set)  # said to be there, whether or not their CPUs are told
    node_count: int | None = None
    cpus: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of a node
    memory: dict[int, int] = field(default_factory=dict)  # of a node, in bytes
    distances: dict[int, tuple[int, ...]] = field(default_factory=dict)  # a node's row
    distance_ids: tuple[int, ...] = ()  # the nodes to which the rows tell distances
    rows: dict[int, Row] = field(default_factory=dict)
    cpu_count: int | None = None
    online: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    threads: int | None = None  # of a core
    cores: int | None = None  # of a socket
    sockets: int | None = None
    caches: dict[CacheName, CacheSum] = field(default_factory=dict)
    model: str = ""
    vendor: str = ""
    architecture: str = ""
    mhz: int | None = None
    assumptions: list[str] = field(default_factory=list)

    def assume(self, text: str) -> None:
        """Note an assumption, once."""
        if text not in self.assumptions:
            self.assumptions.append(text)

    def tells_cpus(self) -> bool:
        """Whether there is enough for a machine."""
        return bool(self.cpu_count or self.rows or self.online or any(self.cpus.values()))


def check_count(what: str, number: int, most: int) -> int:
    """The number, if a machine can have as many."""
    if not 0 < number <= most:
        raise MachineError(f"{number} {what}: a machine has from 1 to {most}")
    return number


def cpu_list(text: str) -> tuple[int, ...] | None:
    """The CPUs of `0-3,8`, ascending, in one pass; None when it is no list; MachineError past the last possible id."""
    bits = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdigit() for end in ends):
            return None
        low, high = (cpu_id(end) for end in ends)
        if high < low:
            return None
        bits |= ((1 << (high - low + 1)) - 1) << low
    return ids_of(bits)


def cpu_mask(text: str) -> tuple[int, ...] | None:
    """The CPUs of `0xff00ff`; None when it is no mask."""
    digits = text.removeprefix("0x").replace(",", "")
    if not digits or len(digits) > MOST_CPUS // 4 or not set(digits) <= set("0123456789abcdefABCDEF"):
        return None
    return ids_of(int(digits, 16))


def ids_of(bits: int) -> tuple[int, ...]:
    """The numbers of the bits that are set, ascending."""
    return tuple(i for i, bit in enumerate(bin(bits)[:1:-1]) if bit == "1")


def cpu_id(digits: str) -> int:
    """A CPU's number; MachineError past the last possible one."""
    return _bounded(digits, "CPU", MOST_CPUS)


def node_id(digits: str) -> int:
    """A NUMA node's number; MachineError past the last possible one."""
    return _bounded(digits, "NUMA node", MOST_NODES)


def _bounded(digits: str, what: str, most: int) -> int:
    number = int(digits) if len(digits) <= 9 else most
    if number >= most:
        raise MachineError(f"{what} {digits[:20]}: ids lie in 0-{most - 1}")
    return number
