"""How costs, instances and tables are written for people."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from rich.cells import cell_len, set_cell_size

from numaproof.harness.cost.names import format_ids
from numaproof.harness.cost.pairs import Chosen
from numaproof.harness.cost.solution import Solution


def number(cost: Fraction) -> str:
    """A cost with two digits behind the point at most: `22`, `121.43`."""
    return str(cost.numerator) if cost.denominator == 1 else f"{float(cost):.2f}".rstrip("0").rstrip(".")


def percent(share: Fraction) -> str:
    """A share as people say it: `43%`, `0.8%`."""
    return f"{float(share * 100):.0f}%" if share >= Fraction(1, 10) else f"{float(share * 100):.2g}%"


def plain(name: str) -> str:
    """A name that neither a terminal nor XML can take for anything but text."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in name)


def ids_text(ids: Iterable[str]) -> str:
    """Ids as ranges."""
    return plain(format_ids(ids))


def short(text: str, longest: int) -> str:
    """A text, cut where it has more characters."""
    return text if cell_len(text) <= longest else set_cell_size(text, longest - 1).rstrip() + "…"


def chosen_text(chosen: Chosen) -> str:
    """A set in a line: `cpu cpu1; intel.com/qat qat0`."""
    return "; ".join(f"{plain(resource)} {ids_text(ids)}" for resource, ids in chosen.items())


def range_text(costs: Iterable[Fraction]) -> str:
    """One cost, or the least and the most of several: `10`, `10..32`."""
    found = sorted(set(costs))
    return number(found[0]) if len(found) == 1 else f"{number(found[0])}..{number(found[-1])}"


def proof_text(solution: Solution) -> str:
    """What is proven about a set's cost."""
    if solution.optimal:
        return "optimal, no set costs less"
    return f"no set costs less than {number(solution.bound)}, so this is at most {percent(solution.gap)} above the best"


def request_text(request: Mapping[str, int]) -> str:
    """A request as it is given."""
    return ",".join(f"{plain(resource)}={count}" for resource, count in request.items())


def table(rows: Sequence[Sequence[str]], right: Iterable[int] = (), indent: str = "") -> list[str]:
    """Lines with the rows' cells in columns, those in `right` aligned to the right."""
    to_right = set(right)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent
        + "  ".join(
            cell.rjust(width) if place in to_right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
