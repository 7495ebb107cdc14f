"""The results of a run as a matrix that fits a screen: rows by machine or by theme, the least telling ones folded."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from numaproof.harness.report.matrix import COLUMNS, InstanceResult, cell

_SHORT = {"single-numa-node": "single-numa"}
_NARROWEST = 12  # of the first column
_GAP = 2


def folded_lines(results: Sequence[InstanceResult], width: int, most_rows: int) -> Iterator[str]:
    """A head and at most so many rows: how many passed of how many ran under each policy."""
    what, rows = _rows(results, most_rows)
    columns = [one for one in COLUMNS if any(one in row for row in rows.values())]
    heads = [_SHORT.get(one, one) for one in columns]
    cells = [[cell(row.get(column)) for column in columns] for row in rows.values()]
    wide = [_GAP + max(map(len, [head, *(row[i] for row in cells)])) for i, head in enumerate(heads)]
    first = max(map(len, [what, *rows]))
    first = min(first, max(width - sum(wide), _NARROWEST))
    for label, row in zip([what, *rows], [heads, *cells], strict=True):
        shown = label if len(label) <= first else f"{label[: first - 2]}.."
        yield shown.ljust(first) + "".join(text.rjust(size) for text, size in zip(row, wide, strict=True))


def _rows(results: Sequence[InstanceResult], most: int) -> tuple[str, Mapping[str, dict[str, Counter[str]]]]:
    """By machine if that fits; else by theme; what does not fit even so is one row, and what failed is not in it."""
    found = {}
    for what in ("machine", "theme"):
        found[what] = _grouped(results, what)
        if len(found[what]) <= most:
            return what, found[what]
    what = min(found, key=lambda one: len(found[one]))
    rows = found[what]
    telling = sorted(rows, key=lambda name: (-_count(rows[name], "failed"), -_count(rows[name], None)))
    kept = set(telling[: most - 1])
    others: dict[str, Counter[str]] = {}
    for name in telling[most - 1 :]:
        for column, counts in rows[name].items():
            others[column] = others.get(column, Counter()) + counts
    return what, {name: row for name, row in rows.items() if name in kept} | {f"{len(rows) - len(kept)} more": others}


def _grouped(results: Sequence[InstanceResult], what: str) -> dict[str, dict[str, Counter[str]]]:
    cells: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for result in results:
        cells[result.words[what]][result.words.get("policy", "other")][result.outcome] += 1
    return {name: dict(cells[name]) for name in sorted(cells)}


def _count(row: Mapping[str, Counter[str]], outcome: str | None) -> int:
    return sum(counts.total() if outcome is None else counts[outcome] for counts in row.values())
