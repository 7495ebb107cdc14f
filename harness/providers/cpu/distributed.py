"""Picking CPUs spread over NUMA nodes: over as few as can share evenly, and so that what stays free lies evenly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heapreplace
from itertools import combinations
from math import comb, isqrt

from numaproof.harness.providers.cpu.packed import Pick, pick_packed
from numaproof.harness.providers.cpu.sets import CpuSet
from numaproof.harness.providers.cpu.topology import CpuTopology, Level
from numaproof.harness.topology.provider import AllocationError

# The kubelet tries every combination of NUMA nodes, however many. All of up to 16 nodes are tried here too; where there
# are more than this, it would work for hours to years: no decision of its can be met, and the fullest nodes are taken.
_MOST_COMBINATIONS = 20_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Which nodes share the request evenly, and which give the remainder, one group each in turn."""

    sharing: tuple[int, ...]
    extra: tuple[int, ...]


def pick_distributed(
    topology: CpuTopology, free: CpuSet, count: int, *, group: int = 1, spread_cores: bool = False
) -> CpuSet:
    """As many of the free CPUs as asked for, in groups of that size evenly over NUMA nodes; packed where that fails."""
    if count % group == 0:
        pick = Pick(topology, free, count)
        pick.check()
        plan = _plan(pick, count, group) if count else None
        if plan is not None:
            _carry_out(plan, pick, group, spread_cores)
            return pick.taken
    return pick_packed(topology, free, count, spread_cores=spread_cores)


def _plan(pick: Pick, count: int, group: int) -> Plan | None:
    """The plan over the fewest nodes that works, or None."""
    nodes = tuple(dict.fromkeys(pick.ordered(Level.NODE)))
    free = tuple(pick.free_in(Level.NODE, node).bit_count() for node in nodes)
    fewest, most = _numbers_of_nodes(pick.topology, count, group, len(nodes))
    for size in range(fewest, most + 1):
        if comb(len(nodes), size) > _MOST_COMBINATIONS:
            plan = _fullest(free, count, group, size)
        else:
            plan = _Search(free, count, group).best(size)
        if plan is not None:
            return Plan(tuple(nodes[at] for at in plan.sharing), tuple(nodes[at] for at in plan.extra))
    return None


