"""The kubelet's flags that concern NUMA, each with the key of a KubeletConfiguration that it sets."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.decision.config import Setting
from numaproof.harness.pods.taints import taint_from_text

_LONGEST_TOLD = 60  # characters of a text that a message repeats
# One flag may tell several NUMA nodes; a kubelet's log has commas between them.
_NEXT_NODE = re.compile(r";|,(?=\s*[0-9]+:)")


def flag_settings(given: Mapping[str, Any], place: str = "") -> dict[str, Setting]:
    """Flags, by their names without dashes in front, as settings; `place` opens the messages about them.

    A flag's value is its text, that of `max-pods` perhaps a number; `reserved-memory` may be given several times, so
    its value is a list of texts.
    """
    found = {}
    for name, value in given.items():
        key, parse = FLAGS[name]
        where = f"{place}: --{name}" if place else f"--{name}"
        found[key] = Setting(where, parse(where, value))
    return found


def with_flags(settings: Mapping[str, Setting], flags: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings of a file and of flags: flags win, and of feature gates each one that is named."""
    merged = {**settings, **flags}
    gates = [one["featureGates"] for one in (settings, flags) if "featureGates" in one]
    if len(gates) == 2 and all(isinstance(one.value, dict) for one in gates):
        merged["featureGates"] = Setting(gates[1].where, gates[0].value | gates[1].value)
    return merged


def _text(_where: str, given: Any) -> Any:
    return given


def _count(_where: str, given: Any) -> Any:
    is_number = isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10
    return int(given) if is_number else given


def _taints(where: str, text: str) -> list[dict[str, str]]:
    found = [taint_from_text(part.strip(), where) for part in text.split(",") if part.strip()]
    return [{"key": one.key, "value": one.value, "effect": one.effect} for one in found]


def _table(where: str, text: str, sign: str = "=") -> dict[str, str]:
    table = {}
    for part in filter(None, text.split(",")):
        key, found, one = part.partition(sign)
        if not found or not key.strip():
            raise UserError(f"{where}: {_short(part)} is not of the form NAME{sign}VALUE")
        table[key.strip()] = one.strip()
    return table


def _thresholds(where: str, text: str) -> dict[str, str]:
    return _table(where, text, "<")


def _reserved_memory(where: str, texts: list[str]) -> list[dict[str, Any]]:
    entries = []
    for part in filter(None, (part for text in texts for part in _NEXT_NODE.split(text))):
        node, colon, limits = part.partition(":")
        number = node.strip()
        if not colon or not (number.isascii() and number.isdigit() and len(number) < 10):
            raise UserError(f"{where}: {_short(part)} is not of the form NODE:NAME=VALUE,..., such as 0:memory=1Gi")
        entries.append({"numaNode": int(number), "limits": _table(where, limits)})
    return entries


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_TOLD else text[: _LONGEST_TOLD - 3] + "...")


# The flag -> the configuration's key, and the reader of its value.
FLAGS: Mapping[str, tuple[str, Callable[[str, Any], Any]]] = {
    "topology-manager-policy": ("topologyManagerPolicy", _text),
    "topology-manager-scope": ("topologyManagerScope", _text),
    "topology-manager-policy-options": ("topologyManagerPolicyOptions", _table),
    "cpu-manager-policy": ("cpuManagerPolicy", _text),
    "cpu-manager-policy-options": ("cpuManagerPolicyOptions", _table),
    "reserved-cpus": ("reservedSystemCPUs", _text),
    "memory-manager-policy": ("memoryManagerPolicy", _text),
    "reserved-memory": ("reservedMemory", _reserved_memory),
    "system-reserved": ("systemReserved", _table),
    "kube-reserved": ("kubeReserved", _table),
    "eviction-hard": ("evictionHard", _thresholds),
    "feature-gates": ("featureGates", _table),
    "max-pods": ("maxPods", _count),
    "register-with-taints": ("registerWithTaints", _taints),
}
# Flags that may be given several times, and add up; of the others the last one counts.
TABLE_FLAGS = frozenset(name for name, (_key, parse) in FLAGS.items() if parse in (_table, _thresholds))
LIST_FLAGS = frozenset(("reserved-memory",))
