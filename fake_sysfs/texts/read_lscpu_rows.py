"""The tables of `lscpu -e` and `lscpu -p`, and `lscpu -J -e`: a row for each CPU."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from numaproof.fake_sysfs.texts.read_lscpu import cache_kind
from numaproof.fake_sysfs.texts.told import MOST_CPUS, CacheName, Row, Told, cpu_id, node_id

_CACHE = re.compile(r"L([1-5])([DI]?)")
_OBJECT = re.compile(r"\{([^{}]{1,2000})\}")
_MEMBER = re.compile(r'"([\w:]{1,60})"\s{0,9}:\s{0,9}"?([^\s",}]{1,60})"?')
_LONGEST_LINE = 1000
_MOST_ROWS = 4 * MOST_CPUS
_COLUMNS = {"CPU", "NODE", "SOCKET", "CORE"}

Cells = Mapping[str, str]


def read_lscpu_rows(text: str, told: Told) -> None:
    """Add what the tables tell; a CPU that is told twice is as it was told first."""
    offline = set(told.offline)
    for cells in islice(_tables(text), _MOST_ROWS):
        cpu = cells.get("CPU", "")
        if not _is_number(cpu):
            continue
        number = cpu_id(cpu)
        if cells.get("ONLINE", "yes").lower() in ("no", "n", "false"):
            offline.add(number)
            continue
        node = cells.get("NODE", "")
        caches = tuple(_caches(cells))
        row = Row(
            node_id(node) if _is_number(node) else None,
            _number(cells.get("SOCKET", "")),
            _number(cells.get("CORE", "")),
            caches,
        )
        told.rows.setdefault(number, row)
    told.offline = tuple(sorted(offline))


def _tables(text: str) -> Iterator[Cells]:
    """The rows, each by the names of its columns in capitals."""
    columns: list[str] = []
    commas = False
    for line in text.split("\n"):
        if len(line) > _LONGEST_LINE:
            continue
        words = _words(line.lstrip("# "), "," in line)
        names = [word.upper() for word in words]
        if len(_COLUMNS.intersection(names)) >= 2:
            columns, commas = names, "," in line
        elif columns and words and _is_number(words[0]):
            values = _words(line, commas)
            yield from _row(columns, values)
        elif words:
            columns = [] if not line.lstrip().startswith("#") else columns
    if '"cpu"' in text:
        for members in _OBJECT.findall(text):
            cells = {name.upper(): value for name, value in _MEMBER.findall(members)}
            names, values = list(cells), list(cells.values())
            yield from _row(names, values)


def _words(line: str, commas: bool) -> list[str]:
    return [word.strip() for word in line.split(",")] if commas else line.split()


def _row(columns: list[str], values: list[str]) -> Iterator[Cells]:
    """A row as a mapping, `L1d:L1i:L2:L3` taken apart; nothing of one that is cut off before its last place."""
    cells: dict[str, str] = {}
    for column, value in zip(columns, values, strict=False):
        if column == "MODELNAME":  # it has blanks: what follows is no longer below its column
            break
        parts = column.split(":")
        if len(parts) > 1 and len(parts) == len(value.split(":")):
            cells |= dict(zip(parts, value.split(":"), strict=True))
        else:
            cells[column] = value
    if _COLUMNS.intersection(columns) <= set(cells) and "CPU" in cells:
        yield cells


def _caches(cells: Cells) -> Iterator[tuple[CacheName, int]]:
    for name, value in cells.items():
        cache = _CACHE.fullmatch(name)
        number = _number(value)
        if cache and number is not None:
            yield (int(cache[1]), cache_kind(cache[2].lower())), number


def _number(text: str) -> int | None:
    return int(text) if _is_number(text) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9
