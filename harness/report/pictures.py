"""A picture of each machine of a run, as a text file."""

import re
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.draw import draw

_WIDTH = 160  # of a line: wide enough for the devices' names, narrow enough for an editor


def write_pictures(machines: Mapping[str, Machine], directory: Path) -> None:
    """Draw each machine into `directory`, in a file of its name."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, machine in machines.items():
        # A machine may also be called by a path or by a string with blanks and brackets.
        plain = re.sub(r"[^\w.-]+", "_", name)
        with (directory / f"{plain}.txt").open("w", encoding="utf-8") as file:
            Console(file=file, width=_WIDTH).print(draw(machine))
