"""The parsers of all commands and subcommands."""

import argparse
from collections.abc import Iterator

from numaproof.harness.arguments import Parser
from numaproof.harness.commands.catalogue import COMMANDS, parser_of


def parsers() -> dict[str, Parser]:
    """Every parser by its words: `machine`, `machine show`, ...; not the one of `numaproof` itself."""
    return dict(_within(parser_of(COMMANDS)))


def _within(parser: Parser) -> Iterator[tuple[str, Parser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command.prog.partition(" ")[2], command
                yield from _within(command)
