"""`numaproof image`: the image that the docker runtime starts programs from."""

import argparse
import json

from numaproof.harness.arguments import Parser
from numaproof.harness.commands.live_line import steps_told
from numaproof.harness.runtimes.image.build import ensure_image

EXAMPLES = ("numaproof image",)


def add_arguments(parser: Parser) -> None:
    """How to tell; the image is named by the hash of what goes into it."""
    parser.add_argument("--json", action="store_true", help="as JSON: `image`, its tag")


def run(args: argparse.Namespace) -> int:
    """Find or build the image, and print its tag."""
    with steps_told() as tell:
        tag = ensure_image(tell)
    print(json.dumps({"image": tag}) if args.json else tag)
    return 0
