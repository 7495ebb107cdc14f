"""Small systems drawn by hypothesis: CPUs in trees of groups, memory-only nodes, and devices beside them."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import combinations

from hypothesis import strategies as st

from numaproof.harness.cost.costs import SYSTEM, UNLISTED, Costs, Entry, Report
from numaproof.harness.cost.names import CPU, MEMORY, Instance, cpu_id, node_id
from numaproof.harness.cost.pairs import pairs
from numaproof.harness.cost.system import CpuGroup, System
from tests.harness.cost.problems import every_set

DEVICE = "a.example/x"

Offered = dict[str, tuple[str, ...]]
Drawn = tuple[Costs, dict[str, int], Offered]  # costs, a request, what of the instances can be taken


@st.composite
def system_problems(draw: st.DrawFn, most_cpus: int = 7) -> Drawn:
    """A system of up to three NUMA nodes and a resource of devices, with costs to and between any of them."""
    system = draw(_systems(most_cpus))
    cpus = tuple(cpu_id(cpu) for group in system.cpus.values() for cpu in _cpus_of(group))
    instances: Offered = {
        CPU: cpus,
        MEMORY: tuple(map(node_id, system.memory)),
        DEVICE: tuple(f"i{number}" for number in range(draw(st.integers(1, 3)))),
    }
    reports = [Report(DEVICE, draw(_entries(DEVICE, instances)))]
    if draw(st.booleans()):
        # A device that an old plugin offers costs what the system says of its NUMA node; a file may list CPUs, too.
        reports.append(Report(SYSTEM, draw(_entries(DEVICE, instances))))
        reports.append(Report(CPU, draw(_entries(CPU, instances))))
    costs = Costs(instances, tuple(reports), system, draw(st.sampled_from(UNLISTED)))
    offered = {resource: _some(draw, ids) for resource, ids in instances.items()}
    request = {resource: draw(st.integers(1, len(ids))) for resource, ids in offered.items()}
    if draw(st.booleans()):  # memory as the memory manager gives it: one node, or one group of them
        groups = [f"{one}+{other}" for one, other in combinations(instances[MEMORY], 2)]
        offered[MEMORY] = (*offered[MEMORY], *groups)
        request[MEMORY] = 1
    for resource in draw(st.sets(st.sampled_from(sorted(request)), max_size=2)):
        del request[resource]
    return costs, request, offered


def _some(draw: st.DrawFn, ids: tuple[str, ...]) -> tuple[str, ...]:
    left_out = draw(st.sets(st.sampled_from(ids), max_size=len(ids) - 1))
    return tuple(one for one in ids if one not in left_out)


@st.composite
def _systems(draw: st.DrawFn, most_cpus: int) -> System:
    with_cpus = draw(st.integers(1, 2))
    nodes = range(with_cpus + draw(st.integers(0, 2)))
    # Numbered as the kernel does it: the second threads of all cores come after the first ones.
    numbers = draw(st.permutations(range(draw(st.integers(with_cpus, most_cpus)))))
    first = draw(st.integers(1, len(numbers) - 1)) if with_cpus == 2 else len(numbers)
    shares = (tuple(numbers[:first]), tuple(numbers[first:]))
    groups = {node: draw(_groups(share, levels=3)) for node, share in enumerate(shares) if share}
    memory = sorted(draw(st.sets(st.sampled_from(nodes), min_size=1)))
    distances = {one: {other: 10 if one == other else draw(st.integers(11, 20)) for other in nodes} for one in nodes}
    return System(groups, tuple(memory), distances)


@st.composite
def _groups(draw: st.DrawFn, cpus: tuple[int, ...], levels: int) -> CpuGroup:
    """CPUs in groups of groups; costs fall inwards, as they do in cores, caches and dies, or stay."""
    between = draw(st.integers(2 * levels - 1, 2 * levels + 1))
    if levels == 1 or len(cpus) == 1 or draw(st.booleans()):
        return CpuGroup(between, cpus=cpus)
    size = draw(st.integers(1, len(cpus)))
    parts = [cpus[first : first + size] for first in range(0, len(cpus), size)]
    return CpuGroup(between, tuple(draw(_groups(part, levels - 1)) for part in parts))


@st.composite
def _entries(draw: st.DrawFn, resource: str, instances: Mapping[str, tuple[str, ...]]) -> tuple[Entry, ...]:
    """Entries about any of the instances: those to CPUs split the threads of a core as well."""
    left = {
        (one, to_resource, other)
        for one in instances[resource]
        for to_resource, ids in instances.items()
        for other in ids
    }
    entries = []
    for _ in range(draw(st.integers(0, 4))):
        to_resource = draw(st.sampled_from(sorted(instances)))
        ids = draw(st.sets(st.sampled_from(instances[resource]), min_size=1))
        to_ids = draw(st.sets(st.sampled_from(instances[to_resource]), min_size=1))
        named = {(one, to_resource, other) for one in ids for other in to_ids}
        if named <= left:
            left -= named
            entries.append(
                Entry(
                    resource, tuple(sorted(ids)), to_resource, tuple(sorted(to_ids)), Fraction(draw(st.integers(0, 20)))
                )
            )
    return tuple(entries)


def _cpus_of(group: CpuGroup) -> list[int]:
    return [*group.cpus, *(cpu for part in group.parts for cpu in _cpus_of(part))]


def cheapest_set(
    costs: Costs, request: Mapping[str, int], offered: Offered, required: Mapping[str, Collection[str]] | None = None
) -> Fraction:
    """The least cost of all sets of what is offered that hold what is required, groups of memory nodes among it."""
    between: dict[frozenset[Instance], Fraction] = {
        frozenset((pair.one, pair.other)): pair.cost
        for pair in pairs(costs, {name: costs.instances[name] for name in request})
    }
    return min(
        sum((between.get(frozenset(pair), Fraction(0)) for pair in combinations(_single(chosen), 2)), start=Fraction(0))
        for chosen in every_set(request, offered)
        if all(set(ids) <= set(chosen[resource]) for resource, ids in (required or {}).items())
    )


def _single(chosen: Mapping[str, tuple[str, ...]]) -> list[Instance]:
    return [
        Instance(resource, part)
        for resource, ids in chosen.items()
        for one in ids
        for part in (one.split("+") if resource == MEMORY else (one,))
    ]
