"""The table that `nvidia-smi topo -m` draws, as people paste it: its columns and rows.

Its lines are found among prompts, fences, quotes and other output; its top or end may be cut off, its lines wrapped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import is_elision

MOST = 256  # GPUs and NICs of a table; real ones have some fifty
_LONGEST = 16 << 10  # characters of a line
CPUS, NUMA = "CPU Affinity", "NUMA Affinity"
_TITLES = (CPUS, NUMA, "GPU NUMA ID")
NEAR = ("PIX", "PSB", "PXB", "PHB", "NODE")  # within a NUMA node, the nearest first; PSB: older drivers, on one board
_FAR = ("SYS", "SOC")  # SOC: older drivers
_OF_OTHER_TABLES = frozenset(("OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))  # `nvidia-smi topo -p2p` has these cells

# Underlines of the header; a paste may have lost their escape character, or show it as two.
_ANSI = re.compile(r"(?:\x1b|\^\[)?\[[0-9;]*m|\x1b\(B")
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_WORD = re.compile(r"\S+")
GPU = re.compile(r"GPU([0-9]{1,4})")
NIC = re.compile(r"NIC([0-9]{1,4})")
_NAME = re.compile(r"(?:GPU|NIC)[0-9]{1,4}|[a-z][a-z0-9_.-]{0,62}[0-9]")  # older drivers: mlx5_0 and the like
_CELL = re.compile(r"[A-Z][A-Z0-9]{0,5}")
_NVLINKS = re.compile(r"NV[0-9]{1,3}")
_LEGEND = re.compile(r"NIC([0-9]{1,4})\s*[:=]\s*([A-Za-z0-9_.-]{1,64})")
_REST = re.compile(r"[0-9][0-9,-]*|N/A|CPU|NUMA|GPU|Affinity|ID")  # what stands behind names and connections


@dataclass(frozen=True, slots=True)
class Row:
    """How a device is connected, and what it is close to; empty: that is not told."""

    place: str
    name: str
    cells: tuple[str, ...]
    cpus: str
    numa: str


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table: each row has as many cells as there are columns, and an X in its own."""

    columns: tuple[str | None, ...]  # None: nothing tells the name
    rows: Mapping[str, Row]
    legend: Mapping[int, str]  # the number of a NIC -> its name


@dataclass(frozen=True, slots=True)
class _Header:
    names: tuple[str, ...]
    titles: Mapping[str, int]  # those that follow the names -> so many characters behind the last name


@dataclass(frozen=True, slots=True)
class _Lines:
    header: _Header | None  # None: it is cut off
    rows: tuple[Row, ...]
    legend: Mapping[int, str]


def read_table(text: str, where: str) -> Table | None:
    """The table of a text; None: there is none in it."""
    lines = _lines(text, where)
    if lines is None:
        return None
    columns = _columns(lines, where)
    return Table(tuple(columns), _by_name(lines.rows, columns), lines.legend)


def is_known(cell: str) -> bool:
    """Whether a cell is a connection that nvidia-smi is known to draw."""
    return cell == "X" or cell in NEAR or cell in _FAR or _NVLINKS.fullmatch(cell) is not None


