"""`numaproof clean`: removes what killed runs left behind; what is in use stays."""

import argparse

from numaproof.harness.arguments import Parser
from numaproof.harness.runtimes.docker import engine_answers, reap_abandoned
from numaproof.harness.runtimes.engine.cgroups import remove_abandoned_cgroups
from numaproof.harness.runtimes.scratch import remove_stale


def add_arguments(parser: Parser) -> None:
    """It takes none: a run's directory is locked as long as the run lives."""


def run(args: argparse.Namespace) -> int:
    """Remove abandoned directories, then the containers and control groups whose directory is gone, and say which."""
    removed = [str(directory) for directory in remove_stale()]
    removed += [f"control group {name}" for name in remove_abandoned_cgroups()]
    if engine_answers():
        removed += [f"container {name}" for name in reap_abandoned()]
    print("\n".join(f"removed {what}" for what in removed) or "nothing was left behind")
    return 0
