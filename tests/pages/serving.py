"""`numaproof serve` as a process, as a user starts it; what it prints where errors go is a failure."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
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
    with subprocess.Popen(
        # Whoever started the tests may have had a signal ignored (`nohup`, a job in the background), and so its children.
        ["env", "--default-signal=HUP,INT", sys.executable, "-m", "numaproof", "serve", *arguments],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.fullmatch(r"playground: (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", said)
            assert found, said or process.communicate()[1]
            server = Server(process, found[1])
            yield server
            if process.poll() is None:
                assert server.end() == ENDED
        finally:
            process.kill()
