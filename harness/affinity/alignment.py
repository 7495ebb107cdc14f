"""Which NUMA nodes the Topology Manager would give a pod's containers, going by what zones tell."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from numaproof.harness.affinity.ledger import Shares, is_memory
from numaproof.harness.affinity.needs import Need, Needs
from numaproof.harness.affinity.node_topology import ZoneStatus
from numaproof.harness.affinity.zones import CPU
from numaproof.harness.topology.bitmask import NodeMask, ids_of
from numaproof.harness.topology.hints import Demand
from numaproof.harness.topology.mask_search import lowest_mask, smallest_size

MEMORY = "memory"
ALIGNING = ("single-numa-node", "restricted", "strict")  # the policies that refuse what is not aligned

Positions = tuple[int, ...]  # of zones in their order: ids may be too high for a mask


@dataclass(frozen=True, slots=True)
class Lack:
    """A container, or the whole pod, that finds no place, and what the zones had left when it was its turn."""

    need: Need
    wanted: tuple[tuple[str, int], ...]  # by resource, of what is aligned here; cpu in CPUs
    left: tuple[tuple[int, ...], ...]  # for each zone, in the order of `wanted`
    grouped: bool = False  # several zones would do, whatever the policy says, if they served nobody yet


class Stock:
    """What is left of each zone while the containers of a pod take from it, one after another.

    What an init container had counts as left, for the containers after it have it again: CPUs and devices on the same
    NUMA node only, for their hints must hold all that is to be reused.
    """

    def __init__(self, zones: Sequence[ZoneStatus], unaligned: Collection[str]) -> None:
        self.zones = zones
        self._told = frozenset().union(*(zone.capacity for zone in zones))
        self._aligns_cpus = CPU in self._told and CPU not in unaligned
        self._aligns_memory = MEMORY not in unaligned and any(map(is_memory, self._told))
        self._taken: dict[tuple[int, str], int] = {}
        self._reusable: dict[tuple[int, str], int] = {}

    def held(self) -> Shares:
        """What the containers keep as long as the pod is there, by the id of the zone; cpu in thousandths.

        What init containers had of CPUs and devices stays with the pod; their memory is given back.
        """
        found: dict[int, dict[str, int]] = {}
        kept = [(key, amount) for key, amount in self._reusable.items() if not is_memory(key[1])]
        for (position, resource), amount in (*self._taken.items(), *kept):
            if amount:
                zone = found.setdefault(self.zones[position].id, {})
                zone[resource] = zone.get(resource, 0) + amount * (1000 if resource == CPU else 1)
        return found

    def wanted(self, need: Need) -> tuple[tuple[str, int], ...]:
        """What of a need is aligned here."""
        found = [(CPU, need.cpus)] if need.cpus and self._aligns_cpus else []
        if self._aligns_memory:
            found += need.memory.items()
        found += ((name, amount) for name, amount in need.devices.items() if name in self._told)
        return tuple(found)

    def left(self, position: int, resource: str) -> int:
        """What a zone has left of a resource, of cpu in whole CPUs."""
        amount = self.zones[position].available.get(resource, 0)
        if resource == CPU:
            amount //= 1000
        return amount - self._taken.get((position, resource), 0) if self._taken else amount

    def holds(self, position: int, wanted: Iterable[tuple[str, int]]) -> bool:
        """Whether one zone has all of it."""
        capacity = self.zones[position].capacity
        for resource, amount in wanted:
            if self.left(position, resource) < amount or not (is_memory(resource) or capacity.get(resource)):
                return False
            if self._reusable and any(other != position for other in self._compulsory(resource)):
                return False
        return True

    def take(self, need: Need, wanted: Iterable[tuple[str, int]], positions: Positions) -> None:
        """Give a need's amounts from zones, the lowest first."""
        for resource, amount in wanted:
            missing = amount
            for position in positions:
                key = position, resource
                part = min(missing, max(self.left(position, resource), 0)) if len(positions) > 1 else missing
                missing -= part
                before = self._reusable.get(key, 0)
                if need.ends:
                    self._reusable[key] = max(before, part)
                else:
                    self._reusable[key] = max(before - part, 0)
                    self._taken[key] = self._taken.get(key, 0) + part

    def demands(self, wanted: Iterable[tuple[str, int]], positions: Positions) -> Iterator[Demand]:
        """What a set of zones has to have, by position."""
        for resource, amount in wanted:
            yield Demand(amount, tuple((NodeMask(1 << at), self.left(at, resource)) for at in positions))
            yield from (Demand(1, ((NodeMask(1 << at), 1),)) for at in self._compulsory(resource))

    def hosts(self, wanted: Sequence[tuple[str, int]]) -> Positions:
        """The zones that may be among several that share a need.

        Each has some of every device and CPUs; and no memory of it is taken, as memory of several NUMA nodes is
        pinned to a group of its own.
        """
        return tuple(
            position
            for position, zone in enumerate(self.zones)
            if all(
                self.left(position, resource) == zone.allocatable.get(resource, 0)
                if is_memory(resource)
                else zone.capacity.get(resource)
                for resource, _ in wanted
            )
        )

    def is_anywhere(self, wanted: Sequence[tuple[str, int]]) -> bool:
        """Whether memory can be had at all: of one zone, or of all together that serve nobody yet."""
        if any(self.holds(position, wanted) for position in range(len(self.zones))):
            return True
        hosts = self.hosts(wanted)
        return all(sum(self.left(at, resource) for at in hosts) >= amount for resource, amount in wanted)

    def _compulsory(self, resource: str) -> list[int]:
        if is_memory(resource):
            return []
        return [position for (position, name), amount in self._reusable.items() if name == resource and amount]


