"""Files with one mistake each: a key misspelt, or left out, or with a value of a wrong kind, once for every key."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from numaproof.fake_sysfs.forms import Form, Later, Shape
from tests.harness.schemas import yaml12

Path_ = tuple[str | int, ...]
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# What may be wrong with a value: each kind of value that YAML has, and texts and numbers out of range.
WRONG: tuple[Any, ...] = (None, True, -7, 2.5, 0, 3, "", "@", "0-3", [], ["@"], [[]], [3], {}, {"@": "@"}, {"@": []})


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file's text, and what was done to which key of which mapping."""

    mapping: str
    key: str
    done: str
    text: str


def occurrences(form: Form | Later, value: Any, path: Path_ = ()) -> Iterator[tuple[str, Path_]]:
    """Each closed mapping of a value by its name, and free ones by the key that they are at."""
    if isinstance(form, Later):
        form = form.given()
    for one in form.words.get("anyOf", ()):
        if isinstance(one, Form) and one.fits(value):
            yield from occurrences(one, value, path)
            return
    if isinstance(form, Shape) and isinstance(value, dict):
        yield form.name, path
        for key, item in value.items():
            yield from occurrences(form.keys[key].form, item, (*path, key))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from occurrences(form.words.get("properties", {}).get(key, form.item()), item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from occurrences(form.item(), item, (*path, index))


def keys_in(form: Form, files: list[Path]) -> dict[tuple[str, str], tuple[Path, Path_]]:
    """Mapping and key -> where it stands first."""
    found: dict[tuple[str, str], tuple[Path, Path_]] = {}
    for file in files:
        whole = yaml12.load(file.read_text())
        for name, path in occurrences(form, whole):
            for key in _at(whole, path):
                found.setdefault((name, key), (file, path))
    return found


def mutants(form: Form, files: list[Path]) -> Iterator[Mutant]:
    """Every mistake with every key, each once."""
    for (name, key), (file, path) in keys_in(form, files).items():
        whole = yaml12.load(file.read_text())
        here = _at(whole, path)
        others = {other: value for other, value in here.items() if other != key}
        yield Mutant(name, key, "misspelt", _with(whole, path, {**others, f"{key}q": here[key]}))
        yield Mutant(name, key, "removed", _with(whole, path, others))
        for wrong in WRONG:
            yield Mutant(name, key, repr(wrong), _with(whole, path, {**here, key: wrong}))


def _at(value: Any, path: Path_) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(whole: Any, path: Path_, value: Any) -> str:
    """The text of a file in which another value stands at a place."""
    held = {"": copy.deepcopy(whole)}
    *outer, last = ("", *path)
    _at(held, tuple(outer))[last] = value
    return yaml.dump(held[""], Dumper=_Dumper, sort_keys=False, width=1000)


def positions(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place of a value."""
    yield path
    if isinstance(value, dict | list):
        for step, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from positions(one, (*path, step))


def replaced(file: Path) -> Iterator[tuple[Path_, Any, str]]:
    """A file with a wrong value in each of its places, one at a time: for files without keys of ours."""
    whole = yaml12.load(file.read_text())
    for path in positions(whole):
        for wrong in WRONG:
            yield path, wrong, _with(whole, path, wrong)
