"""A kubelet's flags, wherever they stand: `ps`, a systemd unit, an environment file, a log, k3s, rke2, k0s."""

import difflib
import re
from dataclasses import dataclass

from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import FLAGS, LIST_FLAGS, TABLE_FLAGS, flag_settings
from numaproof.harness.intake.paste import is_elision, shown

_FLAG = re.compile(
    r"(?<![\w-])--?(?P<name>[a-z][a-z0-9_-]{2,60})(?:(?P<sign>=|[ \t]+)(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'\\-][^\s\"'\\]*|))?"
)
_LOGGED = re.compile(r"FLAG: --(?P<name>[a-z0-9-]{1,80})=\"(?P<value>[^\"\n]*)\"")
# k3s and rke2: --kubelet-arg=NAME=VALUE, --kubelet-arg NAME=VALUE, with or without dashes and quotes.
_WRAPPED = re.compile(r"--kubelet-arg(?:=|[ \t]+)[\"']?(?:--)?(?=[a-z])")
_OF_NUMA = re.compile(r"numa|topology|cpu-manager|memory-manager|reserved|cgroups-per-qos|node-allocatable")
_SILENT = frozenset(("cpu-manager-reconcile-period", "system-reserved-cgroup", "kube-reserved-cgroup"))
# What a log shows of flags that nobody gave; a configuration file may say otherwise.
_DEFAULTS = frozenset(("", "none", "None", "container", "110"))
_DEFAULT_EVICTION = "memory.available<100Mi"
_MOST_FLAGS = 10_000


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What a kubelet was started with."""

    settings: dict[str, Setting]
    config_files: tuple[str, ...]  # that it names
    notes: tuple[str, ...]


def names_flags(text: str) -> bool:
    """Whether a text has a flag of a kubelet that concerns us, or names its configuration."""
    known = (_normal(found["name"]) for found in _FLAG.finditer(_joined(text)))
    return any(name in FLAGS or name in ("config", "config-dir") for name in known)


def shows_flags(text: str) -> bool:
    """Whether a text is a kubelet's log that tells its flags."""
    return _LOGGED.search(text) is not None


def read_command_line(text: str, where: str) -> CommandLine:
    """The flags of a text, in the order of the text: of one that is given twice the last counts, tables add up."""
    found = [(_normal(one["name"]), _value(one["value"])) for one in _FLAG.finditer(_joined(text))]
    return _command_line(found[:_MOST_FLAGS], where)


def read_logged_flags(text: str, where: str) -> CommandLine:
    """The flags that a log tells; those at their defaults were perhaps not given, and are left out."""
    found = [(one["name"], one["value"]) for one in _LOGGED.finditer(text)]
    given = [
        (name, value)
        for name, value in found[:_MOST_FLAGS]
        if value not in _DEFAULTS and not (name == "eviction-hard" and _DEFAULT_EVICTION in value)
    ]
    return _command_line([one for one in given if one[0] in FLAGS or one[0].startswith("config")], where)


def _joined(text: str) -> str:
    text = re.sub(r"\\[ \t]*\n", " ", text).replace('\\"', '"')
    return _WRAPPED.sub("--", text)


def _normal(name: str) -> str:
    return name.replace("_", "-")


def _value(text: str | None) -> str | None:
    return None if text is None else text.strip("\"'").rstrip(",;]") if text[:1] not in "\"'" else text.strip("\"'")


def _command_line(found: list[tuple[str, str | None]], where: str) -> CommandLine:
    given: dict[str, str | list[str]] = {}
    notes: dict[str, None] = {}
    files: dict[str, None] = {}
    for name, value in found:
        if name in ("config", "config-dir") and value:
            files[value] = None
        elif name in FLAGS:
            if not value or is_elision(value):
                notes[f"{where}: --{name}: its value is not there"] = None
            elif name in LIST_FLAGS:
                given[name] = [*given.get(name, []), value]
            elif name in TABLE_FLAGS and name in given:
                given[name] = f"{given[name]},{value}"
            else:
                if given.get(name, value) != value:
                    notes[f"{where}: --{name}: is given twice; the last one counts"] = None
                given[name] = value
        elif name not in _SILENT and (note := _concern(name, where)):
            notes[note] = None
    return CommandLine(flag_settings(given, where), tuple(files), tuple(notes))


def _concern(name: str, where: str) -> str | None:
    """A note about a flag that we do not use but that may concern NUMA."""
    if near := difflib.get_close_matches(name, FLAGS, 1, 0.85):
        return f"{where}: {shown('--' + name)} is unknown, and passed over; did you mean --{near[0]}?"
    return f"{where}: {shown('--' + name)} is passed over" if _OF_NUMA.search(name) else None
