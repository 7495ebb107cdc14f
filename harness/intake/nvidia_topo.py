"""What `nvidia-smi topo -m` draws, as people paste it: GPUs and NICs, their NUMA nodes and NVLinks.

The lines of the table are found among prompts, fences, quotes and other output; its top or its end may be cut off.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from numaproof.errors import UserError
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.bitmask import MAX_NODE

MOST = 256  # GPUs and NICs of a table; real ones have some fifty
_CPUS, _NUMA, _GPU_MEMORY = "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"
_TITLES = (_CPUS, _NUMA, _GPU_MEMORY)
_NEAR = ("PIX", "PSB", "PXB", "PHB", "NODE")  # within a NUMA node, the nearest first; PSB: older drivers, on one board
_FAR = ("SYS", "SOC")  # SOC: older drivers
_UNTOLD = ("", "N/A", "-")
_OF_OTHER_TABLES = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))  # `nvidia-smi topo -p2p` has these cells

# Underlines of the header; a paste may have lost their escape character, or show it as two.
_ANSI = re.compile(r"(?:\x1b|\^\[)?\[[0-9;]*m|\x1b\(B")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_WORD = re.compile(r"\S+")
_GPU = re.compile(r"GPU([0-9]{1,4})")
_NIC = re.compile(r"NIC([0-9]{1,4})")
_NAME = re.compile(r"(?:GPU|NIC)[0-9]{1,4}|[a-z][a-z0-9_.-]{0,62}[0-9]")  # older drivers: mlx5_0 and the like
_CELL = re.compile(r"[A-Z][A-Z0-9]{0,5}")
_NVLINKS = re.compile(r"NV([0-9]{1,3})")
_LEGEND = re.compile(r"NIC([0-9]{1,4})\s*[:=]\s*([A-Za-z0-9_.-]{1,64})")
_RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


@dataclass(frozen=True, slots=True)
class NvidiaTopo:
    """The devices of a table, the NVLinks of each pair of GPUs in its order, and what was assumed."""

    gpus: tuple[Device, ...]
    nics: tuple[Device, ...]
    links: Mapping[tuple[str, str], int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Header:
    names: tuple[str, ...]
    titles: Mapping[str, int]  # those that follow the names -> so many characters behind the last name


@dataclass(frozen=True, slots=True)
class _Row:
    place: str
    name: str
    cells: tuple[str, ...]
    cpus: str
    numa: str


@dataclass(frozen=True, slots=True)
class _Table:
    header: _Header | None  # None: it is cut off
    rows: tuple[_Row, ...]
    legend: Mapping[int, str]  # the number of a NIC -> its name


def read_nvidia_topo(
    text: str, where: str, cpus_by_node: Mapping[int, Collection[int]] | None = None
) -> NvidiaTopo | None:
    """The devices of an output of `nvidia-smi topo -m`; None: the text does not hold one.

    `cpus_by_node` tells the NUMA node of a GPU of which only the CPUs are told.
    """
    table = _table(text, where)
    if table is None:
        return None
    columns = _columns(table, where)
    rows = _by_name(table.rows, columns)
    between = _connections(rows, columns)
    notes = _Notes(where)
    unnamed = columns.count(None)
    if unnamed:
        notes.say(f"{unnamed} columns have no name, since the header is cut off; what stands there is left out")
    for kind in sorted({kind for kind in between.values() if not _is_known(kind)})[:3]:
        notes.say(f"{kind} is a connection that is not known; taken as one that tells of no NUMA node")
    gpus = tuple(
        Device(name, _gpu_nodes(name, rows.get(name), cpus_by_node, notes))
        for name in columns
        if name is not None and _GPU.fullmatch(name)
    )
    nics = tuple(_nics(columns, gpus, between, table.legend, notes, where))
    return NvidiaTopo(gpus, nics, _nvlinks(gpus, between), notes.lines())


class _Notes:
    """What was assumed; devices of which the same is to be said share a line."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._devices: dict[str, list[str]] = {}

    def say(self, text: str, device: str | None = None) -> None:
        self._devices.setdefault(text, []).extend([device] if device is not None else [])

    def lines(self) -> tuple[str, ...]:
        told = ((f"{names_text(names)}: " if names else "") + text for text, names in self._devices.items())
        return tuple(f"{self._where}: {one}" for one in told)


