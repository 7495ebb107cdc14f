"""JSON as people paste it: with comments, trailing commas, prompts, and parts left out or cut off."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import ELISION, cleaned, is_elision, is_prompt, shown

DEEPEST = 64
Keys = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[\s\u200b\ufeff]+|#[^\n]*|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*")
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"|“([^”\\]*)”|\'([^\'\\\n]*)\'', re.DOTALL)
_OPEN_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*\\?\Z', re.DOTALL)
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|[A-Za-z]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
# Where a document may begin: a brace or bracket before what JSON has there, or the members of an object without it.
_START = re.compile(
    r"\{(?=\s*(?:[\"“'}#]|//|\.\.\.|…|<|\[|\Z))|\[(?=\s*(?:[{\[\"\]]|-?[0-9]|\Z))|\"[\w./-]{1,80}\"(?=\s*:\s*(?:[\[{\"0-9]|\.\.\.))"
)
_LINE_START = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_MAY_ELIDE = re.compile(r"\.\.\.|…|<|snip|cut|8<", re.IGNORECASE)
_LONGEST_NUMBER = 40
_MOST_DOCUMENTS = 1000
_MOST_ELISIONS = 10_000


class Elision(NamedTuple):
    """Something was left out in the object or list, or as the value, at `keys`."""

    keys: Keys
    mark: str


@dataclass(frozen=True, slots=True)
class LooseJson:
    """What a text holds."""

    values: tuple[Any, ...]  # of its documents, one after the other
    notes: tuple[str, ...]  # what was mended or passed over, but for the elisions
    elided: tuple[Elision, ...] = ()
    cut: bool = False  # it ends in the middle, or its beginning is missing

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.elided or self.cut)


def read_json(text: str, where: str) -> LooseJson:
    """The documents of a text; a UserError if there is none, or one that cannot be mended."""
    text = cleaned(text, where)
    if not _MAY_ELIDE.search(text):
        try:
            value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        except (ValueError, RecursionError):
            pass
        else:
            if isinstance(value, (dict, list)) and not _is_too_deep(value):
                return LooseJson((value,), ())
    return _Reading(text, where).everything()


def elision_note(where: str, elision: Elision) -> str:
    """A note that says where something was left out."""
    place = path_text(elision.keys)
    return f'{where}: {place + ": " if place else ""}something is elided ("{elision.mark[:20]}")'


def path_text(keys: Keys) -> str:
    """`entries.uid.c[0]`, shortened from the front."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    path = "".join(character if character.isprintable() else "?" for character in path)
    return path if len(path) <= 60 else "..." + path[-57:]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is there twice")  # the loose reader notes it
    return made


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def object_spans(text: str, where: str) -> Iterator[tuple[Any, int, int]]:
    """The objects of a cleaned text that begin at a line's beginning or right behind another, and where they stand."""
    reading = _Reading(text, where)
    end, count = -1, 0
    for start in _LINE_START.finditer(text):
        if start.end() <= end:
            continue
        end = start.end()
        while _START.match(text, end) and text[end] == "{":
            begin, reading.at = end, end
            value = reading.value()
            end = reading.at
            count += 1
            if count > _MOST_DOCUMENTS:
                raise UserError(f"{where}: holds more than {_MOST_DOCUMENTS} documents; give those that matter")
            yield value, begin, end


class _MissingValueError(Exception):
    """There is no value here: it was left out, or the text ends."""


