"""`numaproof plugin`: a fake device plugin as a program."""

import argparse

from numaproof.errors import UserError
from numaproof.harness.arguments import Parser
from numaproof.plugins_mock import PluginError, program

EXAMPLES = (
    "numaproof plugin gpu --board dgx1-v100 --dry-run",
    "numaproof plugin generic --dir node/device-plugins --count 4 --numa 0,1",
    "numaproof plugin nic --dir node/device-plugins --fault 'Allocate=hang*2'",
    "numaproof plugin generic --list-faults",
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments."""
    program.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM; the answer is the exit code."""
    try:
        return program.run(args)
    except PluginError as error:
        raise UserError(str(error)) from error
