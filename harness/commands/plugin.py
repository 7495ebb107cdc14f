"""`numaproof plugin`: a fake device plugin as a program."""

import argparse

from numaproof.errors import UserError
from numaproof.harness.arguments import Parser
from numaproof.plugins_mock import PluginError, program


def add_arguments(parser: Parser) -> None:
    """Declare the arguments."""
    program.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM; the answer is the exit code."""
    try:
        return program.run(args)
    except PluginError as error:
        raise UserError(str(error)) from error