def lack(needs: Needs, stock: Stock, policy: str, scope: str, only: int | None = None) -> Lack | None:
    """Let the containers take what is aligned of them; the first need that finds no place, None: all have theirs.

    `only` is the position of the one zone that everything has to come from; None: any will do. The policy's own
    choice among several is the lowest. Where nothing has to be aligned, exclusive CPUs have to be there all the same.
    """
    if policy not in ALIGNING or scope != "pod":
        return _one_by_one(needs.containers, stock, policy, only)
    wanted = stock.wanted(needs.whole)
    if only is None and (not wanted or (policy == "single-numa-node" and not _has_hints(wanted, stock))):
        # Nobody has an opinion on the pod: each container's memory comes from as few NUMA nodes as it needs. Under
        # restricted it would have to come from all of them at once.
        return _one_by_one(needs.containers, stock, "restricted", None)
    found = _placed(wanted, stock, policy, only)
    if found is None:
        return Lack(needs.whole, wanted, tuple(_lefts(stock, wanted)))
    if len(found) > 1:  # how the containers share these, nodes do not tell
        stock.take(needs.whole, wanted, found)
        return None
    return _one_by_one(needs.containers, stock, policy, found[0])


def lack_of_memory(needs: Needs, stock: Stock, near: int) -> Lack | None:
    """The same for memory that is to be near a zone if it can, and anywhere else if not."""
    for need in needs.containers:
        wanted = tuple(one for one in stock.wanted(need) if is_memory(one[0]))
        if not wanted:
            continue
        found = _near(wanted, stock, near)
        if found is None:
            return Lack(need, wanted, tuple(_lefts(stock, wanted)), grouped=True)
        stock.take(need, wanted, found)
    return None


def _near(wanted: Sequence[tuple[str, int]], stock: Stock, near: int) -> Positions | None:
    """Where the memory manager takes memory from: there, there and beside it, or else elsewhere."""
    if stock.holds(near, wanted):
        return (near,)
    beside = _group(wanted, stock, near)
    if beside is not None:
        return beside
    single = next((position for position in range(len(stock.zones)) if stock.holds(position, wanted)), None)
    return _group(wanted, stock) if single is None else (single,)


