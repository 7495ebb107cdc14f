"""A machine as a user names it: preset, machine file, hwloc string, tree, snapshot, text, words, or this host."""

import os
import re
import stat
from pathlib import Path
from typing import NoReturn

from numaproof.fake_sysfs.catalogue import (
    SUITE_MACHINES,
    machine_beside,
    machine_names,
    preset,
    preset_description,
    preset_names,
)
from numaproof.fake_sysfs.describe import KEYS, describe
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.hwloc_string import is_synthetic, parse_synthetic
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.paste import LARGEST
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.section import read_yaml
from numaproof.fake_sysfs.texts.words import are_words
from numaproof.near import did_you_mean

# For help texts.
MACHINE = (
    "a name of `numaproof machine list`, a YAML file, an hwloc string, a tree, a snapshot tarball, a file with the text"
    " of `numactl -H` or `lscpu` or with lstopo's XML, a few words such as `2 nodes x 16 CPUs, 125Gi`, or `host`"
)

_MACHINE_FILES = (".yaml", ".yml")
_SNIFFED = 1024  # bytes: a tar archive has a NUL in its first block
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_LONGEST_TOLD = 100  # characters of an argument that a message repeats


def parse_machine(text: str) -> Machine:
    """The machine that an argument means: a name that is known, a path, an hwloc synthetic string, `host`, or words."""
    if text == "host":
        return read("/")
    if text in preset_names():
        return preset(text)
    if file := machine_beside(SUITE_MACHINES, text):
        return describe(read_yaml(file), preset_description)
    path = Path(text)
    there = os.path.lexists(path)
    if not there and (told := _told(text)):
        return told
    if is_synthetic(text) and not there:
        return parse_synthetic(text)
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return read(path)
    if path.suffix in _MACHINE_FILES:
        return _yaml_or_text(path)
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return _text_or_archive(path)
    names = machine_names()
    raise MachineError(
        f"machine {_shown(text)}: is neither a file, a directory, an hwloc string, words such as"
        f" `2 nodes x 16 CPUs, 125Gi`, `host` nor a known name"
        f" ({', '.join(names)}){did_you_mean(text, (*names, 'host'))}"
    )


def _told(text: str) -> Machine | None:
    """The machine of words, or of a tool's text, that stand in the argument itself; an hwloc string is neither."""
    if "\n" not in text and not are_words(text):
        return None
    name = " ".join(text.split())[:_LONGEST_TOLD]
    return _read_text(text, f"machine {_shown(text)}", name or "machine")


def _yaml_or_text(path: Path) -> Machine:
    """A machine file or, where it has no key of one, a tool's text that was given such a name."""
    try:
        return describe(read_yaml(path), preset_description)
    except MachineError:
        text = _text(path) if stat.S_ISREG(_mode(path)) else None
        keys = tuple(f"{key}:" for key in KEYS)
        from numaproof.fake_sysfs.texts.read_text import is_of_a_tool  # noqa: PLC0415 (as below)

        if text is None or any(line.startswith(keys) for line in text.splitlines()) or not is_of_a_tool(text):
            raise
        return _read_text(text, str(path), _name(path)) or _no_machine(path)


def _text_or_archive(path: Path) -> Machine:
    from numaproof.fake_sysfs.importers import import_archive  # noqa: PLC0415 (archives are rare, and slow to import)

    text = _text(path)
    if text is None:
        return import_archive(path)
    return _read_text(text, str(path), _name(path)) or _no_machine(path)


def _read_text(text: str, where: str, name: str) -> Machine | None:
    from numaproof.fake_sysfs.texts.read_text import read_text  # noqa: PLC0415 (most name a preset, and wait)

    return read_text(text, where, name)


def _no_machine(path: Path) -> NoReturn:
    raise MachineError(f"{path}: is not a tar archive, nor does it tell of a machine; give {MACHINE}")


def _name(path: Path) -> str:
    return " ".join(path.stem.split()) or "machine"


def _text(path: Path) -> str | None:
    """What a file holds if it is a text; None for an archive. A pipe is read as a text, as it can be read once."""
    try:
        with path.open("rb") as file:
            start = file.read(_SNIFFED)
            if _BINARY.search(start) or start.startswith(_COMPRESSED):
                return None
            whole = start + file.read(LARGEST + 1 - len(start))
    except OSError as error:
        raise MachineError(f"{path}: cannot be read: {error.strerror or error}") from error
    return whole.decode("utf-8-sig", errors="replace")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TOLD else f"{text[:_LONGEST_TOLD]}...")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # it is not there, or cannot be: too long for a name, or with a NUL in it
        return 0
