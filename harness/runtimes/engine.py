"""A Docker engine for one command: the one that answers already, or a private one that ends with the command.

    python -m harness.runtimes.engine COMMAND ARGUMENT...

The private engine lives in namespaces of its own, so that its containers and mounts end with it, however it ends.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import UserError
from harness.runtimes.docker import engine_answers
from harness.runtimes.launched import NamespaceRuntime
from harness.runtimes.places import remove_stale, run_directory
from harness.runtimes.program import CannotStartError, Program
from harness.waiting import WaitTimeoutError, wait_until

_START_SECONDS = 120
_STOP_SECONDS = 60


@contextmanager
def private_engine() -> Iterator[str]:
    """Start an engine of our own and give its address; it uses no bridge and changes no firewall."""
    remove_stale()
    with run_directory("engine", on_disk=True) as place:
        address = f"unix://{place}/s"
        command = (
            "dockerd",
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
            "--ip-forward=false",
            "--ip-masq=false",
            f"--host={address}",
            f"--data-root={place}/data",
            f"--exec-root={place}/exec",
            f"--pidfile={place}/pid",
        )
        try:
            engine = NamespaceRuntime().start(Program(command))
        except CannotStartError as error:
            raise UserError(f"a private Docker engine cannot be started: {error}") from error
        with engine:
            try:
                wait_until(
                    lambda: engine_answers(address) or engine.poll() is not None,
                    timeout=_START_SECONDS,
                    what="the engine",
                )
            except WaitTimeoutError as error:
                raise UserError(f"the private Docker engine does not answer: {error}") from error
            if engine.poll() is not None:
                raise UserError(f"the private Docker engine ended: {engine.output().strip().splitlines()[-1]}")
            try:
                yield address
            finally:
                # Asked first, so that it removes its cgroups; if it does not end, its namespace does.
                engine.terminate()
                with contextlib.suppress(WaitTimeoutError):
                    engine.wait(_STOP_SECONDS)


def main(arguments: list[str]) -> int:
    """Run a command with an engine at hand, or without where none can be had; the answer is the command's exit code."""
    if engine_answers():
        return subprocess.run(arguments, check=False).returncode
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        print(
            "numaproof: no Docker engine answers, and only root, with docker.io, starts one: without docker", flush=True
        )
        return subprocess.run(arguments, check=False).returncode
    try:
        with private_engine() as address:
            return subprocess.run(arguments, check=False, env={**os.environ, "DOCKER_HOST": address}).returncode
    except UserError as error:
        print(f"numaproof: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
