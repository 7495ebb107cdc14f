"""The machines that come with numaproof, by name."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files as resources
from typing import Any

from numaproof.fake_sysfs.describe import build
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.strict_yaml import Where


@cache
def preset_names() -> tuple[str, ...]:
    """All names, in order."""
    entries = (resources("numaproof.fake_sysfs") / "presets").iterdir()
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml")))


def preset_text(name: str) -> str:
    """The machine file of a preset: the best example to start one's own from."""
    if name not in preset_names():
        raise MachineError(f"preset {name!r}: no such machine; there are {', '.join(preset_names())}")
    return (resources("numaproof.fake_sysfs") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")


def preset_description(name: str) -> Mapping[str, Any]:
    """What a preset's machine file says; a preset may itself start from another one."""
    return {"name": name, **load_yaml(preset_text(name), f"preset {name}").value}


@cache
def preset(name: str) -> Machine:
    """The machine of a preset."""
    return build(preset_description(name), Where(f"preset {name}"), preset_description)