class _Reading:
    """One text, read from its beginning to its end."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.notes: dict[str, None] = {}  # each once, in order
        self.elided: list[Elision] = []
        self.cut = False

    def everything(self) -> LooseJson:
        values = []
        while (start := _START.search(self.text, self.at)) is not None:
            self._pass_over(self.text[self.at : start.start()])
            self.at = start.start()
            values.append(self.value())
            if len(values) > _MOST_DOCUMENTS:
                raise UserError(f"{self.where}: holds more than {_MOST_DOCUMENTS} documents; give those that matter")
            if self.cut and self.at >= len(self.text):
                break
        if not values:
            raise UserError(f"{self.where}: holds no JSON; give the file's content, such as {{...}}")
        self._pass_over(self.text[self.at :])
        return LooseJson(tuple(values), tuple(self.notes), tuple(dict.fromkeys(self.elided)), self.cut)

    def value(self) -> Any:
        """The document that begins here."""
        if self.text[self.at] != '"':
            return self._value((), 0)
        self.cut = True
        self._note("the beginning is missing; read from its first key on")
        return self._members({}, ())

    def _note(self, what: str) -> None:
        self.notes[f"{self.where}: {what}"] = None

    def _pass_over(self, text: str) -> None:
        """What stands between documents: elisions count, brackets are left over, words are noted."""
        lines = [line.strip() for line in text.split("\n")]
        told = [line for line in lines if line and not line.startswith(("#", "//")) and line.strip(",;}] ")]
        elisions = [line for line in told if is_elision(line)]
        self.elided += [Elision((), line) for line in elisions[:1]]
        if others := [line for line in told if not is_elision(line) and not is_prompt(line)]:
            few = "1 line that is not JSON is" if len(others) == 1 else f"{len(others)} lines that are not JSON are"
            self._note(f"{few} passed over, {shown(others[0])}")

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _fault(self, expected: str) -> UserError:
        line = self.text.count("\n", 0, self.at) + 1
        found = self.text[self.at : self.at + 30].split("\n")[0]
        return UserError(f"{self.where}:{line}: is not JSON: {expected} was expected, not {shown(found)}; mend it")

    def _ends(self, keys: Keys) -> bool:
        """Whether the text is over here, in the middle of something."""
        if self.at < len(self.text):
            return False
        if not self.cut or not any("ends in the middle" in note for note in self.notes):
            place = path_text(keys)
            self._note(f"the text ends in the middle{f', in {place}' if place else ''}; what follows is not known")
        self.cut = True
        return True

    def _left_out(self, keys: Keys, mark: str) -> None:
        if len(self.elided) >= _MOST_ELISIONS:
            raise UserError(
                f"{self.where}: something is elided in more than {_MOST_ELISIONS} places; give the file whole"
            )
        self.elided.append(Elision(keys, " ".join(mark.split())))

    def _elision(self, keys: Keys) -> bool:
        """Whether a mark of something left out stands here; it is passed."""
        found = ELISION.match(self.text, self.at)
        if found is None:
            return False
        self._left_out(keys, found[0])
        self.at = found.end()
        return True

    def _value(self, keys: Keys, depth: int) -> Any:
        """The value that stands here; _MissingValueError if it was left out."""
        self._skip()
        if self._ends(keys):
            raise _MissingValueError
        if depth >= DEEPEST:
            raise UserError(f"{self.where}: is nested too deeply; {DEEPEST} levels are the most")
        character = self.text[self.at]
        if character == "{":
            self.at += 1
            return self._members({}, keys, depth)
        if character in "\"“'":
            text = self._string(keys)
            if is_elision(text):
                self._left_out(keys, text)
                raise _MissingValueError
            return text
        if self._elision(keys):
            raise _MissingValueError
        if character == "[":
            self.at += 1
            return self._elements(keys, depth)
        return self._word(keys)

    def _word(self, keys: Keys) -> Any:
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise self._fault("a value")
        word = found[0]
        self.at = found.end()
        if self._ends(keys):
            raise _MissingValueError  # a number or word may have gone on
        if word in _WORDS:
            return _WORDS[word]
        if not _NUMBER.fullmatch(word) or len(word) > _LONGEST_NUMBER:
            self.at = found.start()
            raise self._fault("a value")
        return json.loads(word.lstrip("0") or "0") if word.isdigit() else float(word) if "." in word else _number(word)

    def _string(self, keys: Keys) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            if self.text[self.at] == '"' and _OPEN_STRING.match(self.text, self.at):
                self.at = len(self.text)
                self._ends(keys)
                raise _MissingValueError
            raise self._fault("a text in double quotes")
        start, self.at = self.at, found.end()
        text = found[1] if found[1] is not None else found[2] if found[2] is not None else found[3]
        if "\n" in text:
            self._note("a text that runs over lines is joined")
            text = text.replace("\n", "")
        if "\\" not in text:
            return text
        try:
            return str(json.loads(f'"{text}"', strict=False))
        except ValueError:
            self.at = start
            raise self._fault("a text in double quotes") from None

    def _separator(self, closing: str, keys: Keys, first: bool) -> bool:
        """Go to the next member; whether there is one."""
        commas = 0
        while True:
            self._skip()
            if self._ends(keys):
                return False
            if self.text[self.at] == ",":
                commas += 1
                self.at += 1
            elif self.text[self.at] == closing:
                self.at += 1
                return False
            elif not (self.text[self.at] != '"' and self._bare_elision(closing, keys)):
                break
            else:
                commas += 1
        if not commas and not first:
            self._note("a comma is missing")
        return True

    def _bare_elision(self, closing: str, keys: Keys) -> bool:
        # In a list, a bracket begins an element; in an object it can only be a mark such as [snip].
        if self.text[self.at] == "[" and closing == "]" and not re.match(r"\[\s?[a-z]", self.text[self.at :][:3]):
            return False
        return self._elision(keys)

    def _members(self, made: dict[str, Any], keys: Keys, depth: int = 0) -> dict[str, Any]:
        first = True
        while self._separator("}", keys, first):
            first = False
            if self.text[self.at] not in "\"“'":
                raise self._fault("a key in double quotes")
            try:
                key = self._string(keys)
                self._skip()
                if self._ends(keys):
                    break
                if self.text[self.at] != ":":
                    if is_elision(key):
                        self._left_out(keys, key)
                        continue
                    raise self._fault("a colon")
                self.at += 1
                value = self._value((*keys, key), depth + 1)
            except _MissingValueError:
                continue
            if key in made:
                self._note(f"{path_text((*keys, key))} is there twice; the last one counts")
            made[key] = value
        return made

    def _elements(self, keys: Keys, depth: int) -> list[Any]:
        made: list[Any] = []
        first = True
        while self._separator("]", keys, first):
            first = False
            try:
                made.append(self._value((*keys, len(made)), depth + 1))
            except _MissingValueError:
                continue
        return made


def _number(word: str) -> int | float:
    return float(word) if "e" in word.lower() else int(word)
