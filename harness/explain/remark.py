"""A remark: something about a case that others met before."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that others met before."""

    text: str
    source: str  # where it was reported, or decided
    fixed_in: str = ""  # the first kubelet that does otherwise; empty: none that is known
