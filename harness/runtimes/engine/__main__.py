"""A Docker engine for one command: the one that answers already, or a private one that ends with the command.

python -m numaproof.harness.runtimes.engine COMMAND ARGUMENT...
"""

import contextlib
import os
import shutil
import subprocess
import sys

from numaproof.errors import UserError
from numaproof.harness.runtimes.docker import engine_answers
from numaproof.harness.runtimes.engine.contexts import engine_address
from numaproof.harness.runtimes.engine.private import private_engine


def main(arguments: list[str]) -> int:
    """Run a command with an engine at hand, or without where none can be had; the answer is the command's exit code."""
    if not arguments:
        print(
            "numaproof: no command is given: python -m numaproof.harness.runtimes.engine COMMAND ARGUMENT...",
            file=sys.stderr,
        )
        return 2
    try:
        if engine_answers():
            return _ended(arguments, {"DOCKER_HOST": engine_address(os.environ)})
        if os.geteuid() != 0 or shutil.which("dockerd") is None:
            told = "no Docker engine answers, and only root, with docker.io, starts one: without docker"
            print(f"numaproof: {told}", flush=True)
            return _ended(arguments, {})
        with private_engine() as address:
            return _ended(arguments, {"DOCKER_HOST": address})
    except UserError as error:
        print(f"numaproof: {error}", file=sys.stderr)
        return 2


def _ended(arguments: list[str], environment: dict[str, str]) -> int:
    """A command's exit code, 128 + n after signal n; a Ctrl-C reaches the command too, whose end is awaited."""
    try:
        command = subprocess.Popen(arguments, env={**os.environ, **environment})
    except OSError as error:
        raise UserError(f"{arguments[0]}: cannot be run ({error.strerror}); give a command that can") from error
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            code = command.wait()
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
