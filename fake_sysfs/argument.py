"""A machine as a user names it: preset, machine file, hwloc string, tree, snapshot, or this host."""

import os
import stat
from pathlib import Path

from numaproof.fake_sysfs.catalogue import preset, preset_description, preset_names
from numaproof.fake_sysfs.describe import describe
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.hwloc_string import is_synthetic, parse_synthetic
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.section import read_yaml

MACHINE = "a preset, a YAML file, an hwloc string, a tree, a snapshot tarball, or `host`"  # for help texts

_MACHINE_FILES = (".yaml", ".yml")
_LONGEST_TOLD = 100  # characters of an argument that a message repeats


def parse_machine(text: str) -> Machine:
    """The machine that an argument means: a preset's name, a path, an hwloc synthetic string, or `host`."""
    if text == "host":
        return read("/")
    if text in preset_names():
        return preset(text)
    path = Path(text)
    if is_synthetic(text) and not os.path.lexists(path):
        return parse_synthetic(text)
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return read(path)
    if path.suffix in _MACHINE_FILES:
        return describe(read_yaml(path), preset_description)
    if stat.S_ISREG(mode):
        from numaproof.fake_sysfs.importers import import_archive  # noqa: PLC0415 (archives are rare, and slow to import)

        return import_archive(path)
    names = ", ".join(preset_names())
    told = repr(text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}...")
    raise MachineError(
        f"machine {told}: is neither a file, a directory, an hwloc string, `host` nor a preset ({names})"
    )


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # it is not there, or cannot be: too long for a name, or with a NUL in it
        return 0
