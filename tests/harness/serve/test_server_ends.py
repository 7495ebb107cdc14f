"""The command itself: what it says, how signals end it, and what keeps it from starting."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.serve.asking import (
    NUMAPROOF,
    PATIENCE,
    Command,
    answer_on,
    children_of,
    runs,
    serve_command,
    written,
)
from tests.harness.serve.slow import QUICK_BODY, SLOW_BODY
from tests.waiting import wait_until

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


def assert_ended(command: Command, number: signal.Signals) -> None:
    """As any command that this signal ends: the code and the one line, and nothing of it is left."""
    out, told = command.last_words()
    assert (command.process.returncode, out) == (128 + number, "")
    assert told == f"numaproof: ended by {SIGNALS[number]}; nothing is left behind\n"
    with pytest.raises(ConnectionRefusedError):
        command.server.connected()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_it_as_any_command(number: signal.Signals) -> None:
    """From the moment in which it says where it is."""
    with serve_command() as command:
        command.process.send_signal(number)
        assert_ended(command, number)


def test_a_signal_ends_it_while_it_answers_and_while_it_waits() -> None:
    """Who waits for an answer is told so; nothing waits for one that is kept, or silent, or for the rest of a body."""
    with serve_command() as command:
        server = command.server
        assert server.post("/api/explain", QUICK_BODY).status == 200
        asked, kept, silent, half = (server.connected() for _ in range(4))
        with asked, kept, silent, half:
            kept.sendall(written("GET", "/api", server.host))
            assert kept.recv(20).startswith(b"HTTP/1.1 200")
            half.sendall(written("POST", "/api/explain", server.host, *server.of(QUICK_BODY)))
            asked.sendall(written("POST", "/api/explain", server.host, *server.of(SLOW_BODY)) + SLOW_BODY)
            workers = children_of(command.pid)
            # The question came last: what it is answered by is read until the end.
            wait_until(lambda: server.get("/api").status == 200, "an answer to who came later")
            command.process.send_signal(signal.SIGTERM)
            with asked.makefile("rb") as answer:
                head, _, body = answer.read().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert json.loads(body) == {"errors": {"": "the server was ended; start it again"}}
        assert_ended(command, signal.SIGTERM)
        assert not any(map(runs, workers))


def test_who_had_a_signal_ignored_is_not_ended_by_it() -> None:
    """As `nohup numaproof serve &`."""
    # By `env`: Python code in a forked child is no matter for a process with threads of gRPC's.
    with serve_command(program=("env", "--ignore-signal=HUP", *NUMAPROOF)) as command:
        command.process.send_signal(signal.SIGHUP)
        assert command.server.post("/api/explain", QUICK_BODY).status == 200
        command.process.send_signal(signal.SIGTERM)
        assert_ended(command, signal.SIGTERM)


def serve_fails(*arguments: str) -> str:
    """What the command says that does not start."""
    command = [*NUMAPROOF, "serve", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (found.returncode, found.stdout) == (2, "")
    return found.stderr


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_that_somebody_has(family: socket.AddressFamily, host: str) -> None:
    """In one of both families is enough: its page would be another one there."""
    with socket.socket(family) as taken:
        try:
            taken.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        taken.listen()
        port = taken.getsockname()[1]
        told = f"numaproof: --port {port}: cannot be had (Address already in use); choose another one, or none\n"
        assert serve_fails("--port", str(port)) == told


def test_a_port_that_is_chosen_and_one_that_was_used_before() -> None:
    with serve_command() as command, command.server.connected() as kept:
        port = command.server.port
        kept.sendall(written("GET", "/api", command.server.host))
        assert answer_on(kept).status == 200
        command.process.send_signal(signal.SIGTERM)  # it closes the connection first, whose end the system remembers
        command.last_words()
    with serve_command("--port", str(port)) as command:
        assert command.server.port == port
        assert command.server.get("/").status == 200


def test_nothing_is_imported_from_where_the_user_is(tmp_path: Path) -> None:
    """A file of the user's that has the name of a library."""
    for name in ("json", "yaml", "asyncio", "h11"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is not yours')\n")
    script = Path(sys.executable).parent / "numaproof"
    with serve_command(program=[str(script)], cwd=tmp_path) as command:
        assert command.server.post("/api/explain", QUICK_BODY).status == 200
        command.process.send_signal(signal.SIGTERM)
        assert_ended(command, signal.SIGTERM)


FETCHES = """\
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as answer, open({told!r}, "w") as file:
    file.write(f"{{answer.status}} {{b'numaproof playground' in answer.read()}}\\n")
"""


def test_a_browser_that_is_waited_for_sees_the_page(tmp_path: Path) -> None:
    """As one that runs in the terminal: nothing is answered by who waits for it."""
    told, browser = tmp_path / "told", tmp_path / "browser.py"
    browser.write_text(FETCHES.format(told=str(told)))
    chosen = {**os.environ, "BROWSER": f"{sys.executable} {browser} %s"}
    with serve_command("--open", env=chosen) as command:
        wait_until(lambda: told.exists() and told.read_text().endswith("\n"), "the browser's answer")
        assert told.read_text() == "200 True\n"
        command.process.send_signal(signal.SIGTERM)
        assert_ended(command, signal.SIGTERM)


def test_no_browser_is_told(tmp_path: Path) -> None:
    chosen = {"PATH": str(tmp_path), "BROWSER": "none-such %s"}
    with serve_command("--open", program=NUMAPROOF, env=chosen) as command:
        assert command.process.stdout is not None
        assert command.process.stdout.readline() == "no browser was found; open that address in one\n"
        command.process.send_signal(signal.SIGTERM)
        assert_ended(command, signal.SIGTERM)
