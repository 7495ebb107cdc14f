"""The one reader of YAML files that people write: nothing is lost silently, nothing unfolds, every fault has a line.

Stricter than YAML: a key stands once in its mapping and is a plain word; there are no anchors, aliases, merge keys or
tags; depth, size and the length of numbers are bounded; a file holds one document, but where several are asked for.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml.resolver import Resolver

from numaproof.errors import UserError

LARGEST = 4 << 20  # bytes of a file
DEEPEST = 64  # levels: what people write has a handful
LONGEST_NUMBER = 40  # characters
Keys = tuple[str | int, ...]

# libyaml's parser is some ten times as fast; where PyYAML was built without it, its own reads the same.
_Parser: Any = getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader
_OF_A_TAB = re.compile("tab character|cannot start any token")  # what the parsers may say of one
# Dates stay text, as in Kubernetes' own reader.
_KINDS = {f"tag:yaml.org,2002:{name}": name for name in ("null", "bool", "int", "float")}


class YamlError(UserError):
    """A file cannot be read; the text is one line: file and line, what is wrong, the remedy."""


@dataclass(frozen=True, slots=True)
class Where:
    """A position in a file; its text, `file.yaml:12: steps[1].admit`, opens a message."""

    file: str
    lines: Mapping[Keys, int] = field(default_factory=dict)
    keys: Keys = ()

    def at(self, key: str | int) -> "Where":
        """The position of a key of the mapping, or of an element of the list, that stands here."""
        return Where(self.file, self.lines, (*self.keys, key))

    @property
    def line(self) -> int | None:
        """The line of this position, or of what holds it where it is not in the file; None: no file was read."""
        known = (self.lines.get(self.keys[:length]) for length in range(len(self.keys), -1, -1))
        return next((line for line in known if line is not None), None)

    def __str__(self) -> str:
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.keys).removeprefix(".")
        line = self.line
        return self.file + (f":{line}" if line is not None else "") + (f": {path}" if path else "")


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds, and where each part of it stands."""

    value: Any
    where: Where


def read(path: Path, *, typed: bool = True, largest: int = LARGEST) -> Document:
    """The document of a file; a YamlError if there is none to be read."""
    return load(_content(path, largest), str(path), typed=typed)


def read_all(path: Path, *, largest: int = LARGEST) -> list[Document]:
    """Every document of a file; an empty one is left out."""
    return load_all(_content(path, largest), str(path))


def _content(path: Path, largest: int) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise YamlError(f"{path}: is larger than {largest} bytes; give the file that was meant, or a part of it")
        return content.decode()
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: is not UTF-8 text (byte {error.start}); write YAML") from None
    except OSError as error:
        raise YamlError(f"{path}: cannot be read ({error.strerror}); give a file in YAML") from None


def load(text: str, file: str, *, typed: bool = True) -> Document:
    """The one document of a text; without `typed` every scalar stays the text that it is."""
    return _Reading(text, file, typed).document()


def load_all(text: str, file: str) -> list[Document]:
    """Every document of a text; an empty one is left out."""
    return [document for document in _Reading(text, file, True).documents() if document.value is not None]


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _Reading:
    """The events of a text, turned into values one by one."""

    def __init__(self, text: str, file: str, typed: bool) -> None:
        self._text = text
        self._file = file
        self._typed = typed
        self._lines: dict[Keys, int] = {}

    def document(self) -> Document:
        documents = self.documents(most=1)
        return documents[0] if documents else Document(None, Where(self._file, self._lines))

    def documents(self, most: int | None = None) -> list[Document]:
        made: list[Document] = []
        try:
            self._next = _Parser(self._text).get_event
            self._next()  # the stream starts
            event = self._next()
            while isinstance(event, yaml.DocumentStartEvent):
                if most is not None and len(made) == most:
                    raise self._fault(event, "a second document starts; keep one")
                self._lines = {}
                value = self._value(self._next(), ())
                made.append(Document(value, Where(self._file, self._lines)))
                self._next()  # the document ends
                event = self._next()
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            last = self._text.rstrip().count("\n")  # libyaml finds the end of a text behind its last line
            line = f":{min(mark.line, last) + 1}" if mark else ""
            problem = getattr(error, "problem", None) or " ".join(str(error).split())
            if mark and _OF_A_TAB.search(problem) and _is_indented_by_a_tab(self._text, mark.line):
                told = "is indented by a tab, which YAML forbids; write blanks"
                raise YamlError(f"{self._file}{line}: {told}") from None
            raise YamlError(f"{self._file}{line}: is not YAML: {problem}; mend or quote it") from None
        return made

    def _fault(self, event: Any, problem: str) -> YamlError:
        return YamlError(f"{self._file}:{_line(event)}: {problem}")

    def _value(self, event: Any, keys: Keys) -> Any:
        self._lines.setdefault(keys, _line(event))  # of a mapping's entry: the line of its key
        if isinstance(event, yaml.AliasEvent):
            raise self._fault(event, f"*{event.anchor}: aliases are not read; write the value again")
        if event.anchor is not None:
            raise self._fault(event, f"&{event.anchor}: anchors are not read; drop it")
        if event.tag is not None:
            raise self._fault(event, f"{event.tag}: tags are not read; drop it, and quote what shall be text")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if len(keys) >= DEEPEST:
            raise self._fault(event, f"is nested too deeply; {DEEPEST} levels are the most")
        return self._mapping(keys) if isinstance(event, yaml.MappingStartEvent) else self._list(keys)

    def _list(self, keys: Keys) -> list[Any]:
        made: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            made.append(self._value(event, (*keys, len(made))))
        return made

    def _mapping(self, keys: Keys) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.anchor is not None or event.tag is not None:
                raise self._fault(event, "a key must be a plain word")
            key = event.value
            if key == "<<" and event.implicit[0]:
                raise self._fault(event, "<<: merge keys are not read; write the keys again")
            if key in made:
                raise self._fault(event, f"{_short(key)} is there twice in one mapping; keep one")
            self._lines[(*keys, key)] = _line(event)
            made[key] = self._value(self._next(), (*keys, key))
        return made

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if not (self._typed and event.implicit[0]):
            return text
        try:
            return _typed(text)
        except ValueError as error:
            raise self._fault(event, str(error)) from None


def _is_indented_by_a_tab(text: str, number: int) -> bool:
    lines = text.split("\n")
    line = lines[number] if number < len(lines) else ""
    return "\t" in line[: len(line) - len(line.lstrip())]


@lru_cache(maxsize=4096)
def _typed(text: str) -> Any:
    """The value of a scalar without quotes, by YAML 1.1's rules; a ValueError if it is a number beyond reason."""
    known = Resolver.yaml_implicit_resolvers.get(text[:1], ())
    kind = next((_KINDS.get(tag) for tag, pattern in known if pattern.match(text)), None)
    if kind in ("null", "bool"):
        return None if kind == "null" else text.lower() in ("yes", "true", "on")
    if kind is None:
        return text
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"{_short(text)} is a number of {len(text)} characters; {LONGEST_NUMBER} are the most")
    number = yaml.safe_load(text)
    if not math.isfinite(number):
        raise ValueError(f"{_short(text)} is not a finite number; give one, or quote it")
    return number


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
