"""Texts of a drawing: foreign ones made harmless, counts and lists as people say them."""

from collections.abc import Iterable
from unicodedata import category, east_asian_width

from numaproof.fake_sysfs.lists import format_cpulist

ELLIPSIS = "…"
_LONGEST_READ = 1000  # characters of a foreign text that are looked at; no label shows as many
_HANGUL_PARTS = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))  # letters that join the one before them and take no column


def clean(text: str, longest: int) -> str:
    """A foreign text as one line of characters that each take one column, cut where it is longer.

    Line ends, escapes, marks of direction and other controls become a blank; what takes two columns or none, `?`.
    """
    # Nothing beyond is shown, so nothing beyond is read.
    whole = "".join(map(_harmless, text[:_LONGEST_READ]))
    return cut(" ".join(whole.split()), longest)


def _harmless(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else " "
    if not character.isprintable():
        return " "
    wide = east_asian_width(character) in "WF" or category(character).startswith("M")
    joins = any(first <= ord(character) <= last for first, last in _HANGUL_PARTS)
    return "?" if wide or joins else character


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters; an ellipsis says that there were more."""
    return text if len(text) <= longest else text[: max(longest - 1, 0)].rstrip() + ELLIPSIS


def count(number: int, what: str) -> str:
    """`1 CPU`, `2 CPUs`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def ids_text(ids: Iterable[int], longest: int = 40) -> str:
    """Ids as the kernel lists them, cut between two of them where the list is long."""
    text = format_cpulist(ids)
    if len(text) <= longest:
        return text
    return text[:longest].rpartition(",")[0] + "," + ELLIPSIS


def nodes_text(ids: Iterable[int]) -> str:
    """`NUMA node 3`, `NUMA nodes 3-9`."""
    found = sorted(set(ids))
    return f"NUMA node{'' if len(found) == 1 else 's'} {ids_text(found)}"