def _group(wanted: Sequence[tuple[str, int]], stock: Stock, around: int | None = None) -> Positions | None:
    """The fewest and lowest zones that serve nobody yet and hold it together, one of them given."""
    hosts = stock.hosts(wanted)
    demands = tuple(stock.demands(wanted, hosts))
    if around is not None:
        demands = (*demands, Demand(1, ((NodeMask(1 << around), int(around in hosts)),)))
    mask_of_hosts = NodeMask(sum(1 << at for at in hosts))
    size = smallest_size(mask_of_hosts, demands)
    mask = lowest_mask(mask_of_hosts, size, demands) if size else None
    return None if mask is None else ids_of(mask)


def _one_by_one(needs: Iterable[Need], stock: Stock, policy: str, only: int | None) -> Lack | None:
    for need in needs:
        wanted = stock.wanted(need)
        if not wanted:
            continue
        found = _placed(wanted, stock, policy, only)
        if found is None:
            return Lack(need, wanted, tuple(_lefts(stock, wanted)))
        stock.take(need, wanted, found)
    return None


def _has_hints(wanted: Sequence[tuple[str, int]], stock: Stock) -> bool:
    """Whether a manager has an opinion on where this comes from: that of memory has none if it can be had nowhere."""
    return any(not is_memory(resource) for resource, _ in wanted) or stock.is_anywhere(wanted)


def _lefts(stock: Stock, wanted: Iterable[tuple[str, int]]) -> Iterator[tuple[int, ...]]:
    resources = [resource for resource, _ in wanted]
    for position in range(len(stock.zones)):
        yield tuple(max(stock.left(position, resource), 0) for resource in resources)


def _placed(wanted: Sequence[tuple[str, int]], stock: Stock, policy: str, only: int | None) -> Positions | None:
    for position in range(len(stock.zones)) if only is None else (only,):
        if stock.holds(position, wanted):
            return (position,)
    if policy not in ALIGNING:
        return _somewhere(wanted, stock, only)
    if only is not None or policy == "single-numa-node":
        return None
    return _together(wanted, stock)


def _somewhere(wanted: Iterable[tuple[str, int]], stock: Stock, near: int | None) -> Positions | None:
    """All zones, `near` first, if they have the CPUs; of the rest, the node as a whole was asked."""
    everywhere = range(len(stock.zones))
    cpus = sum(amount for resource, amount in wanted if resource == CPU)
    if cpus and sum(max(stock.left(position, CPU), 0) for position in everywhere) < cpus:
        return None
    return tuple(everywhere) if near is None else (near, *(one for one in everywhere if one != near))


def _together(wanted: Sequence[tuple[str, int]], stock: Stock) -> Positions | None:
    """The lowest zones, of which there is none that holds it alone, that hold it together.

    They are as few as each resource would need if nobody else had any. That number has to be the same for all
    resources, or no set of NUMA nodes is preferred by all of them.
    """
    fewest = _fewest(wanted, stock.zones)
    size = next(fewest)
    if size is None or size == 1 or any(other != size for other in fewest):
        return None
    hosts = stock.hosts(wanted)
    mask = lowest_mask(NodeMask(sum(1 << at for at in hosts)), size, tuple(stock.demands(wanted, hosts)))
    return None if mask is None else ids_of(mask)


def _fewest(wanted: Sequence[tuple[str, int]], zones: Sequence[ZoneStatus]) -> Iterator[int | None]:
    """The fewest zones for each resource, and for all kinds of memory together: with everything free."""
    everywhere = NodeMask((1 << len(zones)) - 1)
    kinds = [(name, amount) for name, amount in wanted if is_memory(name)]
    for resource, amount in wanted:
        if is_memory(resource):
            continue
        unit = 1000 if resource == CPU else 1
        supply = ((NodeMask(1 << at), zone.capacity.get(resource, 0) // unit) for at, zone in enumerate(zones))
        yield smallest_size(everywhere, (Demand(amount, tuple(supply)),))
    if kinds:
        # Of memory, what is reserved does not count.
        yield smallest_size(
            everywhere,
            [
                Demand(
                    amount,
                    tuple((NodeMask(1 << at), zone.allocatable.get(name, 0)) for at, zone in enumerate(zones)),
                )
                for name, amount in kinds
            ],
        )
