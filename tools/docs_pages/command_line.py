"""The reference of the command line: what every command says of itself when it is asked for help."""

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from unittest.mock import patch

from numaproof.harness.cli import main
from numaproof.harness.commands.catalogue import COMMANDS

_COLUMNS = "100"


def page() -> str:
    """Every command and every action of it, with its `--help`."""
    with patch.dict(os.environ, {"COLUMNS": _COLUMNS, "NO_COLOR": "1"}):
        parts = ["# The command line\n\nEvery command, as `--help` shows it.\n", _section(parser_of(None), 2, top=True)]
        for name in COMMANDS:
            parts += [_section(parser, level) for parser, level in _with_actions(parser_of(name), 2)]
    return "\n".join(parts)


def parser_of(command: str | None) -> argparse.ArgumentParser:
    """The parser that answers `numaproof COMMAND --help`, or `numaproof --help`."""
    asked: list[argparse.ArgumentParser] = []
    noting = patch.object(argparse.ArgumentParser, "print_help", lambda self, file=None: asked.append(self))
    with noting, suppress(SystemExit):
        main([*([command] if command else []), "--help"])
    [parser] = asked
    return parser


def _with_actions(parser: argparse.ArgumentParser, level: int) -> Iterator[tuple[argparse.ArgumentParser, int]]:
    yield parser, level
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                yield from _with_actions(inner, level + 1)


def _section(parser: argparse.ArgumentParser, level: int, *, top: bool = False) -> str:
    title = "numaproof" if top else parser.prog
    return f"{'#' * level} {title}\n\n```text\n{parser.format_help().rstrip()}\n```\n"
