"""Who has a thing: a pod, several, the system, nobody; and the sign by which both renderers show it."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Kind = Literal["pod", "mixed", "several", "reserved", "offline", "free"]


class Mark(NamedTuple):
    """Who has a CPU, a device or a piece of memory."""

    kind: Kind
    pod: int = -1  # its place among the scene's holdings; of other kinds -1


FREE = Mark("free")
RESERVED = Mark("reserved")
OFFLINE = Mark("offline")
MIXED = Mark("mixed")  # what pods have of which each has too little to be shown
SEVERAL = Mark("several")  # more than one pod claims it, which no kubelet grants

SIGNS: Mapping[Kind, str] = {"free": ".", "mixed": "+", "reserved": "r", "offline": "x", "several": "*"}
COLOURS = 8  # that are told apart in light and dark and by people who see few; then they come again, with a rim


def letters(number: int) -> str:
    """The sign of a pod: A to Z, AA, AB, ... as columns of a sheet are named."""
    text, rest = "", number + 1
    while rest:
        rest, last = divmod(rest - 1, 26)
        text = chr(ord("A") + last) + text
    return text


def sign(mark: Mark) -> str:
    """What stands for a mark where there is no colour."""
    return letters(mark.pod) if mark.kind == "pod" else SIGNS[mark.kind]


def owner(holders: Sequence[int]) -> Mark | None:
    """The mark of what these pods hold; None: no pod does."""
    if not holders:
        return None
    return Mark("pod", holders[0]) if len(holders) == 1 else SEVERAL


def order(mark: Mark) -> tuple[int, int]:
    """Sort key of a bar's pieces: the system's, then the pods', what nobody can use, and last what is free."""
    return ("reserved", "pod", "mixed", "several", "offline", "free").index(mark.kind), mark.pod
