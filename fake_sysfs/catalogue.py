"""The machines that come with numaproof, by name."""

import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs.describe import build
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.near import did_you_mean

# The folder of the shipped suite: a place on the disk, not a module of ours.
SUITE_MACHINES = Path(str(resources("numaproof"))) / "suites" / "machines"


@cache
def preset_names() -> tuple[str, ...]:
    """All names, in order."""
    entries = (resources("numaproof.fake_sysfs") / "presets").iterdir()
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml")))


def machine_names() -> tuple[str, ...]:
    """The names that mean a machine wherever one is asked for: presets, then the machines of the shipped scenarios."""
    return (*preset_names(), *suite_machine_names())


@cache
def suite_machine_names() -> tuple[str, ...]:
    """The names of the machines that the shipped scenarios run on beside presets, in order."""
    return tuple(sorted(file.stem for file in SUITE_MACHINES.glob("*.yaml")))


def machine_beside(folder: Path, name: str) -> Path | None:
    """The file of a machine that a suite of scenarios has in its folder of machines; None: it has none of this name."""
    file = folder / f"{name}.yaml"
    # A name may be anything that a user writes: too long for a file, or with a NUL, which os.path puts up with.
    return file if "/" not in name and os.path.isfile(file) else None  # noqa: PTH113


def preset_text(name: str) -> str:
    """The machine file of a preset: the best example to start one's own from."""
    if name not in preset_names():
        names = preset_names()
        raise MachineError(f"preset {name!r}: no such machine; there are {', '.join(names)}{did_you_mean(name, names)}")
    return (resources("numaproof.fake_sysfs") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")


def preset_description(name: str) -> Mapping[str, Any]:
    """What a preset's machine file says; a preset may itself start from another one."""
    return {"name": name, **load_yaml(preset_text(name), f"preset {name}").value}


@cache
def preset(name: str) -> Machine:
    """The machine of a preset."""
    return build(preset_description(name), Where(f"preset {name}"), preset_description)
