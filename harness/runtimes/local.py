"""Programs started by ourselves, without an engine: in namespaces of their own, or as plain processes.

Everything hangs on a pipe to the first process (`local_init.py`): when it closes, be it because the harness was killed,
the program and all that it started are killed too.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from numaproof.harness.runtimes.local_init import SHOWN, STARTED
from numaproof.harness.runtimes.mounts import machine_binds
from numaproof.harness.runtimes.output import OutputReader
from numaproof.harness.runtimes.program import Bind, CannotStartError, Finished, OutputLine, Program
from numaproof.harness.waiting import wait_until

_LAUNCHER = str(Path(__file__).with_name("local_init.py"))
_END_SECONDS = 60  # how long the kernel may take to bury a killed namespace on a busy machine


def namespaces_work() -> bool:
    """Whether this user may make namespaces here."""
    try:
        with NamespaceRuntime().start(Program(("/bin/true",))) as running:
            return running.wait(_END_SECONDS) == 0
    except CannotStartError:
        return False


class NamespaceRuntime:
    """Mount and process namespaces of the program's own: the machine is its /sys, and nothing of it outlives it."""

    name = "namespace"

    def start(self, program: Program) -> "IsolatedProgram":
        """Start a program below `unshare`."""
        user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        unshare = ("unshare", *user, "--mount", "--pid", "--fork", "--kill-child")
        devices = tuple(
            Bind(Path(one.source), one.target, read_only="w" not in one.permissions) for one in program.devices
        )
        return IsolatedProgram(program, unshare, (*program.binds, *devices))


class ProcessRuntime:
    """Plain processes: no isolation, so the machine and the directories are told to the program by path."""

    name = "process"

    def start(self, program: Program) -> "LocalProgram":
        """Start a program as a child; what needs mounts is refused."""
        if program.machine or program.binds or program.devices:
            raise CannotStartError("the process runtime mounts nothing: give the program its paths, or take namespace")
        return LocalProgram(program, (), ())


class LocalProgram:
    """A program below `local_init.py`; see `Running`."""

    def __init__(self, program: Program, prefix: tuple[str, ...], binds: tuple[Bind, ...]) -> None:
        if program.memory_nodes:
            raise CannotStartError("only docker binds memory to NUMA nodes: take --runtime docker")
        self._isolated = bool(prefix)
        self._environment = {**os.environ, **program.environment}
        report, report_end = os.pipe()
        order = {
            "command": program.command,
            "environment": self._environment,
            "directory": program.directory or "/",
            "machine": _words(machine_binds(program.machine)),
            "binds": _words(binds),
            "isolated": self._isolated,
            "cpus": program.cpus,
            "report": report_end,
        }
        try:
            self._process = subprocess.Popen(
                [*prefix, sys.executable, "-I", "-S", _LAUNCHER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(report_end,),
            )
        except OSError as error:
            os.close(report)
            raise CannotStartError(f"{(*prefix, sys.executable)[0]}: {error.strerror}") from error
        finally:
            os.close(report_end)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders: IO[bytes] = self._process.stdin
        self._reports = os.fdopen(report, "rb")
        self._printed = OutputReader(self._process.stdout)
        answer = self._answer_to(json.dumps(order))
        if answer != STARTED:
            self.__exit__()
            # No answer at all: `unshare` failed before anything of ours ran, and said why.
            raise CannotStartError(answer or self.output().strip())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reports.close()
        self._printed.close()

    def poll(self) -> int | None:
        """Its exit code, 128 + n after signal n; None: it still runs."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); nothing happens when it has ended already."""
        self._send("term")

    def wait(self, timeout: float) -> int:
        """Its exit code, once it has ended; raises WaitTimeoutError when that takes longer."""
        wait_until(lambda: self.poll() is not None, timeout=timeout, what="the end of the program")
        code = self.poll()
        assert code is not None
        return code

    def output(self) -> str:
        """What it has printed so far, both streams; of a flood the first and the last part."""
        return self._printed.text(complete=self._process.poll() is not None)

    def lines(self) -> list[OutputLine]:
        """The same, line by line, each with its time."""
        return self._printed.lines(complete=self._process.poll() is not None)

    def execute(self, command: Sequence[str], timeout: float = 60) -> Finished:
        """Run a command where the program runs, and wait for its end."""
        prefix: tuple[str, ...] = ()
        if self._isolated:
            user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
            prefix = ("nsenter", "--target", str(self._first_process()), *user, "--mount", "--pid", "--wd=/")
        done = subprocess.run(
            [*prefix, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
            env=self._environment,
        )
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Finished(code, done.stdout.decode(errors="replace"))

    def _first_process(self) -> int | None:
        """The launcher's process number as the host sees it: the only child of `unshare`; None: there is none."""
        pid = self._process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return int(children[0]) if children else None

    def _answer_to(self, order: str) -> str:
        """What the launcher reports of an order; empty: it is gone."""
        self._send(order)
        return self._reports.readline().decode(errors="replace").strip()

    def _send(self, order: str) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._orders.write(order.encode() + b"\n")
            self._orders.flush()


class IsolatedProgram(LocalProgram):
    """A program in namespaces of its own, in which mounts can change while it runs."""

    def show(self, machine: Path | None) -> None:
        """Show it and all that it starts another machine from now on; None: the host's own."""
        answer = self._answer_to(f"show {json.dumps(_words(machine_binds(machine)))}")
        if answer != SHOWN:
            raise CannotStartError(answer or f"the program has ended: {self.output().strip()}")


def _words(binds: Sequence[Bind]) -> list[dict[str, object]]:
    """Binds as the launcher takes them."""
    return [{"source": str(one.source), "target": one.target, "read_only": one.read_only} for one in binds]
