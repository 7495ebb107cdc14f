"""YAML as people paste it: the keys that open its lines, read one by one where the whole cannot be read."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from numaproof.fake_sysfs.strict_yaml import Where, YamlError, load_all

# `key: value`, perhaps with the number or the sign that grep, diff or a list puts in front, or `key = value`.
_LINE = re.compile(
    r"(?P<before>[ ]*(?:[-*•] {1,4}|\+ {0,4}|[0-9]{1,6}[:. ] {0,4}|[\w./-]{1,120}:)?)"
    r"(?P<quote>[\"'`]?)(?P<key>[A-Za-z]{3,60})(?P=quote)[ ]{0,4}(?P<sign>[:=])(?=\s|\Z|(?<==))"
)
_INLINE = re.compile(r"`([A-Za-z]{3,60}[:=][^`\n]{0,200})`")
_LONGEST = 400  # characters of a line
_HIGHEST = 100  # lines of a value
_MOST = 1000  # keys that are read


def pieces(text: str, file: str, keys: Collection[str]) -> Iterator[tuple[str, Any, Where, str]]:
    """Every key that opens a line, its value if it is one of `keys`, its place, and what is wrong with its value."""
    lines = [line.expandtabs(4).rstrip() if len(line) <= _LONGEST else "" for line in text.split("\n")]
    number, left = 0, _MOST
    while number < len(lines) and left:
        line, height = lines[number], 1
        for inline in _INLINE.findall(line) or (line,):
            found = _LINE.match(inline)
            if found is None:
                continue
            left -= 1
            place = Where(file, {(): number + 1}).at(found["key"])
            if found["key"] not in keys:
                yield found["key"], None, place, ""
                continue
            block = _block(lines, number, len(found["before"])) if inline is line else []
            first = f"{found['key']}: {inline[found.end() :].strip()}"
            value, problem, height = _value(first.rstrip(",;"), block)
            yield found["key"], value, place, problem
        number += height


def _block(lines: list[str], number: int, indent: int) -> list[str]:
    """The lines that belong to the key of a line: those that are indented more, and a list's that are not."""
    block = []
    for line in lines[number + 1 : number + _HIGHEST]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent and not line[indent:].startswith("- "):
            break
        block.append(line[indent:])
    return block


def _value(first: str, block: list[str]) -> tuple[Any, str, int]:
    """The value of a key's line with its block, or alone; what is wrong with it; how many lines were read."""
    problem = ""
    for below in (block, []):
        try:
            (document,) = load_all("\n".join([first, *below]), "")
            (value,) = document.value.values()
        except (YamlError, ValueError, AttributeError) as error:
            problem = problem or str(error).partition(" ")[2].split(";")[0]
        else:
            return value, "", 1 + len(below)
    return None, problem, 1
