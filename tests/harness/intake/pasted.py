"""A JSON text as people paste it into an issue."""

import json
from collections.abc import Callable, Iterator

import pytest

from numaproof.errors import UserError

SIZE = 1 << 18  # characters of rubbish: what is quadratic takes hours with it, and what is not a second


def pretty(text: str) -> str:
    """As `jq .` prints it."""
    return json.dumps(json.loads(text), indent=2)


# What people do to a text without taking anything away. The first line of the text is its opening brace.
FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "jq": pretty,
    "a fence": lambda text: f"```json\n{pretty(text)}\n```\n",
    "a fence without a line's end": lambda text: f"```\n{text}\n```",
    "quoted": lambda text: "".join(f"> {line}\n" for line in pretty(text).split("\n")),
    "quoted twice": lambda text: "".join(f"> > {line}\n" for line in pretty(text).split("\n")),
    "root's prompt": lambda text: f"[root@node-1 kubelet]# cat state | jq .\n{pretty(text)}\n[root@node-1 kubelet]# ",
    "a prompt with a path": lambda text: f"root@node:/var/lib/kubelet# cat state\n{text}root@node:/var/lib/kubelet# ",
    "a prompt with a home": lambda text: f"core@node ~ $ sudo cat state\n{text}\n",
    "a debug pod's prompt": lambda text: f"sh-5.1# cat state\n{text}sh-5.1# ",
    "a bare prompt": lambda text: f"$ sudo cat state\n{text}\n$ ",
    "comments": lambda text: pretty(text).replace(",\n", ", // why?\n").replace("{\n", "{ # a\n/* b * */\n", 1),
    "trailing commas": lambda text: pretty(text).replace("\n  }", ",\n  }").replace("\n}", ",\n}"),
    "windows": lambda text: "\ufeff" + pretty(text).replace("\n", "\r\n"),
    "colours": lambda text: pretty(text).replace('"entries"', '\x1b[34;1m"entries"\x1b[0m'),
    "typeset quotes": lambda text: pretty(text).replace('"entries"', "“entries”"),
    "indented": lambda text: "".join(f"    {line}\n" for line in pretty(text).split("\n")),
}

RUBBISH = ["[", '{"a":', "/*", "#", '"\\', "{", '"', "“", "'", "[{", "...", "<", " ", "\n", "//", "{},", "[]", "{}\n"]
RUBBISH += [
    '{"a":"',
    '{"a":{"b":',
    '{"a":1,',
    '{"policyName":',
    "> ",
    "```\n",
    "$ ",
    "a@b:",
    "\\",
    "/**",
    "0",
    "-- snip ",
    "\x1b[",
]


def is_value_or_line(read: Callable[[str, str], object], text: str) -> None:
    """Fails unless the text is read, or refused in one line that names the file."""
    try:
        read(text, "pasted")
    except UserError as error:
        told = str(error)
        assert told.startswith("pasted"), told
        assert "\n" not in told, told
        assert len(told) < 400, told


def prefixes(text: str) -> Iterator[str]:
    """Everything that a text can be after it was cut off."""
    return (text[:length] for length in range(len(text) + 1))


def ends(read: Callable[[str, str], object], unit: str) -> None:
    """A text of nothing but a unit is read to its end or refused: alone, and where an object has begun."""
    for text in (unit * (SIZE // len(unit)), '{"entries":{"uid":' + unit * (SIZE // len(unit))):
        is_value_or_line(read, text)


rubbish = pytest.mark.parametrize("unit", RUBBISH)
forms = pytest.mark.parametrize("form", FORMS)