def _numbers_of_nodes(topology: CpuTopology, count: int, group: int, with_free: int) -> tuple[int, int]:
    """The fewest nodes that an empty average machine needs, and the most that can each give a group."""
    groups = -(-topology.cpus.bit_count() // group)
    groups_per_node = -(-groups // len(topology.nodes))
    wanted = -(-count // group)
    return -(-wanted // groups_per_node), min(wanted, with_free)


def _even_share(count: int, nodes: int, group: int) -> int:
    return count // nodes // group * group


class _Search:
    """The kubelet's search for the plan that leaves the free CPUs of the machine most evenly spread.

    Nodes are meant by their positions in `free`, the numbers of their free CPUs. How good a choice of nodes is depends
    on its members' free CPUs alone, so on a machine of like nodes few choices need judging.
    """

    def __init__(self, free: Sequence[int], count: int, group: int) -> None:
        self.free = free
        self.count = count
        self.group = group
        self.squares = sum(cpus * cpus for cpus in free)
        self.promise = cache(self._promise)
        self.judge = cache(self._judge)

    def best(self, size: int) -> Plan | None:
        """The most even plan over so many nodes, the first among equals; None if no plan works."""
        sharing: tuple[int, ...] | None = None
        extra: tuple[int, ...] = ()
        least = 0
        choices = combinations(range(len(self.free)), size)
        for choice in choices:
            free = tuple(self.free[at] for at in choice)
            promise = self.promise(free)
            if promise is None or (sharing is not None and promise >= least):
                continue
            imbalance, givers = self.judge(free)
            if sharing is None or imbalance < least:
                sharing, least, extra = choice, imbalance, tuple(choice[at] for at in givers)
                if least == 0:
                    break
        if sharing is None:
            return None
        # The kubelet stops at a perfect choice, but has written down the next one by then.
        successor = next(choices, sharing) if least == 0 else _last_like(sharing, range(len(self.free)))
        return Plan(_overwritten(sharing, successor), extra)

    def _left_and_remainder(self, free: tuple[int, ...]) -> tuple[list[int], int]:
        """What an even share leaves on each chosen node, and how many groups are still to be given."""
        share = _even_share(self.count, len(free), self.group)
        return [cpus - share for cpus in free], (self.count - share * len(free)) // self.group

    def _promise(self, free: tuple[int, ...]) -> int | None:
        """A lower bound of the imbalance that choosing such nodes leaves; None if they cannot share the request."""
        left, remainder = self._left_and_remainder(free)
        if min(left) < 0 or sum(cpus // self.group for cpus in left) < remainder:
            return None
        self._check_for_endless_search(left, remainder)
        # Giving always from where most is left is the most even way there is.
        after = [-cpus for cpus in left]
        heapify(after)
        for _ in range(remainder):
            heapreplace(after, after[0] + self.group)
        return self._imbalance(free, after)

    def _check_for_endless_search(self, left: Sequence[int], remainder: int) -> None:
        """Raise if the kubelet would try nodes that have enough CPUs for the remainder, but not in whole groups."""
        odd = {0: 0}  # number of whole groups of some nodes -> the most CPUs that these can have beside them
        for cpus in left:
            groups, rest = divmod(cpus, self.group)
            if groups:
                for given, most in list(odd.items()):
                    if given + groups < remainder:
                        odd[given + groups] = max(odd.get(given + groups, 0), most + rest)
        for groups, most in odd.items():
            if most >= (remainder - groups) * self.group > 0:
                raise _never_ending(remainder - groups, self.group)

    def _judge(self, free: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The least imbalance after such nodes give all, and which of them give the remainder, a group each in turn."""
        left, remainder = self._left_and_remainder(free)
        if remainder == 0:
            return self._imbalance(free, left), ()
        able = [at for at, cpus in enumerate(left) if cpus >= self.group]
        least, best = self._imbalance_after(free, able), tuple(able)
        for givers in self._candidates(able, remainder):
            if least == self.promise(free):
                break
            if sum(left[at] for at in givers) >= remainder * self.group:
                imbalance = self._imbalance_after(free, givers)
                if imbalance < least:
                    least, best = imbalance, givers
        return least, _overwritten(best, _last_like(best, able))

    def _imbalance_after(self, free: tuple[int, ...], givers: Sequence[int]) -> int:
        """The imbalance that such nodes leave if these of them give the remainder."""
        left, remainder = self._left_and_remainder(free)
        for at in _turns(left.__getitem__, givers, remainder, self.group):
            left[at] -= self.group
        return self._imbalance(free, left)

    @staticmethod
    def _candidates(able: Sequence[int], remainder: int) -> Iterator[tuple[int, ...]]:
        """Every set of nodes, larger ones first, but not again one whose first nodes, which give all, are the same."""
        for size in range(len(able), 0, -1):
            before: tuple[int, ...] = ()
            for givers in combinations(able, size):
                if givers[:remainder] != before:
                    before = givers[:remainder]
                    yield givers

    def _imbalance(self, free: Sequence[int], after: Sequence[int]) -> int:
        """The standard deviation of the nodes' free CPUs in thousandths, around the mean in thousandths.

        Both are rounded like the kubelet's. `after` is what is left of `free` on the chosen nodes (whatever its signs).
        """
        nodes, total = len(self.free), sum(self.free) - self.count
        squares = self.squares - sum(cpus * cpus for cpus in free) + sum(cpus * cpus for cpus in after)
        mean = (2000 * total + nodes) // (2 * nodes)
        deviations = 10**6 * squares - 2000 * mean * total + nodes * mean * mean
        return (isqrt(4 * deviations // nodes) + 1) // 2


def _turns(rest: Callable[[int], int], givers: Sequence[int], groups: int, group: int) -> Iterator[int]:
    """The nodes that give a group each, in turn, while they have one: `rest` tells what a node has left by then.

    The kubelet looks for a giver for ever if no node has a whole group left: here that is an error.
    """
    while groups > 0:
        before = groups
        for node in givers:
            if groups > 0 and rest(node) >= group:
                groups -= 1
                yield node
        if groups == before:
            raise _never_ending(groups, group)


def _never_ending(groups: int, group: int) -> AllocationError:
    return AllocationError(
        f"cannot distribute cpus across NUMA nodes: {groups * group} more needed, and enough are free, but not in "
        f"groups of {group} (the kubelet itself never returns from this)"
    )


def _last_like(chosen: tuple[int, ...], among: Sequence[int]) -> tuple[int, ...]:
    """The last combination, in order, whose place in memory is that of the chosen one."""
    kept = _kept(len(chosen))
    return chosen[:kept] + tuple(among[len(among) - (len(chosen) - kept) :])


def _overwritten(chosen: tuple[int, ...], successor: tuple[int, ...]) -> tuple[int, ...]:
    """What the kubelet finds where it wrote its choice down, once it has gone on to the successor.

    It builds combinations by appending to slices and keeps the best one without copying it. Appending to a slice with
    room to spare writes into the memory it shares with the combination before, so the tail of a kept one changes.
    """
    kept = _kept(len(chosen))
    return successor if successor[:kept] == chosen[:kept] else chosen


def _kept(size: int) -> int:
    """How many leading members of a combination own their memory: slices grow to 1, 2, 4, 8... members."""
    return 1 if size == 1 else 1 + (1 << ((size - 1).bit_length() - 1))


def _fullest(free: Sequence[int], count: int, group: int, size: int) -> Plan | None:
    """A plan over the nodes with the most free CPUs: it exists if any does, and leaves the rest nearly even."""
    share = _even_share(count, size, group)
    spare = {at: (free[at] - share) // group for at in sorted(range(len(free)), key=lambda at: -free[at])[:size]}
    if min(spare.values()) < 0 or sum(spare.values()) < (count - share * size) // group:
        return None
    return Plan(tuple(spare), tuple(at for at, groups in spare.items() if groups))


def _carry_out(plan: Plan, pick: Pick, group: int, spread_cores: bool) -> None:
    """Take what the plan says from its nodes."""
    count = pick.needed
    share = _even_share(count, len(plan.sharing), group)
    for node in plan.sharing:
        free = pick.free_in(Level.NODE, node)
        # A node that was overwritten into the plan may have less than the share: the kubelet takes nothing there.
        if free.bit_count() >= share:
            pick.take(pick_packed(pick.topology, free, share, spread_cores=spread_cores))
    remainder = (count - share * len(plan.sharing)) // group
    for node in _turns(lambda node: pick.free_in(Level.NODE, node).bit_count(), plan.extra, remainder, group):
        pick.take(pick_packed(pick.topology, pick.free_in(Level.NODE, node), group, spread_cores=spread_cores))
    if pick.needed > 0:
        raise AllocationError(f"accounting error, not enough CPUs allocated, remaining: {pick.needed}")
    if pick.needed < 0:
        raise AllocationError(f"accounting error, too many CPUs allocated, remaining: {pick.needed}")
