"""The CPUs of a machine in as few compound vertices as their costs allow."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from numaproof.harness.cost.inner import Alike, Inner, Nested
from numaproof.harness.cost.names import cpu_id
from numaproof.harness.cost.system import CpuGroup, System


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """CPUs of one NUMA node that cost the same to everybody outside, in a tree of what they cost one another."""

    node: int
    key: Hashable
    inner: Inner


@dataclass(slots=True)
class Pieces:
    """All pieces, and what a CPU of one costs with a CPU of another where both are of one NUMA node."""

    pieces: list[Piece] = field(default_factory=list)
    within: dict[tuple[Piece, Piece], int] = field(default_factory=dict)  # raw, in either direction


def cut_into_pieces(
    system: System,
    keys: Mapping[int, Hashable],  # of the CPUs that can be taken: alike outside of the system are those of one key
    inner_cost: Callable[[int, Hashable], int],  # raw cost in either direction, key: of two CPUs of one piece
    each: Mapping[int, int],  # of every CPU by itself
) -> Pieces:
    """The pieces of all NUMA nodes: whole groups as long as all their CPUs have one key."""
    found = Pieces()
    for node, group in system.cpus.items():
        found.pieces += _cut(node, group, keys, inner_cost, each, found.within)
    return found


def _cut(
    node: int,
    group: CpuGroup,
    keys: Mapping[int, Hashable],
    inner_cost: Callable[[int, Hashable], int],
    each: Mapping[int, int],
    within: dict[tuple[Piece, Piece], int],
) -> list[Piece]:
    """The pieces of a group; parts of it that have one key throughout are joined, any two of them cost the same."""
    joined: dict[Hashable, list[Inner]] = defaultdict(list)
    split: list[list[Piece]] = []
    if group.parts:
        for part in group.parts:
            pieces = _cut(node, part, keys, inner_cost, each, within)
            if len(pieces) == 1:
                joined[pieces[0].key].append(pieces[0].inner)
            elif pieces:
                split.append(pieces)
    else:
        by_key: dict[tuple[Hashable, int], list[int]] = defaultdict(list)
        for cpu in group.cpus:
            if cpu in keys:
                by_key[keys[cpu], each[cpu]].append(cpu)
        for (key, own), cpus in by_key.items():
            between = inner_cost(group.between, key)
            joined[key].append(Alike(tuple(map(cpu_id, sorted(cpus))), between, own))
    pieces = [
        Piece(node, key, inners[0] if len(inners) == 1 else Nested(inners, inner_cost(group.between, key)))
        for key, inners in joined.items()
    ]
    branches = [*([piece] for piece in pieces), *split]
    for number, branch in enumerate(branches):
        for other in branches[:number]:
            for one in branch:
                within |= {pair: group.between for mate in other for pair in ((one, mate), (mate, one))}
    return [piece for branch in branches for piece in branch]


def total_costs(system: System, free: Mapping[int, Hashable]) -> dict[int, int]:
    """What every free CPU costs with all other free CPUs together, raw, one way."""
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for node, group in system.cpus.items():
        counts[node] = _add_totals(group, free, totals)
    for node, group in system.cpus.items():
        row = system.distances[node]
        outside = sum(row[other] * count for other, count in counts.items() if other != node)
        for cpu in _cpus_of(group):
            if cpu in totals:
                totals[cpu] += outside
    return totals


def _add_totals(group: CpuGroup, free: Mapping[int, Hashable], totals: dict[int, int]) -> int:
    """Add up within a group; the answer is the number of its free CPUs."""
    if not group.parts:
        here = [cpu for cpu in group.cpus if cpu in free]
        totals |= dict.fromkeys(here, group.between * (len(here) - 1))
        return len(here)
    counts = [_add_totals(part, free, totals) for part in group.parts]
    whole = sum(counts)
    for part, count in zip(group.parts, counts, strict=True):
        for cpu in _cpus_of(part):
            if cpu in totals:
                totals[cpu] += group.between * (whole - count)
    return whole


def _cpus_of(group: CpuGroup) -> list[int]:
    return [*group.cpus, *(cpu for part in group.parts for cpu in _cpus_of(part))]
