"""The text of `numactl -H`: NUMA nodes, their CPUs, memory and distances."""

import re
from itertools import islice

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.paste import ELISION
from numaproof.fake_sysfs.texts.told import MOST_CPUS, MOST_NODES, Told, check_count, cpu_id, cpu_list, ids_of, node_id

_LEAD = r"[\s|>*#]{0,40}"
_AVAILABLE = re.compile(rf"{_LEAD}available:\s*([0-9]{{1,9}}) nodes?\s*(?:\(([0-9,\s-]*)(\)?))?", re.IGNORECASE)
_CPUS = re.compile(rf"{_LEAD}node\s{{1,9}}([0-9]+)\s{{1,9}}cpus?\s?:(.*)", re.IGNORECASE)
_SIZE = re.compile(
    rf"{_LEAD}node\s{{1,9}}([0-9]+)\s{{1,9}}size\s?:\s{{0,9}}([0-9]{{1,12}})\s?([kMG]B)\b", re.IGNORECASE
)
_HEADER = re.compile(rf"{_LEAD}node\s+([0-9][0-9\s]*)")
_ROW = re.compile(rf"{_LEAD}([0-9]{{1,9}}):((?:\s+[0-9]{{1,9}})+)\s*")
_MORE = re.compile(r"\s*[0-9]+(?:\s+[0-9]+)*\s*")  # a long line that was wrapped goes on with numbers alone
_WORD = re.compile(
    rf"(?P<elided>{ELISION.pattern})|(?P<low>[0-9]+)(?:-(?P<high>[0-9]+))?|(?P<strange>[^\s,]+)", re.IGNORECASE
)
_MOST_WORDS = 2 * MOST_CPUS  # in the list of a node
_UNIT = {"kb": 10, "mb": 20, "gb": 30}
_NO_NUMA = "no numa available"
_NEAREST, _FARTHEST = 10, 255


def read_numactl(text: str, told: Told) -> None:
    """Add what the lines tell that `numactl -H` prints; a node that is told twice is as it was told first."""
    listed: dict[int, list[str]] = {}  # the lines of a node's CPUs
    open_node: int | None = None  # whose CPUs may go on in the next line
    columns: tuple[int, ...] = ()
    for line in text.split("\n"):
        if open_node is not None and _MORE.fullmatch(line):
            if len(listed[open_node]) < MOST_CPUS:
                listed[open_node].append(line)
            continue
        open_node = None
        if cpus := _CPUS.fullmatch(line):
            node = node_id(cpus[1])
            if node not in listed:
                listed[node], open_node = [cpus[2]], node
            elif listed[node][0].split() != cpus[2].split():
                told.assume(f"NUMA node {node} is told more than once: it is as it was told first")
        elif size := _SIZE.match(line):
            told.memory.setdefault(node_id(size[1]), int(size[2]) << _UNIT[size[3].lower()])
        elif available := _AVAILABLE.match(line):
            _read_available(available, told)
        elif row := _ROW.fullmatch(line):
            if columns:
                _read_row(row, columns, told)
        elif header := _HEADER.fullmatch(line):
            columns = tuple(node_id(word) for word in header[1].split())
        elif _NO_NUMA in line.lower():
            told.node_count = 1
    for node, parts in listed.items():
        told.cpus.setdefault(node, _cpus(node, " ".join(parts), told))
    told.nodes |= set(listed) | set(told.memory) | set(told.distance_ids)
    if open_node is not None:
        told.assume(
            f"the text ends in the CPUs of NUMA node {open_node}: it has those that are told,"
            f" {format_cpulist(told.cpus[open_node]) or 'none'}"
        )


def _read_available(found: re.Match[str], told: Told) -> None:
    """`available: 8 nodes (0,8,250-255)`; a list that is cut off tells less than the number."""
    count = check_count("NUMA nodes", int(found[1]), MOST_NODES)
    ids = cpu_list("".join((found[2] or "").split())) if found[3] else None
    if ids and len(ids) == count:
        told.nodes |= {node_id(str(node)) for node in ids}
    elif told.node_count is None:
        told.node_count = count


def _read_row(row: re.Match[str], columns: tuple[int, ...], told: Told) -> None:
    """A line of distances, if it is whole, and all figures are some that a kernel tells."""
    node, values = node_id(row[1]), tuple(int(word) for word in row[2].split())
    if len(values) != len(columns) or not all(_NEAREST <= value <= _FARTHEST for value in values):
        return
    if told.distance_ids and told.distance_ids != columns:
        return
    told.distance_ids = columns
    told.distances.setdefault(node, values)


def _cpus(node: int, words: str, told: Told) -> tuple[int, ...]:
    """The CPUs of a line; `0 1 ... 15` goes on as it began, and a number out of order was cut off."""
    bits, last, step, elided = 0, -1, 1, False
    for word in islice(_WORD.finditer(words), _MOST_WORDS):
        if word["elided"]:
            elided = True
            continue
        if word["strange"]:
            told.assume(f"NUMA node {node}: what stands among its CPUs and is no number is passed over")
            continue
        low = cpu_id(word["low"])
        high = cpu_id(word["high"]) if word["high"] else low
        if low <= last or high < low:
            continue
        if elided and last >= 0:
            stride = step if (low - last) % step == 0 else 1
            told.assume(f"NUMA node {node}: what is left out among its CPUs is all from {last} to {low}")
            for cpu in range(last + stride, low, stride):
                bits |= 1 << cpu
        elif last >= 0:
            step = low - last
        elided = False
        bits |= ((1 << (high - low + 1)) - 1) << low
        last = high
    if elided:
        told.assume(f"NUMA node {node}: its CPUs end where the text leaves them out")
    return ids_of(bits)
