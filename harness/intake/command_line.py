"""A kubelet's flags, wherever they stand: `ps`, a systemd unit, an environment file, a log, k3s, rke2, minikube."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from numaproof.fake_sysfs.paste import is_elision, shown
from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import FLAGS, LIST_FLAGS, TABLE_FLAGS, flag_settings
from numaproof.near import nearest

FILE_FLAGS = ("config", "config-dir")  # that name files of a configuration

# A quoted value does not begin with a dash: what does holds flags of its own, as `--kubelet-extra-args '--v=2'`. Prose
# has a long dash where two were written.
_FLAG = re.compile(
    r"(?<![\w-])(?:--|[–—])(?P<name>[a-z][a-z0-9_-]{2,60})"  # noqa: RUF001 (the dashes are meant)
    r"(?:(?:=|[ \t]+)(?P<value>\"(?![ \t]*-)[^\"\n]*\"|'(?![ \t]*-)[^'\n]*'|[^\s\"'`\\-][^\s\"'`\\]*|))?"
)
# Of a log in JSON the quotes are escaped.
_LOGGED = re.compile(r"FLAG: --(?P<name>[a-z0-9-]{1,80})=\\?\"(?P<value>[^\"\\\n]*)\\?\"")
# --kubelet-arg=NAME=VALUE of k3s and rke2, with or without dashes and quotes; --extra-config=kubelet.NAME of minikube.
_WRAPPED = re.compile(r"--(?:kubelet-arg(?:=|[ \t]+)[\"']?(?:--)?|extra-config(?:=|[ \t]+)[\"']?kubelet\.)(?=[a-z])")
_LISTED = re.compile(r"(--[a-z][a-z0-9_-]{2,60})[\"'],\s*[\"'](?!-)")  # ["--reserved-cpus", "0-1"]
_COMMENT = re.compile(r"\s*[#;](?!.*\b(?:kubelet|k3s|rke2|k0s|minikube)[ \t])")
_OTHER_PROGRAMS = re.compile(r"\b(?:kube-(?:apiserver|controller-manager|proxy|scheduler)|etcd|containerd)\b")
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
    return any(name in FLAGS or name in FILE_FLAGS for name, _value in _flags(text))


def shows_flags(text: str) -> bool:
    """Whether a text is a kubelet's log that tells its flags."""
    return _LOGGED.search(text) is not None


def read_command_line(text: str, where: str) -> CommandLine:
    """The flags of a text, in the order of the text; comments and the lines of other programs are left out."""
    return command_line_of(islice(_flags(text), _MOST_FLAGS), where)


def read_logged_flags(text: str, where: str) -> CommandLine:
    """The flags that a log tells; those at their defaults were perhaps not given, and are left out."""
    found = [(one["name"], one["value"]) for one in islice(_LOGGED.finditer(text), _MOST_FLAGS)]
    given = [
        (name, value)
        for name, value in dict.fromkeys(found)  # a kubelet that was started again tells them again
        if value not in _DEFAULTS and not (name == "eviction-hard" and _DEFAULT_EVICTION in value)
    ]
    return command_line_of([one for one in given if one[0] in FLAGS or one[0] in FILE_FLAGS], where)


def command_line_of(flags: Iterable[tuple[str, str | None]], where: str) -> CommandLine:
    """Flags and their values (None: it has none): of one that is given twice the last counts, tables add up."""
    given: dict[str, list[str]] = {}
    notes: dict[str, None] = {}
    files: dict[str, None] = {}
    for name, value in flags:
        if name in FILE_FLAGS and value:
            files[value] = None
        elif name in FLAGS:
            if value is None or is_elision(value) or value.startswith("$"):
                notes[f"{where}: --{name}: its value is not there"] = None
                continue
            values = given.setdefault(name, [])
            if values and name not in LIST_FLAGS | TABLE_FLAGS:
                if values[-1] != value:
                    notes[f"{where}: --{name}: is given twice; the last one counts"] = None
                values.clear()
            values.append(value)
        elif name not in _SILENT and (note := _concern(name, where)):
            notes[note] = None
    texts = {name: values if name in LIST_FLAGS else ",".join(values) for name, values in given.items()}
    return CommandLine(flag_settings(texts, where), tuple(files), tuple(notes))


def _flags(text: str) -> Iterator[tuple[str, str | None]]:
    """The flags of a text; a line of them that stands there twice (of `ps` and `systemctl status`) is read once."""
    seen = set()
    text = re.sub(r"\\[ \t]*\n", " ", text).replace('\\"', '"')
    for line in _WRAPPED.sub("--", _LISTED.sub(r"\1=", text)).split("\n"):
        first = _FLAG.search(line)
        if first is None:
            continue
        before, told = line[: first.start()], line[first.start() :]
        if told in seen or _COMMENT.match(before) or _OTHER_PROGRAMS.search(before):
            continue
        seen.add(told)
        for found in _FLAG.finditer(told):
            yield found["name"].replace("_", "-"), _value(found["value"])


def _value(text: str | None) -> str | None:
    if not text:
        return None
    return text[1:-1] if text[0] in "\"'" else text.rstrip(",;]).") or None


def _concern(name: str, where: str) -> str | None:
    """A note about a flag that we do not use but that may concern NUMA."""
    if near := nearest(name, FLAGS, 0.85):
        return f"{where}: {shown('--' + name)} is unknown, and passed over; did you mean --{near}?"
    return f"{where}: {shown('--' + name)} is passed over" if _OF_NUMA.search(name) else None
