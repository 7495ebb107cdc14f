"""What the output of a command can show: colours, and the signs that drawings are made of."""

import os
import sys
from collections.abc import Iterable

from numaproof.harness.drawing.text import to_encoding


def wants_colour() -> bool:
    """Whether people see the output in a terminal that has colours, and have not asked for none (no-color.org).

    Who asks for colours gets them wherever the output goes (force-color.org).
    """
    if os.environ.get("FORCE_COLOR") and not os.environ.get("NO_COLOR"):
        return True
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(drawing: Iterable[str]) -> list[str]:
    """A drawing in signs that the output's encoding has, as wide as before."""
    return to_encoding(drawing, sys.stdout.encoding or "utf-8")


def print_drawing(drawing: Iterable[str]) -> None:
    """Print a drawing, whatever the output's encoding is."""
    for line in printable(drawing):
        print(line)
