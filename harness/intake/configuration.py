"""A kubelet's configuration in any form that people have it in: YAML, JSON, /configz, flags, or a part of these."""

import difflib
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import LARGEST, Where, YamlError, load_all
from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import with_flags
from numaproof.harness.decision.kubelet_keys import USED, WITHOUT_EFFECT
from numaproof.harness.intake.command_line import (
    CommandLine,
    names_flags,
    read_command_line,
    read_logged_flags,
    shows_flags,
)
from numaproof.harness.intake.loose_json import elision_note, read_json
from numaproof.harness.intake.paste import cleaned, is_elision, shown

_VERSION = "kubelet.config.k8s.io/v1beta1"
_FORMS = "a KubeletConfiguration, the answer of /configz, or a kubelet's command line"
_LINE = re.compile(r"([ ]*)(?:- )?[\"']?([A-Za-z]{3,60})[\"']?:(?:[ \t]|\Z)")
_DEEPEST = 6  # levels below which a configuration is found: spec.kubeletConfig, data.kubelet
_MOST_SHOWN = 4


def read_configuration(text: str, where: str) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """The settings of a text, and what was passed over in it; a UserError if there is none in it."""
    settings, notes, files = read_with_files(text, where)
    notes += tuple(f"{where}: names the configuration {shown(one)}, which is not given here" for one in files)
    return settings, notes


def read_with_files(text: str, where: str) -> tuple[dict[str, Setting], tuple[str, ...], tuple[str, ...]]:
    """The settings, the notes, and the configuration files that a command line names."""
    text = cleaned(text, where)
    if shows_flags(text):
        line = read_logged_flags(text, where)
        return line.settings, line.notes, line.config_files
    # A brace and a word without quotes are YAML.
    if re.match(r"\s*\{(?!\s*[A-Za-z])", text) or '"kubeletconfig"' in text or re.match(r'\s*"[A-Za-z]{3,60}"\s*:', text):
        return _of_json(text, where)
    plain = "\n".join(line for line in text.split("\n") if not names_flags(line) and not line.endswith("\\"))
    flags = read_command_line(text, where) if names_flags(text) else CommandLine({}, (), ())
    has_keys = any(found[2] in USED for line in plain.split("\n") if (found := _LINE.match(line)))
    if (flags.settings or flags.config_files) and not has_keys:
        return flags.settings, flags.notes, flags.config_files
    settings, notes, files = _of_yaml(plain, where)
    return with_flags(settings, flags.settings), (*notes, *flags.notes), (*files, *flags.config_files)


def _of_json(text: str, where: str) -> tuple[dict[str, Setting], tuple[str, ...], tuple[str, ...]]:
    read = read_json(text, where)
    notes = [*read.notes, *(elision_note(where, one) for one in read.elided)]
    return _found_in([(one, Where(where)) for one in read.values], where, notes)


