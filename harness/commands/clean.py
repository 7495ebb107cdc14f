"""`numaproof clean`: removes what killed runs left behind; what is in use stays."""

import argparse
import json

from numaproof.harness.arguments import Parser
from numaproof.harness.runtimes.docker import engine_answers, reap_abandoned
from numaproof.harness.runtimes.engine.cgroups import remove_abandoned_cgroups
from numaproof.harness.runtimes.scratch import remove_stale

EXAMPLES = ("numaproof clean",)


def add_arguments(parser: Parser) -> None:
    """How to tell; a run's directory is locked as long as the run lives."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="as JSON: `removed`, each with kind (directory, control group or container) and name",
    )


def run(args: argparse.Namespace) -> int:
    """Remove abandoned directories, then the containers and control groups whose directory is gone, and say which."""
    removed = [("directory", str(directory)) for directory in remove_stale()]
    removed += [("control group", str(name)) for name in remove_abandoned_cgroups()]
    if engine_answers():
        removed += [("container", name) for name in reap_abandoned()]
    if args.json:
        print(json.dumps({"removed": [{"kind": kind, "name": name} for kind, name in removed]}, indent=2))
    else:
        lines = (f"removed {name}" if kind == "directory" else f"removed {kind} {name}" for kind, name in removed)
        print("\n".join(lines) or "nothing was left behind")
    return 0
