"""`numaproof serve` as a process, as a user starts it; what it prints where errors go is a failure."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.harness.serve.asking import serve_command

ENDED = "numaproof: ended by SIGTERM; nothing is left behind\n"


@dataclass(frozen=True, slots=True)
class Server:
    """One that serves."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> str:
        return self.address.rstrip("/").rpartition(":")[2]

    def end(self) -> str:
        """End it as a terminal does when it is closed; what it printed as errors."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate()[1]


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """A server with these arguments, gone at the end."""
    with serve_command(*arguments) as command:
        server = Server(command.process, f"http://127.0.0.1:{command.server.port}/")
        yield server
        if server.process.poll() is None:
            assert server.end() == ENDED
