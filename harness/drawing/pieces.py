"""Pieces of a bar that are too many: the smallest pods' become one."""

from collections.abc import Callable, Sequence

from numaproof.harness.drawing.blocks import Piece
from numaproof.harness.drawing.marks import MIXED
from numaproof.harness.drawing.words import count


def at_most(pieces: Sequence[Piece], most: int, told: Callable[[int], str]) -> tuple[Piece, ...]:
    """So many pieces, in the same order; `told` says how much the joined ones are. What is no pod's stays apart."""
    of_pods = sorted((one for one in pieces if one.mark.kind == "pod"), key=lambda one: -one.amount)
    spare = len(pieces) - most
    if spare <= 0 or len(of_pods) < 2:
        return tuple(pieces)
    kept = of_pods[: max(len(of_pods) - spare - 1, 0)]
    joined = of_pods[len(kept) :]
    amount, holders = sum(one.amount for one in joined), len({one.mark for one in joined})
    mixed = Piece(MIXED, amount, told(amount), f"{told(amount)}: {count(holders, 'pod')} with the least")
    before = [one for one in pieces if one.mark.kind == "reserved" or one in kept]
    return (*before, mixed, *(one for one in pieces if one.mark.kind not in {"reserved", "pod"}))
