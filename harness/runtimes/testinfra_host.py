"""testinfra's view of where a program runs: its modules work in every runtime alike."""

from typing import Any

import testinfra.host
from testinfra.backend.base import BaseBackend, CommandResult

from numaproof.harness.runtimes.program import Running


class _Backend(BaseBackend):  # type: ignore[misc]  # testinfra carries no types
    """Runs testinfra's commands where a program runs."""

    NAME = "numaproof"

    def __init__(self, running: Running) -> None:
        super().__init__("numaproof")
        self._running = running

    def run(self, command: str, *args: str, **_others: Any) -> CommandResult:
        """Run a command line by the shell there; both streams come as one."""
        line = self.get_command(command, *args)
        done = self._running.execute(("/bin/sh", "-c", line))
        return self.result(done.code, line, done.output, "")


def testinfra_host(running: Running) -> testinfra.host.Host:
    """A testinfra host where a program runs."""
    return testinfra.host.Host(_Backend(running))
