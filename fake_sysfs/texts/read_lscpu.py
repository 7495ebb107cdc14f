"""The summary of `lscpu`, whole or its NUMA lines alone, as text or as JSON, in the words of any util-linux."""

import json
import re
from collections.abc import Iterator

from numaproof.fake_sysfs.machine import CacheKind
from numaproof.fake_sysfs.texts.told import (
    MOST_CPUS,
    MOST_NODES,
    CacheName,
    CacheSum,
    Told,
    check_count,
    cpu_list,
    cpu_mask,
    node_id,
)

_FIELD = re.compile(r"[\s|>*#]{0,40}([^\W\d«»]|«)([^:\n]{0,80}):(.*)")
_JSON_FIELD = re.compile(
    r'"field"\s{0,9}:\s{0,9}("(?:[^"\\\n]|\\[^\n]){0,200}")\s{0,99},\s{0,99}'
    r'"data"\s{0,9}:\s{0,9}("(?:[^"\\\n]|\\[^\n]){0,60000}"|[0-9]{1,9}|null)'
)
_NODE = re.compile(r"[^\d]*NUMA[^\d]{0,20}?([0-9]+)[^\d]*")
_WIDE_COLON = "\uff1a"  # of Chinese and Japanese
_NUMBER = re.compile(r"[0-9]{1,9}")
_FREQUENCY = re.compile(r"([0-9]{1,6})(?:[.,][0-9]+)?")
# `32K`: of one cache, as before util-linux 2.34; `1.5 MiB`: of all; `1.5 MiB (48 instances)`: since 2.37
_CACHE_SIZE = re.compile(r"([0-9]{1,9})(?:[.,]([0-9]{1,9}))?\s?([KMG])(iB)?(?:\s?\(([0-9]{1,6})\s[^)]*\)?)?")
_CACHE_NAME = re.compile(r"L([1-5])([di]?)(?: cache)?")
_POWER = {"K": 10, "M": 20, "G": 30}
# The words of some languages; figures of others are assumed, but for the lines of NUMA nodes, which all call them NUMA.
_COUNTS = {
    "CPU(s)": "cpu_count",
    "Processeur(s)": "cpu_count",
    "CPU": "cpu_count",
    "Thread(s) per core": "threads",
    "Thread(s) pro Kern": "threads",
    "Thread(s) par cœur": "threads",
    "Hilo(s) de procesamiento por núcleo": "threads",
    "每个核的线程数": "threads",
    "Core(s) per socket": "cores",
    "Kern(e) pro Socket": "cores",
    "Cœur(s) par socket": "cores",
    "Núcleo(s) por «socket»": "cores",
    "每个座的核数": "cores",
    "Socket(s)": "sockets",
    "CPU socket(s)": "sockets",
    "Sockel": "sockets",
    "«Socket(s)»": "sockets",
    "座": "sockets",
}
_TEXTS = {"Model name": "model", "Vendor ID": "vendor", "Architecture": "architecture"}
_LISTS = {
    "On-line CPU(s) list": "online",
    "Liste der Online-CPU(s)": "online",
    "Liste de processeur(s) en ligne": "online",
    "On-line CPU(s) mask": "online",
    "Off-line CPU(s) list": "offline",
    "Off-line CPU(s) mask": "offline",
}


def read_lscpu(text: str, told: Told) -> None:
    """Add what the lines tell that `lscpu` prints; what is told twice is as it was told first."""
    lists: dict[int, str] = {}
    for name, value in _fields(text):
        if name in _COUNTS:
            _read_count(_COUNTS[name], value, told)
        elif name in _TEXTS:
            if not getattr(told, _TEXTS[name]) and value not in ("", "-"):
                setattr(told, _TEXTS[name], value[:200])
        elif name in _LISTS:
            if not getattr(told, _LISTS[name]):
                setattr(told, _LISTS[name], _ids(value) or ())
        elif name.startswith("CPU max MHz") or (name == "CPU MHz" and told.mhz is None):
            frequency = _FREQUENCY.fullmatch(value)
            told.mhz = int(frequency[1]) or None if frequency else told.mhz
        elif cache := _CACHE_NAME.fullmatch(name):
            _read_cache((int(cache[1]), cache_kind(cache[2])), value, told)
        elif "NUMA" in name:
            _read_numa(name, value, told, lists)


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        field = _FIELD.fullmatch(line.replace(_WIDE_COLON, ":")) if ":" in line or _WIDE_COLON in line else None
        if field:
            yield f"{field[1]}{field[2]}".strip(), field[3].strip()
    if '"field"' in text:
        for name, value in _JSON_FIELD.findall(text):
            try:
                data = json.loads(value)
                yield str(json.loads(name)).rstrip(" :"), "" if data is None else str(data)
            except ValueError:  # an escape that JSON does not have
                continue


def _read_count(name: str, value: str, told: Told) -> None:
    if getattr(told, name) is None and _NUMBER.fullmatch(value) and int(value):
        setattr(told, name, check_count("CPUs", int(value), MOST_CPUS))


def _read_numa(name: str, value: str, told: Told, lists: dict[int, str]) -> None:
    """`NUMA node(s): 2`, and `NUMA node0 CPU(s): 0-23,48-71`: a node without CPUs has an empty list, or `-`.

    `lists`: what was told so far, so that a list is read once.
    """
    node = _NODE.fullmatch(name)
    if node is None:
        if told.node_count is None and _NUMBER.fullmatch(value) and int(value):
            told.node_count = check_count("NUMA nodes", int(value), MOST_NODES)
        return
    number = node_id(node[1])
    told.nodes.add(number)
    if lists.setdefault(number, value) is not value:
        if lists[number] != value:
            told.assume(f"NUMA node {number} is told more than once: it is as it was told first")
        return
    cpus = _ids(value)
    if cpus is None:
        told.assume(f"NUMA node {number}: its list of CPUs cannot be read, {value[:60]!r}; it is as if it was not told")
    elif told.cpus.setdefault(number, cpus) != cpus:
        told.assume(f"NUMA node {number} is told more than once: it is as it was told first")


def _ids(value: str) -> tuple[int, ...] | None:
    """The CPUs of a list or a mask; of a list that is cut off in a range or after a comma, those before."""
    bare = value.replace(" ", "")
    if bare in ("", "-"):
        return ()
    return cpu_mask(bare) if bare.startswith("0x") else cpu_list(bare.rstrip(",-"))


def _read_cache(name: CacheName, value: str, told: Told) -> None:
    """A size as closely as it was told; the sizes of several languages differ in their decimal sign alone."""
    size = _CACHE_SIZE.fullmatch(value)
    if not size or name in told.caches:
        return
    whole, fraction, unit, of_all, instances = size.groups()
    figure = float(f"{whole}.{fraction or 0}")
    slack = 0.05 if of_all else 0.0  # sums have one decimal, which is left out where it is 0
    least, most = (max(0.0, figure + off) * (1 << _POWER[unit]) for off in (-slack, slack))
    count = check_count("caches", int(instances), MOST_CPUS) if instances else None
    told.caches[name] = CacheSum(least, most, count, summed=bool(of_all))


def cache_kind(letter: str) -> CacheKind:
    """What lscpu means by the `d` of L1d, the `i` of L1i, or no letter."""
    return "Data" if letter == "d" else "Instruction" if letter == "i" else "Unified"
