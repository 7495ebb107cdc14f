"""The kernel's two ways to write a set of ids: lists (`0-3,8`) and masks in comma-separated 32-bit groups."""

import re
from collections.abc import Iterable
from itertools import pairwise

# Groups of up to 32 bits; a single group may be wider, as old kernels wrote it.
_MASK = re.compile(r"[0-9a-fA-F]+|[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8})+")


def parse_cpulist(text: str) -> tuple[int, ...]:
    """The ids of `0-3,8` in ascending order, each once; ValueError on anything else."""
    found: set[int] = set()
    bare = text.strip("\0 \t\r\n")
    for part in bare.split(",") if bare else ():
        first, dash, last = part.partition("-")
        low = _number(first, bare)
        high = _number(last, bare) if dash else low
        if high < low or high >= 1 << 20:
            raise ValueError(f"{_told(bare)}: the range {part} runs backwards or too far; write a list such as 0-3,8")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def _number(text: str, whole: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise ValueError(f"{_told(whole)}: {_told(digits)} is not an id; write a list such as 0-3,8")
    return int(digits)


def _told(text: str) -> str:
    """What a message repeats of a text that may be of any length."""
    return repr(text[:60])


def format_cpulist(ids: Iterable[int]) -> str:
    """`0-3,8` for the ids 0, 1, 2, 3, 8; an empty text for none."""
    ordered = sorted(set(ids))
    if not ordered:
        return ""
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(ordered)) if b != a + 1]
    runs = [ordered[i:j] for i, j in pairwise([0, *breaks, len(ordered)])]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def parse_mask(text: str) -> tuple[int, ...]:
    """The ids whose bits are set in `1111,ffffffff`, ascending; ValueError on anything else."""
    bare = text.strip("\0 \t\r\n")
    if not _MASK.fullmatch(bare):
        raise ValueError(f"{bare[:60]!r}: is not a mask; write 32-bit groups such as ff,ffffffff")
    value = int("".join(group.zfill(8) for group in bare.split(",")), 16)
    bits = bin(value)[:1:-1]
    return tuple(i for i, bit in enumerate(bits) if bit == "1")


def format_mask(ids: Iterable[int], width: int) -> str:
    """A mask of `width` bits in 32-bit groups, the top one only as wide as needed: 80 CPUs are `1111,...`."""
    value = 0
    for i in ids:
        value |= 1 << i
    digits = f"{value:0{max(1, -(-width // 4))}x}"
    head = len(digits) % 8
    groups = ([digits[:head]] if head else []) + [digits[i : i + 8] for i in range(head, len(digits), 8)]
    return ",".join(groups)
