"""Which CPUs are threads of one core, where a text tells only the CPUs of each NUMA node."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.texts.told import Told

Cores = list[tuple[int, ...]]  # the CPUs of each core
Lists = Mapping[int, tuple[int, ...]]  # the CPUs of each NUMA node, ascending


def cores_of(lists: Lists, told: Told) -> Cores:
    """The CPUs of each core, by the lowest: as the text tells, else as kernels number CPUs, which is said."""
    if told.rows:
        return _by_rows(lists, told)
    threads = told.threads
    if threads is None:
        return _guessed(lists, told)
    if threads == 1:
        return _alone(lists)
    return _numbered(lists, threads, told)


def _by_rows(lists: Lists, told: Told) -> Cores:
    found: dict[object, list[int]] = defaultdict(list)
    for node, cpus in lists.items():
        for cpu in cpus:
            row = told.rows.get(cpu)
            core = None if row is None else row.core
            found[(node, row.socket, core) if row is not None and core is not None else cpu].append(cpu)
    if any(row.core is None for row in told.rows.values()):
        told.assume("one thread a core where the text does not tell the core of a CPU")
    return sorted(tuple(sorted(cpus)) for cpus in found.values())


def _alone(lists: Lists) -> Cores:
    return sorted((cpu,) for cpus in lists.values() for cpu in cpus)


def _guessed(lists: Lists, told: Told) -> Cores:
    """Two threads a core where the numbers show it, else one."""
    if cores := _halved(lists):
        low, high = cores[0]
        told.assume(
            f"two threads a core, CPUs {low} and {high} and so on: the CPUs of a NUMA node are two like runs of numbers"
        )
        return cores
    told.assume("one thread a core: the text does not tell, nor do the numbers of the CPUs")
    return _alone(lists)


def _halved(lists: Lists) -> Cores:
    """Cores of two threads where the CPUs of each node fall into two like halves that are not one run; else none."""
    steps = {_halves(cpus) for cpus in lists.values()}
    step = steps.pop() if len(steps) == 1 else 0
    if not step or all(_is_run(cpus) for cpus in lists.values()):
        return []
    return sorted((low, low + step) for cpus in lists.values() for low in cpus[: len(cpus) // 2])


def _halves(cpus: tuple[int, ...]) -> int:
    """How far the second half of the CPUs lies behind the first; 0: they are no like halves."""
    half, odd = divmod(len(cpus), 2)
    steps = {b - a for a, b in zip(cpus[:half], cpus[half:], strict=not odd)}
    return 0 if odd or len(steps) != 1 else steps.pop()


def _is_run(cpus: tuple[int, ...]) -> bool:
    return len({b - a for a, b in pairwise(cpus)}) <= 1


def _numbered(lists: Lists, threads: int, told: Told) -> Cores:
    """Cores of so many threads: the way of numbering that fits the nodes."""
    total = 1 + max((*(cpu for cpus in lists.values() for cpu in cpus), *told.offline))
    spread = -(-total // threads)
    ways: list[tuple[str, Callable[[int], object]]] = [
        (f"the threads of a core lie {spread} apart", lambda cpu: cpu % spread),
        (f"the threads of a core have {threads} numbers in a row", lambda cpu: cpu // threads),
    ]
    if told.architecture.startswith(("ppc", "s390")):
        ways.reverse()
    if threads == 2 and (halved := _halved(lists)):
        return halved  # as the numbers show, which may have gaps
    fitting = [(why, cores) for why, key in ways if (cores := _grouped(lists, key, threads, told))]
    if fitting:
        why, cores = fitting[0]
        if len(fitting) > 1 and fitting[1][1] != cores:
            told.assume(f"{why}: the text does not tell how they are numbered")
        return cores
    if two_kinds := _hybrid(lists, threads, told):
        return two_kinds
    told.assume(f"one thread a core: the CPUs of the NUMA nodes do not make cores of {threads} threads")
    return _alone(lists)


def _grouped(lists: Lists, key: Callable[[int], object], threads: int, told: Told) -> Cores:
    """The cores by a rule; none if one would lie on two nodes, or have too few threads though no CPU is offline."""
    found: dict[object, list[int]] = defaultdict(list)
    node_of: dict[object, int] = {}
    for node, cpus in lists.items():
        for cpu in cpus:
            if node_of.setdefault(key(cpu), node) != node:
                return []
            found[key(cpu)].append(cpu)
    expected = len(found) if told.cores is None else told.cores * (told.sockets or 1)
    whole = len(found) == expected and all(len(cpus) == threads for cpus in found.values())
    if not whole and not told.offline:
        return []
    return sorted(tuple(sorted(cpus)) for cpus in found.values())


def _hybrid(lists: Lists, threads: int, told: Told) -> Cores:
    """Fast cores with two threads before small ones with one, as on a client of Intel's; none if it is no such."""
    cpus = sorted(cpu for members in lists.values() for cpu in members)
    doubles = len(cpus) - (told.cores or 0) * (told.sockets or 1)
    if threads != 2 or not told.cores or len(lists) > 1 or not 0 < doubles < told.cores or told.offline:
        return []
    paired = cpus[: 2 * doubles]
    told.assume(
        f"{doubles} cores with two threads (CPUs {format_cpulist(paired)}) and {len(cpus) - 2 * doubles} with one,"
        " as machines with two kinds of cores number them"
    )
    return [*zip(paired[::2], paired[1::2], strict=True), *((cpu,) for cpu in cpus[2 * doubles :])]
