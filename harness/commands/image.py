"""`numaproof image`: the image that the docker runtime starts programs from."""

import argparse

from numaproof.harness.arguments import Parser
from numaproof.harness.runtimes.image.build import ensure_image


def add_arguments(parser: Parser) -> None:
    """It takes none: the image is named by the hash of what goes into it."""


def run(args: argparse.Namespace) -> int:
    """Find or build the image, and print its tag."""
    print(ensure_image())
    return 0
