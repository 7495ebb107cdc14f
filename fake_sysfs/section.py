"""A mapping of a machine file, read strictly: each value has a position, each key is known, each type is checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.forms import Form, Shape, matching
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.sizes import SIZE, parse_size
from numaproof.fake_sysfs.strict_yaml import Document, Where, YamlError, load, read
from numaproof.fake_sysfs.validate import PLAIN_NAME
from numaproof.near import did_you_mean

T = TypeVar("T")

# What the getters below take. Every scalar of a machine file reaches them as the text that it is; an editor sees
# numbers, too. 1024 and "1024", 8 and 0x8 are the same.
_WHOLE = {-1: r"[+-]?0*[01]|\+?[0-9]{1,19}", 0: r"\+?[0-9]{1,19}", 1: r"\+?0*[1-9][0-9]{0,18}"}
_HEX = {-1: r"0[xX][0-9a-fA-F]{1,16}", 0: r"0[xX][0-9a-fA-F]{1,16}", 1: r"0[xX]0*[1-9a-fA-F][0-9a-fA-F]{0,15}"}
TEXT = Form({"type": ["string", "number", "boolean", "null"]})
LINE = Form({"type": ["string", "number", "boolean", "null"], "pattern": r"^\S(?:.*\S)?$"})
NAME = Form({**TEXT.words, "pattern": f"^(?:{PLAIN_NAME.pattern})$", "minimum": 0})
NAME_OR_NONE = Form({**NAME.words, "pattern": f"^(?:{PLAIN_NAME.pattern})?$"})
SIZE_TEXT = matching(SIZE, types=("string", "number"), minimum=0, examples=["64GiB", "512MiB", "32KiB"])
CPULIST = Form(
    {
        "type": ["string", "integer"],
        "minimum": 0,
        "pattern": r"^\s*(?:[0-9]+(?:-[0-9]+)?(?:,\s*[0-9]+(?:-[0-9]+)?)*)?\s*$",
    }
)


def whole(least: int = 0) -> Form:
    """A whole number, decimal or 0x-hexadecimal, at least -1, 0 or 1."""
    return Form(
        {"type": ["integer", "string"], "minimum": least, "pattern": rf"^\s*(?:{_WHOLE[least]}|{_HEX[least]})\s*$"}
    )


def choice(*words: str) -> Form:
    """One of several words."""
    return Form({"enum": list(words)})


def load_yaml(text: str, file: str) -> Document:
    """The mapping that a YAML text holds, all scalars as text (YAML would read `07:00.0` as a number to the base 60).

    MachineError when it holds anything else.
    """
    return _mapping(lambda: load(text, file, typed=False))


def read_yaml(path: Path) -> Document:
    """The mapping of a YAML file, likewise."""
    return _mapping(lambda: read(path, typed=False))


def _mapping(read_document: Callable[[], Document]) -> Document:
    try:
        document = read_document()
    except YamlError as error:
        raise MachineError(str(error)) from None
    if not isinstance(document.value, dict):
        file = document.where.file
        raise MachineError(f"{file}: does not hold a mapping; write keys such as `preset:` or `packages:`")
    return document


class Section:
    """One mapping of a file; unknown keys are refused at once.

    What a value may be its shape says: it is what editors are told, too.
    """

    def __init__(self, where: Where, data: object, shape: Shape) -> None:
        self.where = where
        self._keys = shape.keys
        known = shape.keys
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            raise MachineError(f"{where}: {_short(data)} is not a mapping; its keys are {', '.join(known)}")
        unknown = sorted(set(data) - set(known))
        if unknown:
            meant = did_you_mean(unknown[0], known)
            raise MachineError(f"{where.at(unknown[0])}: unknown key; the known ones are {', '.join(known)}{meant}")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def at(self, key: str) -> Where:
        """The position of a key, for messages."""
        return self.where.at(key)

    def wrong(self, key: str, remedy: str) -> MachineError:
        """What to raise about the value of a key."""
        return MachineError(f"{self.at(key)}: {_short(self.data.get(key))}: {remedy}")

    def form(self, key: str) -> Form:
        """What may stand there."""
        return self._keys[key].form

    def text(self, key: str, default: str) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "must be a text")
        return value

    def integer(self, key: str, default: int) -> int:
        """A whole number, decimal or 0x-hexadecimal."""
        least = self._keys[key].form.words["minimum"]
        if key not in self.data:
            return default
        return whole_number(self.data[key], self.at(key), least)

    def size(self, key: str, default: int) -> int:
        """Bytes, cut down to whole kB, which is as fine as the kernel says it."""
        return self._parsed(key, default, parse_size) // 1024 * 1024

    def inner(self, key: str) -> "Section":
        """The mapping that stands there; an empty one, if none does."""
        return Section(self.at(key), self.data.get(key, {}), _shape(self._keys[key].form))

    def each(self, key: str) -> Iterator["Section"]:
        """The elements of a list of mappings."""
        shape = _shape(self._keys[key].form.item())
        for where, item in self.items(key):
            yield Section(where, item, shape)

    def ids(self, key: str) -> tuple[int, ...]:
        return self._parsed(key, (), parse_cpulist)

    def items(self, key: str) -> Iterator[tuple[Where, Any]]:
        """The elements of a list, each with its position."""
        value = self.data.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "must be a list")
        for index, item in enumerate(value):
            yield self.at(key).at(index), item

    def pairs(self, key: str) -> Iterator[tuple[Where, str, Any]]:
        """The entries of a mapping whose keys are free: position, key, value."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "must be a mapping")
        for name, item in value.items():
            yield self.at(key).at(name), name, item

    def _parsed(self, key: str, default: T, parse: Callable[[str], T]) -> T:
        if key not in self.data:
            return default
        return parsed(self.data[key], self.at(key), parse)


def _shape(form: Form) -> Shape:
    """A form that must have keys; where a mapping is one of several forms, that one."""
    for one in (form, *form.words.get("anyOf", ())):
        if isinstance(one, Shape):
            return one
    raise TypeError("a section is read of what has no keys")


def parsed(value: object, where: Where, parse: Callable[[str], T]) -> T:
    """A scalar read by `parse`, whose ValueError becomes one line with the position."""
    if not isinstance(value, str):
        raise MachineError(f"{where}: {_short(value)}: must be a single value")
    try:
        return parse(value)
    except ValueError as error:
        raise MachineError(f"{where}: {error}") from error


def whole_number(value: object, where: Where, minimum: int = 0) -> int:
    """An integer written in decimal or 0x-hexadecimal, at least `minimum`."""
    number = parsed(value, where, _integer)
    if number < minimum:
        raise MachineError(f"{where}: {number}: must be at least {minimum}")
    return number


def _integer(text: str) -> int:
    bare = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", bare):
        return int(bare, 16)
    if re.fullmatch(r"[+-]?[0-9]{1,19}", bare):
        return int(bare)
    raise ValueError(f"{_short(text)}: is not a whole number")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
