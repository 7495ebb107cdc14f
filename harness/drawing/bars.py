"""How long the pieces of a bar are, and how many things stand in a row."""

from collections.abc import Sequence


def shares(amounts: Sequence[int], room: int) -> list[int]:
    """Whole lengths that fill `room` in proportion; none is 0 as long as there is room for all."""
    total = sum(amounts)
    found = [amount * room // total for amount in amounts]
    # What rounding left goes to those that lost most by it.
    lost = sorted(range(len(amounts)), key=lambda place: (-(amounts[place] * room % total), place))
    for place in lost[: room - sum(found)]:
        found[place] += 1
    if len(amounts) <= room:
        for place, size in enumerate(found):
            if not size:
                found[found.index(max(found))] -= 1
                found[place] = 1
    return found


def row_length(fitting: int) -> int:
    """How many of the things that fit stand in a row: a round number, so that they are easily counted."""
    for group in (8, 4):
        if fitting >= group:
            return fitting - fitting % group
    return max(fitting, 1)