def _unwrapped(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text, each with its number; those that a window has wrapped are one."""
    held: list[str] = []
    first, only_names = 0, False
    for number, raw in enumerate(text.splitlines(), 1):
        line = _QUOTE.sub("", _ANSI.sub("", raw)).replace("|", " ") if len(raw) <= _LONGEST else ""
        words = line.split()
        names = [_NAME.fullmatch(word) is not None for word in words]
        if words and held:
            goes_on = not names[0] and all(is_known(word) or _REST.fullmatch(word) for word in words)
            if goes_on or (
                only_names and all(known or _REST.fullmatch(word) for known, word in zip(names, words, strict=True))
            ):
                held.append(line)
                only_names &= all(names)
                continue
        if held:
            yield first, " ".join(held)
        held, first, only_names = [], number, all(names)
        if words and names[0]:
            held = [line]
        else:
            yield number, line
    if held:
        yield first, " ".join(held)


def _lines(text: str, where: str) -> _Lines | None:
    header: _Header | None = None
    rows: list[Row] = []
    legend: dict[int, str] = {}
    for number, line in _unwrapped(text):
        if match := _LEGEND.fullmatch(line.strip()):
            legend.setdefault(int(match[1]), match[2])
            continue
        words = list(_WORD.finditer(line))
        if not words or not _NAME.fullmatch(words[0][0]):
            continue
        place = f"{where}:{number}"
        if row := _row(line, words, header, place):
            rows.append(row)
        elif found := _header(words, place):
            if rows and found.titles:
                raise UserError(f"{place}: a second table of nvidia-smi topo -m starts; give the one of this node")
            if rows:
                break  # another kind of table, such as that of `topo -p2p`
            header = found
    if not any(GPU.fullmatch(row.name) for row in rows):
        if (header and header.titles) or any(NIC.fullmatch(row.name) for row in rows):
            raise UserError(f"{where}: this nvidia-smi topo -m has no line of a GPU; copy the whole table")
        return None
    return _Lines(header, tuple(rows), legend)


def _header(words: Sequence[re.Match[str]], place: str) -> _Header | None:
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
    if rest and is_elision(rest[0][0]) and any(word[0] == "Affinity" for word in rest):
        raise _left_out(place, rest[0][0])
    whole = bool(titles) or (len(names) > 1 and not rest)
    return _Header(names, titles) if whole and any(map(GPU.fullmatch, names)) else None


def _row(line: str, words: Sequence[re.Match[str]], header: _Header | None, place: str) -> Row | None:
    """The row that a line is; None: it is something else."""
    cells = tuple(takewhile(_CELL.fullmatch, (word[0] for word in words[1:])))
    if not any(map(is_known, cells)) or _OF_OTHER_TABLES & set(cells):
        return None
    if len(words) > len(cells) + 1 and is_elision(words[len(cells) + 1][0]):
        raise _left_out(place, words[len(cells) + 1][0])
    name = words[0][0]
    if header and len(cells) != len(header.names):
        raise UserError(
            f"{place}: {name} has {len(cells)} connections below {len(header.names)} names; copy whole lines"
        )
    told = _affinities(line, words[len(cells) :], header)
    return Row(place, name, cells, told.get(CPUS, ""), told.get(NUMA, ""))


def _left_out(place: str, mark: str) -> UserError:
    return UserError(f"{place}: cells are left out ({mark[:20]!r}); copy whole lines")


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


def _columns(lines: _Lines, where: str) -> list[str | None]:
    """The names of the columns; None: nothing tells it."""
    width = len(lines.header.names if lines.header else lines.rows[0].cells)
    if width > MOST:
        raise UserError(f"{where}: this nvidia-smi topo -m has {width} columns; {MOST} are the most")
    if lines.header is None:
        return _columns_by_diagonal(lines, width)
    if len(set(lines.header.names)) != width:
        raise UserError(f"{where}: this nvidia-smi topo -m has a name twice in its header; copy it again")
    return list(lines.header.names)


def _columns_by_diagonal(lines: _Lines, width: int) -> list[str | None]:
    """Each row tells its own column by its X; names are counted on from there."""
    columns: list[str | None] = [None] * width
    for row in lines.rows:
        if len(row.cells) != width:
            raise UserError(f"{row.place}: {row.name} has {len(row.cells)} connections, not {width}; copy whole lines")
        if row.cells.count("X") != 1 or columns[row.cells.index("X")] not in (None, row.name):
            raise _off_diagonal(row)
        columns[row.cells.index("X")] = row.name
    first_gpu = _first(GPU, columns)
    first_nic = _first(NIC, columns)
    if first_nic is None and lines.legend and None in columns:
        first_nic = width - len(lines.legend)
    # GPUs come before NICs.
    behind_gpus = 1 + max(i for i, name in enumerate(columns) if name and GPU.fullmatch(name))
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


def _off_diagonal(row: Row) -> UserError:
    return UserError(f"{row.place}: {row.name} has its X in the column of another device; copy the table again")


def _by_name(rows: Sequence[Row], columns: Sequence[str | None]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in rows:
        if row.name in found:
            raise UserError(f"{row.place}: {row.name} has two lines; give the table of one node")
        if [i for i, cell in enumerate(row.cells) if cell == "X"] != [
            i for i, name in enumerate(columns) if name == row.name
        ]:
            raise _off_diagonal(row)
        found[row.name] = row
    return found
