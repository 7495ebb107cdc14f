"""A mapping of a machine file, read strictly: each value has a place, each key is known, each type is checked."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import yaml

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.fake_sysfs.sizes import parse_size

T = TypeVar("T")
_MAX_DEPTH = 100


class _Loader(yaml.BaseLoader):
    """All scalars stay text (YAML would read `07:00.0` as a number to the base 60), and no key is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a plain word", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} is there twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(text: str, place: str) -> Mapping[str, Any]:
    """The mapping that a YAML text holds, all scalars as text; MachineError when it holds anything else."""
    if _depth(text) > _MAX_DEPTH:
        raise MachineError(f"{place}: is nested too deeply; a machine file has a handful of levels")
    try:
        data = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise MachineError(f"{place}{line}: is no YAML: {problem}") from error
    except RecursionError as error:
        raise MachineError(f"{place}: is nested too deeply; a machine file has a handful of levels") from error
    if not isinstance(data, dict):
        raise MachineError(f"{place}: holds no mapping; write keys such as `preset:` or `packages:`")
    return data


def _depth(text: str) -> int:
    """How deeply brackets are nested: the parser takes time by the square of it, so it is asked before."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


class Section:
    """One mapping at a place; unknown keys are refused at once."""

    def __init__(self, place: str, data: object, known: tuple[str, ...]) -> None:
        self.place = place
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            raise MachineError(f"{place}: {_short(data)} is no mapping; its keys are {', '.join(known)}")
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise MachineError(f"{place}: unknown key {unknown[0]!r}; the known ones are {', '.join(known)}")

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def at(self, key: str) -> str:
        return f"{self.place}: {key}"

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

    def items(self, key: str) -> Iterator[tuple[str, Any]]:
        """The elements of a list, each with its place."""
        value = self.data.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "must be a list")
        for index, item in enumerate(value):
            yield f"{self.at(key)}[{index}]", item

    def pairs(self, key: str) -> Iterator[tuple[str, str, Any]]:
        """The entries of a mapping whose keys are free: place, key, value."""
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "must be a mapping")
        for name, item in value.items():
            yield f"{self.at(key)}: {name}", name, item

    def _parsed(self, key: str, default: T, parse: Callable[[str], T]) -> T:
        if key not in self.data:
            return default
        return parsed(self.data[key], self.at(key), parse)


def parsed(value: object, place: str, parse: Callable[[str], T]) -> T:
    """A scalar read by `parse`, whose ValueError becomes one line with the place."""
    if not isinstance(value, str):
        raise MachineError(f"{place}: {_short(value)}: must be a single value")
    try:
        return parse(value)
    except ValueError as error:
        raise MachineError(f"{place}: {error}") from error


def whole_number(value: object, place: str, minimum: int = 0) -> int:
    """An integer written in decimal or 0x-hexadecimal, at least `minimum`."""
    number = parsed(value, place, _integer)
    if number < minimum:
        raise MachineError(f"{place}: {number}: must be at least {minimum}")
    return number


def _integer(text: str) -> int:
    bare = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", bare):
        return int(bare, 16)
    if re.fullmatch(r"[+-]?[0-9]{1,19}", bare):
        return int(bare)
    raise ValueError(f"{_short(text)}: is no whole number")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
