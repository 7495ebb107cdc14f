"""What others met before: a thing that is known of some cases."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from numaproof.harness.explain.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that others met before."""

    text: str
    source: str  # where it was reported, or decided
    fixed_in: str = ""  # the first kubelet that does otherwise; empty: none that is known


Rule = Callable[[Explanation], Iterator[Remark]]