def names_text(names: Sequence[str]) -> str:
    """Names for a sentence, however many there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


# The lines of the table.


def _table(text: str, where: str) -> _Table | None:
    header: _Header | None = None
    rows: list[_Row] = []
    legend: dict[int, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = _QUOTE.sub("", _ANSI.sub("", raw))
        if match := _LEGEND.fullmatch(line.strip()):
            legend.setdefault(int(match[1]), match[2])
            continue
        words = list(_WORD.finditer(line))
        if not words or not _NAME.fullmatch(words[0][0]):
            continue
        place = f"{where}:{number}"
        if row := _row(line, words, header, place):
            rows.append(row)
        elif found := _header(words):
            if rows and found.titles:
                raise UserError(f"{place}: a second table of nvidia-smi topo -m starts; give the one of this node")
            if rows:
                break  # another kind of table, such as that of `topo -p2p`
            header = found
    if not any(_GPU.fullmatch(row.name) for row in rows):
        if (header and header.titles) or any(_NIC.fullmatch(row.name) for row in rows):
            raise UserError(f"{where}: this nvidia-smi topo -m has no line of a GPU; copy the whole table")
        return None
    return _Table(header, tuple(rows), legend)


def _header(words: Sequence[re.Match[str]]) -> _Header | None:
    """The header that a line is; None: it is something else."""
    names = tuple(takewhile(_NAME.fullmatch, (word[0] for word in words)))
    rest = words[len(names) :]
    last = words[len(names) - 1].start()
    titles: dict[str, int] = {}
    for title in _TITLES:
        parts = title.split()
        if [word[0] for word in rest[: len(parts)]] == parts:
            titles[title] = rest[0].start() - last
            rest = rest[len(parts) :]
    whole = bool(titles) or (len(names) > 1 and not rest)
    return _Header(names, titles) if whole and any(map(_GPU.fullmatch, names)) else None


def _row(line: str, words: Sequence[re.Match[str]], header: _Header | None, place: str) -> _Row | None:
    """The row that a line is; None: it is something else."""
    cells = tuple(takewhile(_CELL.fullmatch, (word[0] for word in words[1:])))
    if not any(map(_is_known, cells)) or _OF_OTHER_TABLES & set(cells):
        return None
    name = words[0][0]
    if header and len(cells) != len(header.names):
        raise UserError(
            f"{place}: {name} has {len(cells)} connections below {len(header.names)} names; copy whole lines"
        )
    told = _affinities(line, words[len(cells) :], header)
    return _Row(place, name, cells, told.get(_CPUS, ""), told.get(_NUMA, ""))


def _affinities(line: str, words: Sequence[re.Match[str]], header: _Header | None) -> dict[str, str]:
    """What stands behind the last connection, which is the first of the words, by its title.

    Where all is there the order tells; where something is missing, the tabs, or else the place below the header.
    """
    titles = tuple(header.titles) if header else _TITLES
    values = [word[0] for word in words[1:]]
    if len(values) < len(titles):
        behind = line[words[0].end() :]
        if "\t" in behind:
            first, *others = behind.split("\t")
            values = [value.strip() for value in ([first] if first.strip() else []) + others]
        elif header:
            return {_title_above(word.start() - words[0].start(), header.titles): word[0] for word in words[1:]}
    return dict(zip(titles, values, strict=False))


def _title_above(offset: int, titles: Mapping[str, int]) -> str:
    """The last title that begins left of a place, counted from the last connection, whose X stands a little further."""
    left = [title for title, start in titles.items() if start <= offset + 2]
    return left[-1] if left else next(iter(titles))


def _is_known(cell: str) -> bool:
    return cell == "X" or cell in _NEAR or cell in _FAR or _NVLINKS.fullmatch(cell) is not None


# What the columns are, and what stands in them.


def _columns(table: _Table, where: str) -> list[str | None]:
    """The names of the columns; None: nothing tells it."""
    width = len(table.header.names if table.header else table.rows[0].cells)
    if width > MOST:
        raise UserError(f"{where}: this nvidia-smi topo -m has {width} columns; {MOST} are the most")
    if table.header is None:
        return _columns_by_diagonal(table, width)
    if len(set(table.header.names)) != width:
        raise UserError(f"{where}: this nvidia-smi topo -m has a name twice in its header; copy it again")
    return list(table.header.names)


def _columns_by_diagonal(table: _Table, width: int) -> list[str | None]:
    """Each row tells its own column by its X; names are counted on from there."""
    columns: list[str | None] = [None] * width
    for row in table.rows:
        if len(row.cells) != width:
            raise UserError(f"{row.place}: {row.name} has {len(row.cells)} connections, not {width}; copy whole lines")
        if row.cells.count("X") != 1 or columns[row.cells.index("X")] not in (None, row.name):
            raise _off_diagonal(row)
        columns[row.cells.index("X")] = row.name
    first_gpu = _first(_GPU, columns)
    first_nic = _first(_NIC, columns)
    if first_nic is None and table.legend and None in columns:
        first_nic = width - len(table.legend)
    # GPUs come before NICs.
    behind_gpus = 1 + max(i for i, name in enumerate(columns) if name and _GPU.fullmatch(name))
    if first_nic is not None:
        behind_gpus = max(behind_gpus, first_nic)
        columns[behind_gpus:] = [
            name or f"NIC{i - first_nic}" for i, name in enumerate(columns[behind_gpus:], behind_gpus)
        ]
    if first_gpu is not None:
        columns[first_gpu:behind_gpus] = [name or f"GPU{i}" for i, name in enumerate(columns[first_gpu:behind_gpus])]
    return columns


def _first(pattern: re.Pattern[str], columns: Sequence[str | None]) -> int | None:
    """The column of the device 0 of a kind, by those that are named; None: they do not agree, or there is none."""
    starts = {i - int(match[1]) for i, name in enumerate(columns) if name and (match := pattern.fullmatch(name))}
    return starts.pop() if len(starts) == 1 and min(starts) >= 0 else None


def _off_diagonal(row: _Row) -> UserError:
    return UserError(f"{row.place}: {row.name} has its X in the column of another device; copy the table again")


def _by_name(rows: Sequence[_Row], columns: Sequence[str | None]) -> dict[str, _Row]:
    found: dict[str, _Row] = {}
    for row in rows:
        if row.name in found:
            raise UserError(f"{row.place}: {row.name} has two lines; give the table of one node")
        if [i for i, cell in enumerate(row.cells) if cell == "X"] != [
            i for i, name in enumerate(columns) if name == row.name
        ]:
            raise _off_diagonal(row)
        found[row.name] = row
    return found


def _connections(rows: Mapping[str, _Row], columns: Sequence[str | None]) -> dict[tuple[str, str], str]:
    """How two devices are connected, both ways; the two lines that tell it agree."""
    found: dict[tuple[str, str], str] = {}
    for row in rows.values():
        for other, cell in zip(columns, row.cells, strict=True):
            if other is None or other == row.name:
                continue
            if found.setdefault((row.name, other), cell) != cell:
                earlier = found[row.name, other]
                raise UserError(
                    f"{row.place}: {row.name} and {other} are {cell} here and {earlier} in the line of {other}; "
                    "copy the table again"
                )
            found[other, row.name] = cell
    return found


# What it means.


def _gpu_nodes(
    name: str, row: _Row | None, cpus_by_node: Mapping[int, Collection[int]] | None, notes: _Notes
) -> tuple[int, ...] | None:
    without = "taken as a device without a NUMA node"
    if row is None:
        notes.say(f"the line is cut off; {without}", name)
        return None
    if row.numa not in _UNTOLD:
        return _told_nodes(row)
    if row.cpus in _UNTOLD or not cpus_by_node:
        notes.say(f"nvidia-smi tells no NUMA Affinity; {without}", name)
        return None
    ranges = _ranges(row, _CPUS, row.cpus)
    ordered = {node: sorted(cpus) for node, cpus in cpus_by_node.items() if cpus}
    nodes = tuple(sorted(node for node, cpus in ordered.items() if any(_meet(cpus, *one) for one in ranges)))
    if not nodes or len(nodes) == len(ordered) > 1:
        # The kernel lists every CPU for a device of which it does not know the NUMA node.
        which = "every NUMA node" if nodes else "no NUMA node"
        notes.say(f"the CPU Affinity is that of {which}; {without}", name)
        return None
    notes.say("the NUMA node is that of the CPU Affinity", name)
    return nodes


def _told_nodes(row: _Row) -> tuple[int, ...]:
    ranges = _ranges(row, _NUMA, row.numa)
    highest = max(high for _, high in ranges)
    if highest > MAX_NODE:
        raise UserError(f"{row.place}: {row.name} is on NUMA node {highest}, and the kubelet's masks end at {MAX_NODE}")
    return tuple(sorted({node for low, high in ranges for node in range(low, high + 1)}))


def _ranges(row: _Row, title: str, cell: str) -> list[tuple[int, int]]:
    """The ranges of a list of ids, not unfolded: a hostile one would be long."""
    found = []
    for part in cell.split(","):
        match = _RANGE.fullmatch(part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if high < low:
            raise UserError(
                f"{row.place}: {row.name}: {title} {cell[:60]!r} is not a list such as 0-3,8; copy the table again"
            )
        found.append((low, high))
    return found


def _meet(ordered: Sequence[int], low: int, high: int) -> bool:
    i = bisect_left(ordered, low)
    return i < len(ordered) and ordered[i] <= high


def _nics(
    columns: Sequence[str | None],
    gpus: Sequence[Device],
    between: Mapping[tuple[str, str], str],
    legend: Mapping[int, str],
    notes: _Notes,
    where: str,
) -> Iterator[Device]:
    """The NICs, each on the NUMA node of the GPUs that are nearest to it."""
    seen: set[str] = set()
    for name in columns:
        if name is None or _GPU.fullmatch(name):
            continue
        match = _NIC.fullmatch(name)
        shown = legend.get(int(match[1]), name) if match else name
        if shown in seen:
            raise UserError(f"{where}: two NICs are named {shown} in this nvidia-smi topo -m; copy its legend again")
        seen.add(shown)
        by_kind = ({one.numa for one in gpus if one.numa and between.get((name, one.id)) == kind} for kind in _NEAR)
        nearest = next(filter(None, by_kind), set())
        if len(nearest) != 1:
            why = "the nearest GPUs are on several NUMA nodes" if nearest else "no GPU of a known NUMA node is near"
            notes.say(f"{why}; taken as a NIC without a NUMA node", shown)
        yield Device(shown, nearest.pop() if len(nearest) == 1 else None)


def _nvlinks(gpus: Sequence[Device], between: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], int]:
    pairs = ((a.id, b.id) for i, a in enumerate(gpus) for b in gpus[i + 1 :])
    return {pair: int(match[1]) for pair in pairs if (match := _NVLINKS.fullmatch(between.get(pair, "")))}