def _of_yaml(text: str, where: str) -> tuple[dict[str, Setting], tuple[str, ...], tuple[str, ...]]:
    if len(text) > LARGEST:
        raise UserError(f"{where}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    lines = [line.rstrip().expandtabs(4) for line in text.split("\n")]
    elisions = [line for line in lines if is_elision(line)]
    notes = [f'{where}: lines are elided ("{elisions[0].strip()[:20]}")'] if elisions else []
    text = textwrap.dedent("\n".join("" if is_elision(line) else line for line in lines))
    try:
        documents = [(one.value, one.where) for one in load_all(text, where)]
        tables = [one for one in documents if isinstance(one[0], dict)]
        if not tables:
            raise UserError(f"{where}: is not a kubelet's configuration; give {_FORMS}")
    except YamlError as error:
        # A part of a file, perhaps between other lines: each key that we use, with what stands below it.
        tables = [(dict(_pieces(text, where)), Where(where))]
        if not tables[0][0]:
            raise error from None
        notes.append(f"{where}: is not whole; the keys that we know are read from its lines")
    return _found_in(tables, where, notes)


def _pieces(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Every key of ours that opens a line, with its value, where that much is YAML."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None or found[2] not in USED:
            continue
        indent = len(found[1])
        block = [line[indent:]]
        for below in lines[number + 1 :]:
            if below.strip() and len(below) - len(below.lstrip()) <= indent and not below.lstrip().startswith("- "):
                break
            block.append(below[indent:])
        try:
            (document,) = load_all("\n".join(block), where)
        except (YamlError, ValueError):
            continue
        if isinstance(document.value, dict):
            yield from document.value.items()


def _found_in(
    documents: list[tuple[Any, Where]], where: str, notes: list[str]
) -> tuple[dict[str, Setting], tuple[str, ...], tuple[str, ...]]:
    """The settings of the document that is, or holds, a kubelet's configuration."""
    settings: dict[str, Setting] = {}
    files: tuple[str, ...] = ()
    known = False
    for value, place in documents:
        for table, here in _tables(value, place, 0):
            line = _arguments(table, where)
            if line is not None:
                known = True
                settings = with_flags(settings, line.settings)
                notes += line.notes
                files += line.config_files
            if table.get("kind") == "KubeletConfiguration" or not USED.isdisjoint(table) or _misspelt(table):
                known = True
                settings |= _settings(table, here, where, notes)
    if not known:
        raise UserError(f"{where}: is not a kubelet's configuration; give {_FORMS}")
    return settings, tuple(dict.fromkeys(notes)), files


def _tables(value: Any, place: Where, depth: int) -> Iterator[tuple[dict[str, Any], Where]]:
    """Every table at or below a value; what belongs to a configuration's own keys is not looked into."""
    if isinstance(value, dict):
        yield value, place
        if depth < _DEEPEST and USED.isdisjoint(value):
            for key, inner in value.items():
                yield from _tables(inner, place.at(key), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for index, inner in enumerate(value):
            yield from _tables(inner, place.at(index), depth + 1)
    elif isinstance(value, str) and "\n" in value and depth < _DEEPEST:
        # A ConfigMap has the file as a text.
        try:
            documents = load_all(value, str(place))
        except YamlError:
            return
        for document in documents:
            yield from _tables(document.value, document.where, _DEEPEST)


def _arguments(table: Mapping[str, Any], where: str) -> CommandLine | None:
    """Flags as k3s, rke2 and kubeadm have them in their own files."""
    texts = []
    for key in ("kubelet-arg", "kubeletExtraArgs", "kubelet-args", "extraArgs", "kubeletArguments"):
        value = table.get(key)
        if isinstance(value, Mapping):
            texts += [f"--{name}={_first(one)}" for name, one in value.items()]
        elif isinstance(value, str):
            texts.append(f"--{value.removeprefix('--')}")
        elif isinstance(value, list):
            for one in value:
                told = f"{one.get('name')}={one.get('value')}" if isinstance(one, Mapping) else str(one)
                texts.append(f"--{told.removeprefix('--')}")
    return read_command_line("\n".join(texts), where) if texts else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _misspelt(table: Mapping[str, Any]) -> bool:
    return any(_near(key) for key in table if key not in WITHOUT_EFFECT)


def _near(key: str) -> str | None:
    """The key of ours that a key was perhaps meant to be."""
    if len(key) > 60 or len(key) < 7:
        return None
    return next(iter(difflib.get_close_matches(key, USED, 1, 0.88)), None)


def _settings(table: Mapping[str, Any], here: Where, where: str, notes: list[str]) -> dict[str, Setting]:
    kind, version = table.get("kind", "KubeletConfiguration"), table.get("apiVersion", _VERSION)
    if (kind, version) != ("KubeletConfiguration", _VERSION) and kind == "KubeletConfiguration":
        notes.append(f"{where}: is of {shown(version)}; it is read as {_VERSION}")
    unknown = []
    settings = {}
    for key, value in table.items():
        if key in USED:
            settings[key] = Setting(str(here.at(key)), value)
        elif key not in WITHOUT_EFFECT and key not in ("kind", "apiVersion", "metadata"):
            if near := _near(key):
                notes.append(f"{here.at(key)}: is unknown, and passed over; did you mean {near}?")
            else:
                unknown.append(key[:60])
    if unknown:
        more = f" and {len(unknown) - _MOST_SHOWN} more" if len(unknown) > _MOST_SHOWN else ""
        notes.append(f"{where}: unknown keys are passed over: {', '.join(unknown[:_MOST_SHOWN])}{more}")
    return settings
