"""A process that starts nodes and plugins by forking, so that hundreds of them can be started and killed quickly.

It reads one command a line and answers each with one line. It has no threads, so its forks are clean; when its input
ends, it kills what is left of its children and ends too.
"""

import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.plugins_mock import MockDevice, MockPlugin


def run_node(
    tell_ready: Callable[[], object], *, root: str, kubelet: dict[str, Any], machine: str, deadline: float
) -> None:
    """A node until SIGTERM."""
    with Node(
        node_config(kubelet), parse_machine(machine), Path(root), deadline_seconds=deadline, log=lambda _line: None
    ):
        tell_ready()
        signal.sigwait({signal.SIGTERM})


def run_plugin(
    tell_ready: Callable[[], object], *, resource: str, devices: list[tuple[str, int]], directory: str, preferred: bool
) -> None:
    """A plugin until SIGTERM."""
    with MockPlugin(
        resource,
        [MockDevice(name, (node,)) for name, node in devices],
        Path(directory),
        preferred=(lambda available, must, size: [[*must, *sorted(set(available) - set(must))][:size]])
        if preferred
        else None,
        poll_seconds=0.01,
    ):
        tell_ready()
        signal.sigwait({signal.SIGTERM})


ROLES: dict[str, Callable[..., None]] = {"node": run_node, "plugin": run_plugin}


def main() -> None:
    """Obey until the input ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    pipes: dict[int, int] = {}
    try:
        for line in sys.stdin:
            command = json.loads(line)
            print(json.dumps(obey(command, pipes)), flush=True)
    finally:
        for pid in pipes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def obey(command: dict[str, Any], pipes: dict[int, int]) -> Any:
    """What a command answers: a pid, whether a child is ready, its exit status."""
    if "start" in command:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(command["start"], command["arguments"], writing)
        os.close(writing)
        pipes[pid] = reading
        return pid
    if "wait_ready" in command:
        return os.read(pipes[command["wait_ready"]], 100).decode()
    pid = command["reap"]
    status = os.waitpid(pid, 0)[1]
    os.close(pipes.pop(pid))
    return os.waitstatus_to_exitcode(status)


def child(role: str, arguments: dict[str, Any], ready: int) -> None:
    """Be a node or a plugin, and never return."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        ROLES[role](functools.partial(os.write, ready, b"ready"), **arguments)
        code = 0
    except Exception as error:
        os.write(ready, str(error).encode()[:100])
    finally:
        os._exit(code)


class Launcher:
    """The other end: starts the launcher, and has it obey."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._ready: set[int] = set()

    def _ask(self, **command: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, role: str, **arguments: Any) -> int:
        """Start a child; the answer is its pid."""
        return int(self._ask(start=role, arguments=arguments))

    def wait_ready(self, pid: int) -> None:
        """Wait until the child serves."""
        if pid not in self._ready:
            assert self._ask(wait_ready=pid) == "ready"
            self._ready.add(pid)

    def reap(self, pid: int) -> int:
        """Wait for the child's end; the answer is its exit code, or minus the signal that ended it."""
        self._ready.discard(pid)
        return int(self._ask(reap=pid))

    def kill(self, pid: int) -> None:
        """End the child at once, and wait until it is gone."""
        os.kill(pid, signal.SIGKILL)
        self.reap(pid)

    def stop(self, pid: int) -> None:
        """Have the child end in good order."""
        os.kill(pid, signal.SIGTERM)
        assert self.reap(pid) == 0


@contextmanager
def launcher() -> Iterator[Launcher]:
    """A launcher; none of its children outlives it."""
    repository = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.node.launcher"],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Launcher(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
