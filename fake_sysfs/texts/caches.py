"""The caches of a machine whose text tells how large they are, and how many there are at most."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from numaproof.fake_sysfs.machine import Cache
from numaproof.fake_sysfs.texts.cores import Cores
from numaproof.fake_sysfs.texts.told import CacheName, CacheSum, Told

_LARGEST_GRAIN = 1 << 30
_KIB = 1 << 10


def caches_of(cores: Cores, sockets: Mapping[int, int], told: Told) -> tuple[Cache, ...]:
    """Every cache with the CPUs that share it: by the rows of lscpu, else cores side by side."""
    if told.rows:
        return tuple(_by_rows(told, {cpu for core in cores for cpu in core}))
    ordered = sorted(cores, key=lambda core: (sockets[core[0]], core))
    found: list[Cache] = []
    for name, told_size in sorted(told.caches.items()):
        found.extend(_shared(name, told_size, ordered, sockets, told))
    return tuple(found)


def _by_rows(told: Told, here: set[int]) -> Iterator[Cache]:
    members: dict[CacheName, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for cpu, row in told.rows.items():
        for name, number in row.caches:
            if cpu in here:
                members[name][number].append(cpu)
    if set(members) - set(told.caches):
        told.assume("the sizes of caches are not told: 0")
    for name, instances in members.items():
        size = _size(told.caches[name], len(instances)) if name in told.caches else 0
        for number, cpus in instances.items():
            yield Cache(name[0], name[1], size, tuple(cpus), number)


def _shared(
    name: CacheName, told_size: CacheSum, cores: Cores, sockets: Mapping[int, int], told: Told
) -> Iterator[Cache]:
    level, kind = name
    packages = len(set(sockets.values()))
    label = f"L{level}{'' if kind == 'Unified' else kind[0].lower()}"
    count = told_size.instances
    if count is None:
        count = len(cores) if level < 3 else packages
        told.assume(f"{label} caches: one a {'core' if level < 3 else 'socket'}: the text does not tell how many")
    share, rest = divmod(len(cores), count)
    groups = [cores[start : start + share] for start in range(0, len(cores), share or 1)]
    if rest or any(len({sockets[core[0]] for core in group}) > 1 for group in groups):
        told.assume(f"{label} caches are left out: {count} of them do not go into {len(cores)} cores")
        return
    if count not in (len(cores), packages):
        told.assume(f"{label} caches: each is shared by {share} cores side by side")
    size = _size(told_size, count)
    for number, group in enumerate(groups):
        yield Cache(level, kind, size, tuple(cpu for core in group for cpu in core), number)


def _size(told_size: CacheSum, count: int) -> int:
    """The roundest size of one cache that the text can mean, in whole KiB."""
    parts = (told_size.instances or count) if told_size.summed else 1
    least, most = told_size.least / parts, told_size.most / parts
    grain = _LARGEST_GRAIN
    while grain > _KIB:
        roundest = -(-least // grain) * grain
        if roundest and roundest <= most:
            return int(roundest)
        grain //= 2
    return round((least + most) / 2 / _KIB) * _KIB
