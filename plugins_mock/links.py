"""Preferred allocation by the number of links between devices, as NVLink connects GPUs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

# Links between two devices, each pair once: ("0", "3") -> 2.
Links = Mapping[tuple[str, str], int]

# Past so many candidate sets one good set is built step by step instead of comparing all of them.
_MAX_SETS = 20_000


def links_of(rows: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
    """Links from a matrix given by rows, where a pair may be named in both of its rows."""
    pairs: dict[tuple[str, str], int] = {}
    for a, row in rows.items():
        for b, count in row.items():
            pairs[(a, b) if natural(a) <= natural(b) else (b, a)] = count
    return pairs


def natural(device_id: str) -> tuple[int, int, str]:
    """Key that sorts `gpu2` before `gpu10`."""
    digits = ""
    for character in reversed(device_id):
        if not character.isdigit():
            break
        digits = character + digits
    return (0, int(digits), device_id) if digits else (1, 0, device_id)


def count_links(links: Links, ids: Iterable[str]) -> int:
    """How many links there are within a set of devices."""
    return sum(links.get((a, b), 0) or links.get((b, a), 0) for a, b in combinations(ids, 2))


def best_sets(links: Links, available: Sequence[str], must_include: Sequence[str], size: int) -> list[list[str]]:
    """All sets of `size` available devices with the most links within; none when the request cannot be met."""
    fixed = sorted(set(must_include), key=natural)
    free = sorted(set(available) - set(fixed), key=natural)
    wanted = size - len(fixed)
    if not set(fixed) <= set(available) or wanted < 0 or wanted > len(free) or size == 0:
        return []
    if math.comb(len(free), wanted) > _MAX_SETS:
        return [_grow(links, fixed, free, wanted)]
    best: list[list[str]] = []
    most = -1
    for added in combinations(free, wanted):
        ids = sorted([*fixed, *added], key=natural)
        found = count_links(links, ids)
        if found > most:
            best, most = [ids], found
        elif found == most:
            best.append(ids)
    return best


def _grow(links: Links, fixed: list[str], free: list[str], wanted: int) -> list[str]:
    chosen = list(fixed)
    left = list(free)
    for _ in range(wanted):
        here = chosen
        nearest = max(
            left, key=lambda device: sum(links.get((a, device), 0) or links.get((device, a), 0) for a in here)
        )
        chosen = [*chosen, nearest]
        left.remove(nearest)
    return sorted(chosen, key=natural)


def best_partition(
    links: Links,
    numa: Mapping[str, tuple[int, ...]],
    available: Sequence[str],
    must_include: Sequence[str],
    size: int,
) -> list[list[str]]:
    """The best sets that do not overlap, as many as there are, then with the fewest that cross NUMA nodes."""
    sets = best_sets(links, available, must_include, size)
    if must_include:
        return sets[:1]

    def crossings(ids: list[str]) -> int:
        return len({numa.get(device, ()) for device in ids}) - 1

    def disjoint(candidates: list[list[str]]) -> tuple[int, int, list[list[str]]]:
        if not candidates:
            return (0, 0, [])
        first, *rest = candidates
        count, crossed, chosen = disjoint([ids for ids in rest if not set(ids) & set(first)])
        taken = (count + 1, crossed + crossings(first), [first, *chosen])
        if not any(set(ids) & set(first) for ids in rest):
            return taken
        left = disjoint(rest)
        return min(taken, left, key=lambda found: (-found[0], found[1]))

    # A board of many equal sets needs no search: its sets in order are as good as any other choice.
    return disjoint(sets)[2] if len(sets) <= 16 else _first_fit(sets)


def _first_fit(sets: list[list[str]]) -> list[list[str]]:
    used: set[str] = set()
    chosen = []
    for ids in sets:
        if not used & set(ids):
            chosen.append(ids)
            used |= set(ids)
    return chosen
