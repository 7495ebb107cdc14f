"""Sizes as people write them: `64GiB`, `1.375Mi`, `512K`."""

import re
from fractions import Fraction

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?)(B?)|B)?")
_POWER = {"K": 1, "M": 2, "G": 3, "T": 4}


def parse_size(text: str) -> int:
    """Bytes: `Ki`, `MiB` and a bare `K`, `M`, `G` count by 1024, `KB`, `MB`, `GB` by 1000; else ValueError."""
    match = SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r}: is not a size; write 64GiB, 512MiB or a number of bytes")
    figure, unit, binary, byte = match.groups()
    base = 1000 if byte and not binary else 1024
    return int(Fraction(figure) * base ** _POWER.get(unit, 0))


def format_size(size: int) -> str:
    """The shortest exact spelling: `64GiB`, `1408KiB`, `1000`."""
    for unit, power in (("TiB", 4), ("GiB", 3), ("MiB", 2), ("KiB", 1)):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power}{unit}"
    return str(size)


def format_bytes(size: int) -> str:
    """A size as people say it: `16 MiB`, `1.25 GiB`."""
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.2f}".rstrip("0").rstrip(".") + f" {unit}"
