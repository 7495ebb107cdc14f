"""A warm process in a runtime, and the programs that it forks."""

import contextlib
import itertools
import json
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from numaproof.harness.runtimes.program import (
    Bind,
    CannotStartError,
    Finished,
    OutputLine,
    Program,
    Running,
    Runtime,
)
from numaproof.harness.runtimes.warm.server import TERMINATE
from numaproof.harness.waiting import wait_until

_START_SECONDS = 120
_END_SECONDS = 60


class WarmProcess:
    """A warm process that sees one machine at a time, and the launcher of what it forks: `numaproof`, nothing else."""

    numaproof = ("numaproof",)

    def __init__(self, runtime: Runtime, program: Program, path: Path, tree: Path, sysfs_root: str) -> None:
        self.tree = tree  # of the machine that it sees
        self.sysfs_root = sysfs_root  # where a program there finds it
        self.running = running = runtime.start(program)
        self._path = path
        self._numbers = itertools.count(1)  # of its programs
        try:
            wait_until(
                lambda: path.exists() or running.poll() is not None, timeout=_START_SECONDS, what="the warm process"
            )
        except BaseException:
            self.close()
            raise
        if not path.exists():
            self.close()
            raise CannotStartError(f"the warm process ended: {running.output().strip()}")

    def start(
        self, command: Sequence[str], *, binds: tuple[Bind, ...] = (), environment: Mapping[str, str] | None = None
    ) -> Running:
        """Fork `numaproof ARGUMENTS...` there."""
        if tuple(command[:1]) != self.numaproof or binds:
            raise CannotStartError(f"{command[0]}: a warm process starts numaproof alone, and mounts nothing for it")
        output = Path(f"{self._path}.{next(self._numbers)}")
        order = {"arguments": command[1:], "environment": dict(environment or {}), "output": str(output)}
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(self._path))
            connection.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            connection.close()
            raise CannotStartError(f"the warm process takes no orders ({error}): {self.running.output()}") from error
        return _Forked(connection, output, self.running)

    def alive(self) -> bool:
        """Whether it still takes orders."""
        return self.running.poll() is None

    def close(self) -> None:
        """End it, and with it everything that it forked."""
        self.running.__exit__()


class _Forked:
    """A program that a warm process forked; it ends with its connection. See `Running`."""

    def __init__(self, connection: socket.socket, output: Path, beside: Running) -> None:
        self._connection = connection
        self._output = output
        self._beside = beside
        self._code: int | None = None  # None: not known to have ended
        self._last_output: str | None = None  # None: it is in the file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        if self._last_output is not None:
            return
        try:
            if self._code is None:
                with contextlib.suppress(OSError):  # its own end came first
                    self._connection.shutdown(socket.SHUT_WR)
                self._connection.settimeout(_END_SECONDS)
                self._code = _exit_code(self._connection)
        finally:
            self._connection.close()
            self._last_output = self.output()
            self._output.unlink(missing_ok=True)

    def poll(self) -> int | None:
        """Its exit code, 128 + n after signal n; None: it still runs."""
        if self._code is None:
            self._connection.setblocking(False)
            try:
                self._code = _exit_code(self._connection)
            except BlockingIOError:
                return None
        return self._code

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); nothing happens when it has ended already."""
        with contextlib.suppress(OSError):
            self._connection.sendall(TERMINATE)

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended; raises WaitTimeoutError when that takes longer."""
        wait_until(lambda: self.poll() is not None, timeout=timeout, what="the end of the program")
        code = self.poll()
        assert code is not None
        return code

    def output(self) -> str:
        """What it has printed so far, both streams."""
        if self._last_output is not None:
            return self._last_output
        try:
            return self._output.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def lines(self) -> list[OutputLine]:
        """The same, line by line; a file does not tell when."""
        return [OutputLine(None, line) for line in self.output().split("\n")[:-1]]

    def execute(self, command: Sequence[str], timeout: float = 60) -> Finished:
        """Run a command where the program runs, and wait for its end."""
        return self._beside.execute(command, timeout)


def _exit_code(connection: socket.socket) -> int:
    """What a connection tells at its end; without a word the warm process itself was killed."""
    try:
        said = connection.recv(64)
    except ConnectionError:
        said = b""
    code = int(said or -signal.SIGKILL)
    return code if code >= 0 else 128 - code
