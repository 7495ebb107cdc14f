"""The file in which a repository keeps its options for `numaproof check`."""

import argparse
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where, read
from numaproof.harness.vocabulary import RUNTIMES

OPTIONS_FILE = "numaproof.yaml"
_SECTION = "check"
# Option -> what it holds. A list adds to what the command line says; anything else is overridden by it.
_KINDS: dict[str, type] = {
    "command": list,
    "image": str,
    "runtime": str,
    "machine": str,
    "supervise": bool,
    "bind": list,
    "env": list,
    "device": list,
    "host-network": bool,
    "unhealthy": str,
    "healthy": str,
    "remove-file": str,
    "level": str,
    "strict": bool,
    "exclude": list,
    "features": str,
    "known-failures": str,
    "timeout": float,
    "start-timeout": float,
    "one-by-one": bool,
}
_CHOICES = {"runtime": RUNTIMES, "level": ("must", "should", "may")}


def add_file_options(args: argparse.Namespace) -> Path | None:
    """Take from the file what the command line leaves open; relative paths in it start at the file.

    The answer is the file; None: there is none.
    """
    path: Path = args.config or Path(OPTIONS_FILE)
    if args.config is None and not path.is_file():
        return None
    # A subject on the command line, of whatever kind, replaces the file's.
    has_subject = bool(args.subject or args.image or args.dir or args.socket)
    for key, value in _read(path).items():
        name = "subject" if key == "command" else key.replace("-", "_")
        given = getattr(args, name)
        if key == "known-failures" and given is None:
            args.known_failures = path.parent / value
        elif key in {"command", "image"}:
            if not has_subject:
                setattr(args, name, value)
        elif isinstance(value, list):
            setattr(args, name, [*value, *(given or ())])
        elif given is None:
            setattr(args, name, value)
    return path


def _read(path: Path) -> dict[str, Any]:
    document = read(path)
    content = document.value
    if not isinstance(content, dict) or not isinstance(content.get(_SECTION), dict) or set(content) != {_SECTION}:
        raise UserError(f"{path}: not of the form `{_SECTION}: {{option: value, ...}}`")
    options = content[_SECTION]
    for key, value in options.items():
        where = document.where.at(_SECTION).at(key)
        if key not in _KINDS:
            raise UserError(f"{where}: no such option; known: {', '.join(_KINDS)}")
        _check(where, key, value)
    return {key: value if isinstance(value, list) else _KINDS[key](value) for key, value in options.items()}


def _check(where: Where, key: str, value: Any) -> None:
    kind = _KINDS[key]
    if kind is list:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise UserError(f"{where}: {value!r} is not a list of words; quote numbers")
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(f"{where}: {value!r} is not a number")
    elif not isinstance(value, kind):
        raise UserError(f"{where}: {value!r} is not {'true or false' if kind is bool else 'a word'}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise UserError(f"{where}: {value!r} is unknown; known: {', '.join(_CHOICES[key])}")
