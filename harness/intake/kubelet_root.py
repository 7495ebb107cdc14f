"""What an operator copied of a kubelet's root: a directory, an archive, or a text with its files in a row."""

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import LARGEST
from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import with_flags
from numaproof.harness.intake.configuration import read_with_files
from numaproof.harness.intake.contradictions import contradictions
from numaproof.harness.intake.cpu_state import read_cpu_state
from numaproof.harness.intake.device_state import read_device_state
from numaproof.harness.intake.drop_ins import with_drop_in
from numaproof.harness.intake.gathered import LARGEST_OTHER, Gathered, gather
from numaproof.harness.intake.memory_state import read_memory_state
from numaproof.harness.intake.recognition import (
    STATE_FILES,
    Kind,
    flags_order,
    is_configuration,
    kind_by_name,
    kinds_by_words,
    parts_of,
)
from numaproof.harness.intake.state import KubeletState, merge

_LOOKED_FOR = (
    "cpu_manager_state, memory_manager_state, device-plugins/kubelet_internal_checkpoint, config.yaml, "
    "kubeadm-flags.env, kubelet.conf.d"
)
_READERS: Mapping[Kind, Callable[[str, str], KubeletState]] = {
    "cpu": read_cpu_state,
    "memory": read_memory_state,
    "devices": read_device_state,
}
_CONFIGURATION: tuple[Kind, ...] = ("configz", "config", "drop-in", "flags")
_MOST_OTHERS = 500  # files that are looked into as their names say nothing
_BYTES_OF_OTHERS = 32 << 20


@dataclass(frozen=True, slots=True)
class KubeletRoot:
    """What it says; the state has notes of its own."""

    settings: dict[str, Setting] | None  # None: there is no configuration
    state: KubeletState
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A file, or a part of one."""

    name: str  # below the root; empty: it is the only one
    where: str  # what a message about it begins with
    text: str

    @property
    def depth(self) -> int:
        return self.name.count("/")


@dataclass(slots=True)
class _Found:
    """What there is, by what it is, the nearest to the top first."""

    parts: dict[Kind, list[_Part]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, kind: Kind, part: _Part) -> None:
        self.parts.setdefault(kind, []).append(part)

    def of(self, kind: Kind) -> list[_Part]:
        return self.parts.get(kind, [])

    @property
    def has_configuration(self) -> bool:
        return any(kind in self.parts for kind in _CONFIGURATION)


def read_kubelet_root(path: str) -> KubeletRoot:
    """The configuration and the state files that a path holds; a UserError if there is nothing of a kubelet."""
    gathered = gather(path, lambda name: kind_by_name(name) is not None)
    found = _Found()
    if isinstance(gathered, bytes):
        for kind, text in parts_of(_decoded(gathered, path, found), path):
            found.add(kind, _Part("", path, text))
    else:
        found.notes += gathered.notes
        _find_by_name(gathered, found)
        _find_by_words(gathered, found)
    states = [read(part.text, part.where) for kind, read in _READERS.items() if (part := _the_one(kind, found))]
    settings = _settings(found)
    if not states and settings is None:
        why = f" ({found.notes[0]})" if found.notes else ""
        raise UserError(f"{path}: holds nothing of a kubelet{why}; looked for {_LOOKED_FOR}")
    found.notes += [
        f"{path}: {name} is not there; what it would tell is not known"
        for kind, name in STATE_FILES.items()
        if states and kind not in found.parts
    ]
    state = merge(*states)
    state = replace(state, notes=(*state.notes, *contradictions(state)))
    return KubeletRoot(settings, state, tuple(dict.fromkeys(found.notes)))


def _find_by_name(gathered: Gathered, found: _Found) -> None:
    for name in _nearest_first(gathered):
        if kind := kind_by_name(name):
            text = _text(gathered, name, found)
            if text is not None:
                found.add(kind, _Part(name, gathered.place(name), text))


def _find_by_words(gathered: Gathered, found: _Found) -> None:
    """What no name told: files are looked into, as far as something is missing."""
    missing: set[Kind] = {kind for kind in STATE_FILES if kind not in found.parts}
    if not found.has_configuration:
        missing |= {"configz", "config", "flags"}
    looked = size = 0
    for name in _nearest_first(gathered):
        if not missing or looked >= _MOST_OTHERS or size > _BYTES_OF_OTHERS:
            break
        if kind_by_name(name) or not 0 < gathered.sizes[name] <= LARGEST_OTHER:
            continue  # files of /proc and the like have no size, and may wait for ever when they are read
        looked += 1
        size += gathered.sizes[name]
        try:
            content = gathered.content(name)
        except OSError:
            continue
        where = gathered.place(name)
        text = _decoded(content, where, _Found())
        if not missing & kinds_by_words(text):
            continue
        for kind, part in parts_of(text, where):
            if kind in missing:
                found.add(kind, _Part(name, where, part))
                what = STATE_FILES.get(kind, "configuration").rpartition("/")[2]
                found.notes.append(f"{where}: is taken for a kubelet's {what}, by what it says")


def _nearest_first(gathered: Gathered) -> list[str]:
    return sorted(gathered.sizes, key=lambda name: (name.count("/"), name.split("/")))


def _text(gathered: Gathered, name: str, found: _Found) -> str | None:
    """What a file says; None, with a note: nothing that can be read."""
    where = gathered.place(name)
    if gathered.sizes[name] > LARGEST:
        found.notes.append(f"{where}: is larger than {LARGEST >> 20} MiB, and is passed over")
        return None
    try:
        content = gathered.content(name)
    except OSError as error:
        found.notes.append(f"{where}: cannot be read ({error.strerror}); copy it as root")
        return None
    if not content.strip():
        found.notes.append(f"{where}: is empty")
        return None
    return _decoded(content, where, found)


def _decoded(content: bytes, where: str, found: _Found) -> str:
    """A file's text; what Windows saves is in UTF-16."""
    encoding = "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    text = content.decode(encoding, "replace")
    if "\ufffd" in text:
        found.notes.append(f"{where}: is not a text everywhere: some bytes are passed over")
    return text


