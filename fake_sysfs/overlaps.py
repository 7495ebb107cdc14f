"""Whether a pair of instances is told twice, where pairs are told many at a time: these with those."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

# Whoever names what is alike together has some thousands; more would take seconds.
MOST_BLOCKS = 200_000


class Told(Protocol):
    """An entry that says something of each of some instances with each of some instances."""

    @property
    def resource(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]: ...
    @property
    def to_resource(self) -> str: ...
    @property
    def to_ids(self) -> tuple[str, ...]: ...


def repeated_pair(entries: Sequence[Told]) -> tuple[int, int] | None:
    """The places of two entries that tell the same pair in the same direction, if any do; pairs are not counted out.

    A ValueError says that the entries consist of too many pieces for that.
    """
    numbers: dict[str, dict[str, int]] = defaultdict(dict)  # of a resource's instances, as they come
    seen: dict[int, list[tuple[int, int]]] = {}  # by the identity of a tuple: one that many entries share is read once
    blocks: dict[tuple[str, str], list[Block]] = defaultdict(list)
    count = 0

    def pieces(resource: str, ids: tuple[str, ...]) -> list[tuple[int, int]]:
        if id(ids) not in seen:
            known = numbers[resource]
            seen[id(ids)] = runs([known.setdefault(one, len(known)) for one in ids])
        return seen[id(ids)]

    for index, entry in enumerate(entries):
        sources, targets = pieces(entry.resource, entry.ids), pieces(entry.to_resource, entry.to_ids)
        count += len(sources) * len(targets)
        if count > MOST_BLOCKS:
            raise ValueError(f"more than {MOST_BLOCKS} runs of instances with runs of instances")
        blocks[entry.resource, entry.to_resource] += [
            Block(*one, *other, index) for one in sources for other in targets
        ]
    for (resource, to_resource), found in blocks.items():
        pair = twice(found, same=resource == to_resource)
        if pair is not None:
            return min(pair), max(pair)
    return None


class Block(NamedTuple):
    """All pairs of a run of sources with a run of targets, by their numbers, ends included."""

    first: int
    last: int
    to_first: int
    to_last: int
    entry: int  # which entry tells it


def twice(blocks: Iterable[Block], *, same: bool) -> tuple[int, int] | None:
    """Two entries that tell one pair, if any do; `same`: sources and targets are the same things, and a thing with
    itself is no pair.

    Takes n log n steps for n blocks: a sweep over the sources, with the targets of the blocks that are open.
    """
    plain = list(blocks)
    if same:
        plain, squares = _without_squares(plain)
        squares.sort()
        for square, following in pairwise(squares):
            if following.first < square.last:  # more in common than a corner, which is a thing with itself
                return square.entry, following.entry
        plain += [part for square in squares for part in _halved(square)]
    return _overlap(plain)


def _overlap(blocks: list[Block]) -> tuple[int, int] | None:
    # At one number blocks are opened before others are closed: ends are included.
    events = sorted([(block.first, 0, block) for block in blocks] + [(block.last, 1, block) for block in blocks])
    active: list[tuple[int, int, int]] = []  # first target, last target, entry: of open blocks, none with another
    for _, closes, block in events:
        run = (block.to_first, block.to_last, block.entry)
        place = bisect_left(active, run)
        if closes:
            del active[place]
            continue
        if place and active[place - 1][1] >= block.to_first:
            return active[place - 1][2], block.entry
        if place < len(active) and active[place][0] <= block.to_last:
            return active[place][2], block.entry
        insort(active, run)
    return None


def _without_squares(blocks: list[Block]) -> tuple[list[Block], list[Block]]:
    """Blocks in which nothing meets itself, and the squares in which everything does that were cut out of them."""
    plain, squares = [], []
    for block in blocks:
        first, last = max(block.first, block.to_first), min(block.last, block.to_last)
        if first > last:
            plain.append(block)
            continue
        if first < last:  # a square of one is a thing with itself only
            squares.append(Block(first, last, first, last, block.entry))
        parts = (
            block._replace(to_last=first - 1),
            block._replace(to_first=last + 1),
            block._replace(last=first - 1, to_first=first, to_last=last),
            block._replace(first=last + 1, to_first=first, to_last=last),
        )
        plain += [part for part in parts if part.first <= part.last and part.to_first <= part.to_last]
    return plain, squares


def _halved(square: Block) -> Iterator[Block]:
    """A square but for its diagonal, as blocks."""
    if square.first == square.last:
        return
    middle = (square.first + square.last) // 2
    yield Block(square.first, middle, middle + 1, square.last, square.entry)
    yield Block(middle + 1, square.last, square.first, middle, square.entry)
    yield from _halved(Block(square.first, middle, square.first, middle, square.entry))
    yield from _halved(Block(middle + 1, square.last, middle + 1, square.last, square.entry))


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The runs of consecutive numbers, first and last of each, ascending."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
