"""Asking a server that runs by bytes of our own, so that a request can be anything."""

import asyncio
import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numaproof.harness.serve.server import listening, served
from tests.waiting import wait_until

NUMAPROOF = (sys.executable, "-m", "numaproof")
# Whoever started the tests may have had a signal ignored (`nohup`, a job in the background), and so its children.
WITH_SIGNALS = ("env", "--default-signal=HUP,INT", *NUMAPROOF)
PATIENCE = 120  # s, behind which a server does not do what it should
JSON = ("Content-Type", "application/json")


@dataclass(frozen=True)
class Answered:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def told(self) -> str:
        """The one thing that is said to be wrong."""
        [text] = self.json["errors"].values()
        assert isinstance(text, str)
        return text


@dataclass(frozen=True)
class Server:
    """A server on loopback."""

    port: int

    @property
    def host(self) -> tuple[str, str]:
        return ("Host", f"127.0.0.1:{self.port}")

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, method: str, path: str, *headers: tuple[str, str], body: bytes = b"") -> Answered:
        """The answer to a request that has these headers and no others."""
        with self.connected() as connection:
            connection.sendall(written(method, path, *headers) + body)
            return answer_on(connection)

    def get(self, path: str, *headers: tuple[str, str]) -> Answered:
        return self.ask("GET", path, self.host, *headers)

    def post(self, path: str, body: bytes, *headers: tuple[str, str]) -> Answered:
        return self.ask("POST", path, self.host, *self.of(body), *headers, body=body)

    def asked(self, path: str, given: Any) -> Answered:
        """The answer to JSON."""
        return self.post(path, json.dumps(given).encode())

    @staticmethod
    def of(body: bytes) -> tuple[tuple[str, str], ...]:
        return (JSON, ("Content-Length", str(len(body))))


def written(method: str, path: str, *headers: tuple[str, str]) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def answer_on(connection: socket.socket) -> Answered:
    """The next answer that comes over a connection."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return Answered(answer.status, answer.headers, answer.read())


@contextlib.contextmanager
def server_here(*, time_limit: int = 300, opened: dict[str, str] | None = None) -> Iterator[Server]:
    """A server in this process, whose limits a test can set."""
    sockets = listening(0)
    ended: list[int] = []
    ready = threading.Event()
    run = served(sockets, time_limit, opened, ready.set, ended)
    with contextlib.ExitStack() as stack:
        for one in sockets:
            stack.callback(one.close)
        runner = stack.enter_context(ThreadPoolExecutor(1))
        running = runner.submit(asyncio.run, run)
        try:
            wait_until(lambda: ready.is_set() or running.done(), "the server")
            yield Server(sockets[0].getsockname()[1])
        finally:
            ended.append(0)
            running.result()


@dataclass(frozen=True)
class Command:
    """`numaproof serve`, as a process."""

    process: subprocess.Popen[str]
    server: Server

    @property
    def pid(self) -> int:
        return self.process.pid

    def last_words(self) -> tuple[str, str]:
        """What it said besides, once it has ended; a failure if it does not."""
        return self.process.communicate(timeout=PATIENCE)


@contextlib.contextmanager
def serve_command(*arguments: str, program: Sequence[str] = WITH_SIGNALS, **options: Any) -> Iterator[Command]:
    """The real command, on a free port and with no limit that matters, which is killed at the end if it still runs."""
    with subprocess.Popen(
        [*program, "serve", "--port", "0", "--time-limit", "3600", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(r"playground: http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends it\)\n", line)
            if not found:
                process.kill()
            assert found, (line, process.communicate())
            yield Command(process, Server(int(found[1])))
        finally:
            process.kill()


def children_of(pid: int) -> list[int]:
    """The processes that a process started, and that are there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found.append(int(stat.parent.name))
    return found


def runs(pid: int) -> bool:
    """Whether a process is there, and more than a line in a table."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