def _the_one(kind: Kind, found: _Found) -> _Part | None:
    """The part that counts: the nearest to the top, of a single text the last; a UserError if two are equal."""
    parts = found.of(kind)
    if not parts:
        return None
    first = parts[0] if parts[0].name else parts[-1]
    others = [part for part in parts if part is not first and part.text.strip() != first.text.strip()]
    for part in others:
        if not part.name:
            found.notes.append(f"{part.where}: {STATE_FILES[kind]} is there {len(parts)} times; the last one is read")
            break
        if part.depth == first.depth:
            raise UserError(
                f"{part.where}: is of another node than {first.where}, or of another time; give the root of one node"
            )
        found.notes.append(f"{part.where}: is passed over, as {first.where} is nearer to the top")
    return first


def _settings(found: _Found) -> dict[str, Setting] | None:
    """The configuration in force; None: there is none."""
    files: list[str] = []
    read: dict[Kind, list[tuple[_Part, dict[str, Setting]]]] = {}
    for kind in _CONFIGURATION:
        for part in sorted(found.of(kind), key=lambda part: _order(kind, part)):
            if kind == "drop-in" and not part.name.endswith(".conf"):
                found.notes.append(f"{part.where}: does not end in .conf: a kubelet passes it over")
            elif (settings := _read(kind, part, found, files)) is not None:
                read.setdefault(kind, []).append((part, settings))
    if "configz" in read:
        first = read["configz"][0]
        if others := [part.where for kind in _CONFIGURATION for part, _ in read.get(kind, ()) if part is not first[0]]:
            found.notes.append(f"{first[0].where}: is the configuration in force; passed over: {', '.join(others[:4])}")
        return first[1]
    base = _base(read.get("config", []), found)
    if not read:
        return None
    if base is None and files and "drop-in" not in read:
        found.notes.append(f"the configuration {files[0][:200]} is named by flags, and is not among the files")
    settings = base or {}
    for _part, over in read.get("drop-in", ()):
        settings = with_drop_in(settings, over)
    for _part, flags in read.get("flags", ()):
        settings = with_flags(settings, flags)
    return settings


def _order(kind: Kind, part: _Part) -> tuple[object, ...]:
    if kind == "flags":
        return flags_order(part.name)
    return (part.name.split("/"),) if kind == "drop-in" else (part.depth, part.name)


def _base(read: list[tuple[_Part, dict[str, Setting]]], found: _Found) -> dict[str, Setting] | None:
    """The file of --config; a UserError if several nodes have one."""
    if not read:
        return None
    (first, settings), *others = read
    for part, other in others:
        if _values(other) == _values(settings):
            continue
        if part.depth == first.depth and part.name.rpartition("/")[2] == first.name.rpartition("/")[2]:
            raise UserError(f"{part.where}: is of another node than {first.where}; give the root of one node")
        found.notes.append(f"{part.where}: is another configuration, and is passed over: {first.where} counts")
    return settings


def _values(settings: Mapping[str, Setting]) -> dict[str, object]:
    return {key: one.value for key, one in settings.items()}


def _read(kind: Kind, part: _Part, found: _Found, files: list[str]) -> dict[str, Setting] | None:
    """The settings of a part; None: it is something else under such a name."""
    try:
        settings, notes, named = read_with_files(part.text, part.where)
    except UserError:
        if is_configuration(part.text):
            raise
        if kind != "flags":  # an environment file that sets nothing is usual
            found.notes.append(f"{part.where}: is not a kubelet's configuration, and is passed over")
        return None
    found.notes += notes
    files += named
    return settings
