"""A mapping of a machine file, read strictly: each value has a position, each key is known, each type is checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.sizes import parse_size
from numaproof.fake_sysfs.strict_yaml import Document, Where, YamlError, load, read

T = TypeVar("T")


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
    """One mapping of a file; unknown keys are refused at once."""

    def __init__(self, where: Where, data: object, known: tuple[str, ...]) -> None:
        self.where = where
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            raise MachineError(f"{where}: {_short(data)} is not a mapping; its keys are {', '.join(known)}")
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise MachineError(f"{where.at(unknown[0])}: unknown key; the known ones are {', '.join(known)}")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def at(self, key: str) -> Where:
        """The position of a key, for messages."""
        return self.where.at(key)

    def wrong(self, key: str, remedy: str) -> MachineError:
        """What to raise about the value of a key."""
        return MachineError(f"{self.at(key)}: {_short(self.data.get(key))}: {remedy}")

    def text(self, key: str, default: str) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "must be a text")
        return value

    def integer(self, key: str, default: int, minimum: int = 0) -> int:
        """A whole number, decimal or 0x-hexadecimal."""
        if key not in self.data:
            return default
        return whole_number(self.data[key], self.at(key), minimum)

    def size(self, key: str, default: int) -> int:
        """Bytes, cut down to whole kB, which is as fine as the kernel says it."""
        return self._parsed(key, default, parse_size) // 1024 * 1024

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
