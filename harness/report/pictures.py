"""A picture of each machine of a run, as a text file."""

import re
from collections.abc import Mapping
from pathlib import Path

from numaproof.fake_sysfs import Machine
from numaproof.harness.report.machine_text import machine_lines

_WIDTH = 160  # of a line: wide enough for the devices' names, narrow enough for an editor


def write_pictures(machines: Mapping[str, Machine], directory: Path) -> None:
    """Draw each machine into `directory`, in a file of its name."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, machine in machines.items():
        text = "".join(f"{line}\n" for line in machine_lines(machine, _WIDTH))
        (directory / picture_name(name)).write_text(text, encoding="utf-8")


def picture_name(machine: str) -> str:
    """The name of a machine's file; a machine may also be called by a path or by a string with blanks and brackets."""
    plain = re.sub(r"[^\w.-]+", "_", machine)
    return f"{plain}.txt"
