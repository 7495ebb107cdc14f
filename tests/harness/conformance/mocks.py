"""Fake plugins as subjects: real processes, forked from one that has gRPC loaded, so that they start at once."""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from numaproof.harness.conformance.subject import SessionDirectories
from numaproof.harness.runtimes.program import Finished
from numaproof.harness.waiting import wait_until
from numaproof.plugins_mock import program

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["numaproof.plugins_mock.program"])


@dataclass(frozen=True, slots=True)
class MockSubject:
    """A fake plugin with these arguments; `{dir}` and `{registry}` stand for the session's directories."""

    arguments: tuple[str, ...]

    def start(self, directories: SessionDirectories) -> "ForkedMock":
        """Start it in a session's directories."""
        words = [
            word.replace("{dir}", str(directories.plugins)).replace("{registry}", str(directories.registry))
            for word in self.arguments
        ]
        return ForkedMock(words)

    def shell(self, command: str) -> list[str]:
        """What runs a shell command beside it."""
        return ["sh", "-c", command]


class ForkedMock:
    """A fake plugin in a process of its own; see numaproof.harness.runtimes.program.Running."""

    def __init__(self, arguments: list[str]) -> None:
        descriptor, name = tempfile.mkstemp(prefix="np-mock-")
        os.close(descriptor)
        self._output = Path(name)
        self._process = _context.Process(target=_serve, args=(arguments, name), daemon=True)
        self._process.start()
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._process.kill()
        self._process.join()
        self._last = self.output()
        self._output.unlink(missing_ok=True)

    def poll(self) -> int | None:
        """Its exit code; None: it still runs."""
        code = self._process.exitcode
        return 128 - code if code is not None and code < 0 else code

    def terminate(self) -> None:
        """SIGTERM."""
        self._process.terminate()

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended."""
        wait_until(lambda: self.poll() is not None, timeout=timeout, what="the end of the mock")
        code = self.poll()
        assert code is not None
        return code

    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text() if self._output.exists() else self._last

    def execute(self, command: Sequence[str], timeout: float = 60) -> Finished:
        """Run a command beside it."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        return Finished(done.returncode, done.stdout + done.stderr)


def _serve(arguments: list[str], output: str) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    parser = argparse.ArgumentParser(prog="mock")
    program.add_arguments(parser)
    code = program.run(parser.parse_args(arguments))
    sys.stdout.flush()
    os._exit(code)
