"""`numaproof schema`: the JSON Schema of a kind of file, for editors."""

import argparse
import json

from numaproof.errors import UserError
from numaproof.harness.commands.editor_schema import KINDS, schema_of
from numaproof.near import did_you_mean

EXAMPLES = (
    "numaproof schema",
    "numaproof schema scenario > scenario.schema.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"one of {', '.join(KINDS)}; without it, a list")


def run(args: argparse.Namespace) -> int:
    """Print a schema, or which there are."""
    if args.kind is not None and args.kind not in KINDS:
        meant = did_you_mean(args.kind, KINDS) or f"; give one of {', '.join(KINDS)}"
        raise UserError(f"schema {args.kind[:60]!r}: there is none{meant}")
    if args.kind is None:
        for kind, (about, page, _) in KINDS.items():
            print(f"{kind:10}{about} ({page})")
    else:
        print(schema_text(args.kind), end="")
    return 0


def schema_text(kind: str) -> str:
    """The schema of a kind of file as it is published."""
    return json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
