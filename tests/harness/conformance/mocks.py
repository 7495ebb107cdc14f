"""Fake plugins as subjects: real processes, forked from a warm one, so that they start at once."""

import atexit
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from numaproof.harness.conformance.subject import SessionDirectories
from numaproof.harness.rig.session import WARM
from numaproof.harness.runtimes import Program, Running
from numaproof.harness.runtimes.local import ProcessRuntime
from numaproof.harness.runtimes.trees import HOST
from numaproof.harness.runtimes.warm.process import WarmProcess
from tests.places import short_directory

REPOSITORY = str(Path(__file__).parents[3])


@cache
def _warm_process() -> WarmProcess:
    """The process that all mocks of these tests are forked from; it ends with them."""
    ending = ExitStack()
    atexit.register(ending.close)
    socket = ending.enter_context(short_directory()) / "h"
    program = Program((sys.executable, *WARM, str(socket)), environment={"PYTHONPATH": REPOSITORY})
    process = WarmProcess(ProcessRuntime(), program, socket, HOST, "/")
    ending.callback(process.close)
    return process


@dataclass(frozen=True, slots=True)
class MockSubject:
    """A fake plugin with these arguments; `{dir}` and `{registry}` stand for the session's directories."""

    arguments: tuple[str, ...]

    def start(self, directories: SessionDirectories) -> Running:
        """Start it in a session's directories."""
        words = [
            word.replace("{dir}", str(directories.plugins)).replace("{registry}", str(directories.registry))
            for word in self.arguments
        ]
        process = _warm_process()
        return process.start([*process.numaproof, "plugin", *words])

    def shell(self, command: str) -> list[str]:
        """What runs a shell command beside it."""
        return ["sh", "-c", command]

    @property
    def meeting_place(self) -> str:
        """Where it meets the kubelet, in words."""
        return "{dir}"
