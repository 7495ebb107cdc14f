"""Kubernetes quantities: `500m`, `1.5Gi`, `2e3`, exactly."""

import math
import re
from fractions import Fraction

from numaproof.errors import UserError

QUANTITY = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,3}|)", re.ASCII)
_LONGEST = 64
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
MOST = 2**63 - 1  # the API's largest; it takes larger ones for this one, which no pod means
_FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter + "i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}


def parse_quantity(text: str | int | float) -> Fraction:
    """The exact value of a quantity; anything else is a UserError that names it."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise UserError(f"{repr(text)[:_LONGEST]} is not a quantity (write 2, 500m, 1.5Gi or 2e3)")
    match = QUANTITY.fullmatch(str(text)) if len(str(text)) <= _LONGEST else None
    if match is None:
        raise UserError(f'"{str(text)[:_LONGEST]}" is not a quantity (write 2, 500m, 1.5Gi or 2e3)')
    sign, number, suffix = match.groups()
    factor = _FACTORS[suffix] if suffix in _FACTORS else Fraction(10) ** int(suffix[1:])
    quantity = Fraction(number) * factor
    if quantity > MOST:
        raise UserError(f"{text} is more than a quantity can be (write {MOST} or less)")
    return -quantity if sign == "-" else quantity


def parse_amount(text: str | int | float, where: str) -> Fraction:
    """The value of a quantity of 0 or more; anything else is a UserError that names it and where it stands."""
    try:
        amount = parse_quantity(text)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    if amount < 0:
        raise UserError(f"{where}: {text} is negative; give an amount of 0 or more")
    return amount


def value(quantity: Fraction) -> int:
    """The quantity as a whole number, rounded up."""
    return math.ceil(quantity)


def milli_value(quantity: Fraction) -> int:
    """The quantity in thousandths, rounded up."""
    return math.ceil(quantity * 1000)


def bytes_text(amount: int) -> str:
    """Bytes in the largest unit that needs no more than three digits behind the point."""
    for unit, size in _UNITS:
        whole, rest = divmod(1000 * amount, 1000 * size)
        if whole and rest % size == 0:
            return f"{whole}.{rest // size:03}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{amount} B"
