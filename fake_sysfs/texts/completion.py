"""A machine of what a text told; what it did not tell is assumed, and each assumption is a note of the machine."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import UNKNOWN, Cpu, Machine, NumaNode
from numaproof.fake_sysfs.texts.caches import caches_of
from numaproof.fake_sysfs.texts.cores import Cores, Lists, cores_of
from numaproof.fake_sysfs.texts.told import ASSUMED, MOST_CPUS, Told, ids_of

_MEMORY_OF_A_CPU = 4 << 30  # where no text tells any: as much as servers commonly have
_FARTHEST_IN_A_SOCKET = 16  # firmware says 11 to 16 of NUMA nodes of one socket, and 17 or more of others
_LOCAL, _REMOTE = 10, 20  # what a kernel takes without a table of the firmware


def completed(told: Told, name: str) -> Machine:
    """The machine; MachineError when what was told cannot be one."""
    if not told.tells_cpus():
        raise MachineError("tells of no CPUs; give the whole text")
    lists = _lists(told)
    if told.offline:
        told.assume(
            f"CPU {format_cpulist(told.offline)}: offline, and left out, as the text does not tell the NUMA node"
        )
    cores = cores_of({node: cpus for node, cpus in lists.items() if cpus}, told)
    sockets = _sockets(lists, cores, told)
    cpus = _cpus(lists, cores, sockets)
    memory = _memory(lists, told)
    rows = _distances(sorted(lists), told)
    return Machine(
        name=name,
        cpus=cpus,
        nodes=tuple(NumaNode(node, memory[node], (), rows[node]) for node in sorted(lists)),
        caches=caches_of(cores, sockets, told),
        cpu_model=told.model or UNKNOWN,
        cpu_vendor=told.vendor or UNKNOWN,
        mhz=told.mhz or 2000,
        notes=tuple(f"{ASSUMED}{text}" for text in told.assumptions),
    )


def _lists(told: Told) -> dict[int, tuple[int, ...]]:
    """The CPUs of each node, those of nodes included whose lists are missing."""
    lists = dict(told.cpus) or _lists_of_rows(told)
    for node in told.nodes:
        lists.setdefault(node, ())
    untold = sorted(told.nodes - set(told.cpus)) if told.cpus else []
    if not any(lists.values()):
        lists, untold = _divided(lists, told), []
    while told.node_count and len(lists) < told.node_count:
        fresh = next(number for number in range(len(lists) + 1) if number not in lists)
        lists[fresh] = ()
        untold.append(fresh)
    owner: dict[int, int] = {}
    for node, cpus in lists.items():
        for cpu in cpus:
            if owner.setdefault(cpu, node) != node:
                raise MachineError(f"CPU {cpu}: is on NUMA node {owner[cpu]} and on {node}; a CPU is on one")
    if len(owner) < len(told.online or range((told.cpu_count or MOST_CPUS) - len(told.offline))):
        _like_the_first(lists, sorted(untold), told)
    if not any(lists.values()):
        raise MachineError("tells of no CPUs; give the whole text")
    return lists


def _lists_of_rows(told: Told) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = defaultdict(list)
    for cpu, row in told.rows.items():
        found[row.node or 0].append(cpu)
    if any(row.node is None for row in told.rows.values()):
        told.assume("CPUs whose NUMA node is not told are on node 0")
    return {node: tuple(sorted(cpus)) for node, cpus in found.items()}


def _divided(lists: Mapping[int, object], told: Told) -> dict[int, tuple[int, ...]]:
    """The CPUs dealt out evenly to the nodes, where only numbers were told: cores first, then their other threads."""
    cpus = told.online or tuple(range(told.cpu_count or 0))
    nodes = sorted(lists) or list(range(told.node_count or told.sockets or 1))
    if not lists and told.node_count is None:
        told.assume(f"NUMA nodes are not told: {'one a socket' if len(nodes) > 1 else 'one'}")
    else:
        told.assume("the CPUs of the NUMA nodes are not told: dealt out evenly")
    threads = told.threads or 1
    if len(cpus) % (threads * len(nodes)):
        threads = 1
    turns = len(cpus) // (threads * len(nodes)) or 1
    found: dict[int, list[int]] = {node: [] for node in nodes}
    for index, cpu in enumerate(cpus):
        found[nodes[index // turns % len(nodes)]].append(cpu)
    return {node: tuple(members) for node, members in found.items()}


def _like_the_first(lists: dict[int, tuple[int, ...]], untold: Sequence[int], told: Told) -> None:
    """Give nodes whose CPUs are missing as many as the first node with some has, next to those that are taken."""
    model = next((cpus for _, cpus in sorted(lists.items()) if cpus), ())
    bits = sum(1 << cpu for cpu in model)
    taken = sum(1 << cpu for cpus in lists.values() for cpu in cpus)
    shift = 0
    for node in untold:
        while bits << shift & taken and shift < MOST_CPUS:
            shift += 1
        if (bits << shift).bit_length() > MOST_CPUS:
            told.assume(f"NUMA node {node}: its CPUs are not told: it has none")
            continue
        taken |= bits << shift
        lists[node] = ids_of(bits << shift)
        told.assume(
            f"NUMA node {node}: its CPUs are not told: {format_cpulist(lists[node])}, as many as the first node has"
        )


def _sockets(lists: Lists, cores: Cores, told: Told) -> dict[int, int]:
    """The socket of each core, by the core's first CPU."""
    if told.rows and all(row.socket is not None for row in told.rows.values()):
        return {core[0]: told.rows[core[0]].socket or 0 for core in cores if core[0] in told.rows}
    node_of = {cpu: node for node, cpus in lists.items() for cpu in cpus}
    nodes = sorted({node_of[core[0]] for core in cores})
    rank = {node: index for index, node in enumerate(nodes)}
    count = told.sockets or len(nodes)
    if told.sockets is None and len(nodes) > 1:
        if near := _near(nodes, told):
            told.assume("NUMA nodes that are near to each other, by their distances, are on one socket")
            return {core[0]: near[node_of[core[0]]] for core in cores}
        told.assume("each NUMA node is a socket: the text does not tell of sockets")
    if len(nodes) % count == 0:
        if 1 < count < len(nodes):
            told.assume("sockets hold NUMA nodes in the order of their numbers")
        return {core[0]: rank[node_of[core[0]]] * count // len(nodes) for core in cores}
    if count % len(nodes) == 0 and (found := _split(cores, node_of, rank, count // len(nodes))):
        return found
    told.assume(f"each NUMA node is a socket: {count} sockets do not go into {len(nodes)} NUMA nodes with CPUs")
    return {core[0]: rank[node_of[core[0]]] for core in cores}


def _near(nodes: Sequence[int], told: Told) -> dict[int, int]:
    """The socket of each node, if nodes with CPUs fall into equal groups within which all distances are small."""
    place = {node: index for index, node in enumerate(told.distance_ids)}
    if any(node not in told.distances or node not in place for node in nodes):
        return {}
    groups = [tuple(b for b in nodes if told.distances[a][place[b]] <= _FARTHEST_IN_A_SOCKET) for a in nodes]
    found = sorted(set(groups))
    if (
        len(found) * len(found[0]) != len(nodes)
        or len(found[0]) == 1
        or {len(group) for group in found} != {len(found[0])}
    ):
        return {}
    sockets = {node: index for index, group in enumerate(found) for node in group}
    return (
        sockets
        if len(sockets) == len(nodes) and all(a in group for a, group in zip(nodes, groups, strict=True))
        else {}
    )


def _split(cores: Cores, node_of: Mapping[int, int], rank: Mapping[int, int], parts: int) -> dict[int, int]:
    """The cores of each node split over several sockets; none if that leaves a rest."""
    members: dict[int, list[int]] = defaultdict(list)
    for core in cores:
        members[node_of[core[0]]].append(core[0])
    if any(len(firsts) % parts for firsts in members.values()):
        return {}
    return {
        first: rank[node] * parts + index * parts // len(firsts)
        for node, firsts in members.items()
        for index, first in enumerate(firsts)
    }


def _cpus(lists: Lists, cores: Cores, sockets: Mapping[int, int]) -> tuple[Cpu, ...]:
    node_of = {cpu: node for node, cpus in lists.items() for cpu in cpus}
    next_core: dict[int, int] = defaultdict(int)
    found: list[Cpu] = []
    for core in cores:
        socket = sockets.get(core[0], 0)
        found.extend(Cpu(cpu, next_core[socket], 0, socket, node_of[cpu]) for cpu in core)
        next_core[socket] += 1
    return tuple(found)


def _memory(lists: Lists, told: Told) -> dict[int, int]:
    """The memory of each node; of one that does not tell, as much as a node with CPUs that does, else by its CPUs."""
    known = next((told.memory[node] for node in sorted(told.memory) if lists.get(node)), None)
    found = dict(told.memory)
    silent = [node for node in sorted(lists) if node not in found]
    for node in silent:
        found[node] = 0 if not lists[node] else known if known is not None else _MEMORY_OF_A_CPU * len(lists[node])
    if silent and known is None and not told.memory:
        told.assume(f"memory is not told: {_MEMORY_OF_A_CPU >> 30} GiB a CPU")
    elif silent:
        told.assume(
            f"NUMA node {format_cpulist(silent)}: the memory is not told: as much as another node with CPUs has,"
            " none without CPUs"
        )
    return found


def _distances(nodes: list[int], told: Told) -> dict[int, tuple[int, ...]]:
    """The rows of distances; one that is not told is as the other nodes' columns say, else as kernels assume."""
    given = {node: dict(zip(told.distance_ids, row, strict=True)) for node, row in told.distances.items()}
    missing = [(a, b) for a in nodes for b in nodes if b not in given.get(a, {})]
    if missing and len(nodes) > 1:
        whose = sorted({a for a, _ in missing}) if given else ()
        told.assume(
            f"NUMA node {format_cpulist(whose)}: distances are not told: as told of the other way, else {_LOCAL} to"
            f" itself and {_REMOTE} to others"
            if given
            else f"distances are not told: {_LOCAL} within a NUMA node, {_REMOTE} from one to another"
        )

    def distance(a: int, b: int) -> int:
        default = _LOCAL if a == b else _REMOTE
        return given.get(a, {}).get(b, given.get(b, {}).get(a, default))

    return {a: tuple(distance(a, b) for b in nodes) for a in nodes}
