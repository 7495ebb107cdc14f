"""A kubelet's configuration in any form that people have it in: YAML, JSON, /configz, flags, or a part of these.

It is looked for in whatever holds it: a ConfigMap's text, the files of OpenShift, kubeadm, k3s, k0s, kind, Talos, kops.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import cleaned, is_elision, shown
from numaproof.fake_sysfs.strict_yaml import LARGEST, Where, YamlError, load_all
from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import FLAGS
from numaproof.harness.decision.kubelet_keys import USED
from numaproof.harness.intake.command_line import (
    FILE_FLAGS,
    CommandLine,
    command_line_of,
    names_flags,
    read_command_line,
    read_logged_flags,
    shows_flags,
)
from numaproof.harness.intake.loose_json import elision_note, read_json
from numaproof.harness.intake.loose_yaml import pieces
from numaproof.harness.intake.settings import FORMS, KIND, Found, Gathered

_KEY = re.compile(rf"\b(?:{'|'.join(sorted(USED))})\b[\"'`]?[ \t]*[:=]")
_JSON_FIRST = re.compile(r"\s*(?:[{\[]\s*)?\"")
_JSON_LINE = re.compile(r"^[ \t]*(?:[{\[][ \t]*(?:\"|$)|\"[A-Za-z]{3,60}\"[ \t]*:)", re.MULTILINE)
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')  # noqa: RUF001 (those of word processors)
_DEEPEST = 8  # levels below which a configuration is found: nodes[].kubeadmConfigPatches[].nodeRegistration
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # the same again, perhaps an older one
# What belongs to other programs: kubeadm, kops, rke.
_OTHER_PROGRAMS = frozenset(
    (
        *("apiServer", "controllerManager", "scheduler", "etcd", "proxy"),
        *("kubeAPIServer", "kubeControllerManager", "kubeScheduler", "kubeProxy"),
        *("kube-api", "kube-controller", "kube-proxy"),
    )
)
_ARGUMENTS = ("kubelet-arg", "kubelet-args", "kubeletExtraArgs", "kubeletArguments")
_ARGUMENTS_OF_KUBELET = ("extraArgs", "extra_args", "flags")  # below a key `kubelet`
_PROFILE = "PerformanceProfile"


def read_configuration(text: str, where: str) -> tuple[dict[str, Setting] | None, tuple[str, ...]]:
    """The settings of a text (None: it only says who has them), and what was passed over in it.

    A UserError if it is something else.
    """
    settings, notes, files = read_with_files(text, where)
    return settings, (*notes, *map(elsewhere_text, files))


def elsewhere_text(file: str) -> str:
    """What has to be said of a configuration that flags name."""
    return f"the configuration {shown(file)} is named by flags, and is not given"


def read_with_files(text: str, where: str) -> Found:
    """The settings, the notes, and the configuration files that a command line names."""
    text = cleaned(text, where)
    gathered = Gathered(where)
    if shows_flags(text):
        gathered.add_flags(read_logged_flags(text, where))
        if not gathered.known:
            gathered.notes.append(f"{where}: all flags are at their defaults, and no configuration file is named")
        return gathered.found()
    flags = read_command_line(text, where)
    is_flags = bool(flags.settings or flags.config_files)
    if is_flags:
        text = "\n".join("" if line.endswith("\\") or names_flags(line) else line for line in text.split("\n"))
    if not is_flags or _KEY.search(text):
        try:
            _read(text, where, gathered)
        except UserError:
            if not is_flags:
                raise
    if is_flags:
        gathered.add_flags(flags)
    return gathered.found()


def _read(text: str, where: str, gathered: Gathered) -> None:
    """Gather what a text holds in the form in which it holds something; a UserError if in none."""
    if _JSON_FIRST.match(text):
        readers = [_of_json, _of_yaml]
    else:
        readers = [_of_yaml, _of_json] if _JSON_LINE.search(text) else [_of_yaml]
    faults = []
    for read in readers:
        try:
            documents, notes = read(text, where)
        except UserError as error:
            faults.append(error)
            continue
        _add(documents, gathered)
        if gathered.known:
            gathered.notes[:0] = notes
            return
    for key, value, place, problem in pieces(text.translate(_QUOTES), where, USED):
        gathered.add_piece(key, value, place, problem)
    if gathered.known:
        gathered.notes.insert(0, f"{where}: is not whole; the keys that we know are read from its lines")
    elif gathered.misspelt:
        raise UserError(gathered.misspelt[0])
    else:
        raise faults[0] if faults else UserError(f"{where}: is not a kubelet's configuration; give {FORMS}")


def _of_json(text: str, where: str) -> tuple[list[tuple[Any, Where]], list[str]]:
    read = read_json(text, where)
    notes = [*read.notes, *(elision_note(where, one) for one in read.elided)]
    return [(one, Where(where)) for one in read.values], notes


def _of_yaml(text: str, where: str) -> tuple[list[tuple[Any, Where]], list[str]]:
    if len(text) > LARGEST:
        raise UserError(f"{where}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    lines = [line.rstrip().expandtabs(4) for line in text.translate(_QUOTES).split("\n")]
    elisions = [line for line in lines if is_elision(line)]
    notes = [f'{where}: lines are elided ("{elisions[0].strip()[:20]}")'] if elisions else []
    text = textwrap.dedent("\n".join("" if is_elision(line) else line for line in lines))
    return [(one.value, one.where) for one in load_all(text, where)], notes


def _add(documents: Iterable[tuple[Any, Where]], gathered: Gathered) -> None:
    for value, place in documents:
        for table, here in _tables(value, place, _DEEPEST):
            for line in _arguments(table, here):
                gathered.add_flags(line)
            gathered.add(table, here)


def _tables(value: Any, place: Where, depth: int) -> Iterator[tuple[dict[str, Any], Where]]:
    """Every table at or below a value; what belongs to a configuration or to other programs is not looked into."""
    if isinstance(value, str) and depth and ("\n" in value or value.startswith("{")):
        # A ConfigMap has the file as a text.
        try:
            documents = load_all(value, str(place))
        except YamlError:
            return
        for document in documents:
            if not isinstance(document.value, str):
                yield from _tables(document.value, document.where, depth - 1)
        return
    if isinstance(value, dict):
        yield value, place
        if value.get("kind") == _PROFILE:
            raise _not_made(place)
        if value.get("kind") == KIND or not USED.isdisjoint(value):
            return
        inner: Iterable[tuple[str | int, Any]] = (
            one for one in value.items() if one[0] not in _OTHER_PROGRAMS and one[0] != _APPLIED
        )
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    if depth:
        for key, one in inner:
            yield from _tables(one, place.at(key), depth - 1)


def _not_made(place: Where) -> UserError:
    told = f"is a {_PROFILE}, from which an operator makes the configuration"
    return UserError(f"{place}: {told}; give the result of `oc get kubeletconfig -o yaml`")


def _arguments(table: Mapping[str, Any], here: Where) -> Iterator[CommandLine]:
    """Flags as kubeadm, k3s, Talos and others have them in their own files."""
    of_kubelet = not here.keys or here.keys[-1] == "kubelet"
    for key in (*_ARGUMENTS, *(_ARGUMENTS_OF_KUBELET if of_kubelet else ())):
        if table.get(key):
            yield command_line_of(_listed(table[key]), str(here.at(key)))
    # A part of such a file, or what has a flag's name for a key.
    named = {key: value for key, value in table.items() if key in FLAGS}
    if named and not _is_arguments(here):
        yield command_line_of(_listed(named), str(here))


def _is_arguments(here: Where) -> bool:
    return bool(here.keys) and here.keys[-1] in (*_ARGUMENTS, *_ARGUMENTS_OF_KUBELET)


def _listed(given: Any) -> Iterator[tuple[str, str | None]]:
    """The flags of a table, a list or a text."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            for one in value if isinstance(value, list) else (value,):
                yield name, _text(one)
        return
    for one in given if isinstance(given, list) else (given,):
        if isinstance(one, Mapping):
            yield str(one.get("name")), _text(one.get("value"))
        else:
            name, sign, value = str(one).removeprefix("--").partition("=")
            if sign or name in FLAGS or name in FILE_FLAGS:
                yield name.strip(), value or None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):  # kube-reserved: {cpu: 500m}
        return ",".join(f"{name}={one}" for name, one in value.items())
    return None if value is None else str(value)
