"""The kinds of recorded decisions, and who replays each."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.near import did_you_mean

# Kind -> (module, name of its replaying function).
_MODULES = {
    "merge": ("merge", "replay"),
    "merge-kep": ("merge", "replay_kep"),
    "merge-upstream": ("merge", "replay"),
    "cpu": ("cpu", "replay"),
    "cpu-hang": ("cpu_hang", "replay"),
    "cpu-hints": ("cpu_hints", "replay"),
    "device-hints": ("device_hints", "replay"),
    "device-alloc": ("device_alloc", "replay"),
    "memory": ("memory", "replay"),
    "node": ("node", "replay"),
}
KINDS = tuple(_MODULES)


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of decision: how to make it anew, and what differs from the record."""

    name: str
    replay: Callable[[dict[str, Any]], Any]
    differences: Callable[[dict[str, Any], Any], list[str]]


def find_kind(name: str) -> RecordKind:
    """The kind of that name; a UserError lists the names there are."""
    if name not in _MODULES:
        raise UserError(f'--kind: "{name}" is unknown (known: {", ".join(KINDS)}){did_you_mean(name, KINDS)}')
    module_name, function = _MODULES[name]
    module = importlib.import_module(f"numaproof.harness.vectors.{module_name}")
    return RecordKind(name, getattr(module, function), module.differences)


def kind_of(path: Path) -> RecordKind:
    """The kind that a file's name begins with: `cpu-hints.jsonl`, `cpu-hints-2.jsonl.xz`."""
    stem = path.name.split(".")[0]
    fitting = [name for name in KINDS if stem == name or stem.startswith((name + "-", name + "_"))]
    if not fitting:
        raise UserError(f"{path}: the name tells no kind (give --kind, one of: {', '.join(KINDS)})")
    return find_kind(max(fitting, key=len))
