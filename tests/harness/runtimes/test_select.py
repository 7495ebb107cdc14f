"""Which runtime a name stands for, by what can be had here."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from numaproof import pytest_plugin
from numaproof.errors import UserError
from numaproof.harness.runtimes.select import select_local_runtime, select_runtime
from numaproof.harness.scenario.selection import SUFFIXES
from numaproof.harness.vocabulary import RUNTIMES
from tests.places import short_directory


class Engine(BaseHTTPRequestHandler):
    """As much of an engine as says that there is one."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ApiVersion": "1.44"}' if self.path.endswith("/version") else b"OK")

    def address_string(self) -> str:
        return "a unix socket"

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def engine(path: Path) -> Iterator[None]:
    with socketserver.ThreadingUnixStreamServer(str(path), Engine) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for programs that are found before all others; no engine answers."""
    with short_directory() as place:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{place}/engine.sock")
        monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
        yield place


def forbid_namespaces(place: Path) -> None:
    """Make this a host on which `unshare` may do nothing."""
    (place / "unshare").write_text("#!/bin/sh\necho 'unshare: Operation not permitted' >&2\nexit 1\n")
    (place / "unshare").chmod(0o755)


def test_auto_takes_the_first_that_can_be_had(place: Path) -> None:
    with engine(place / "engine.sock"):
        assert select_runtime("auto") == "docker"
        assert select_runtime("auto", containers=False) == "namespace"
        (place / "engine.sock").unlink()
    assert select_runtime("auto") == "namespace"
    assert select_local_runtime("auto").name == "namespace"
    forbid_namespaces(place)
    assert select_runtime("auto") == "process"
    assert select_local_runtime("auto").name == "process"


def test_what_is_asked_for_is_taken_or_refused(place: Path) -> None:
    assert [select_runtime(name) for name in ("namespace", "process")] == ["namespace", "process"]
    forbid_namespaces(place)
    with pytest.raises(UserError, match="--runtime namespace: namespaces cannot be made here"):
        select_local_runtime("namespace")
    with pytest.raises(UserError, match="no Docker engine answers at unix://"):
        select_runtime("docker")
    with pytest.raises(UserError, match="--runtime docker: a command of this host cannot run in a container"):
        select_local_runtime("docker")


def test_the_pytest_plugin_knows_the_same_words() -> None:
    """It has copies, because it imports nothing of ours until something of ours is used."""
    assert pytest_plugin.RUNTIMES == RUNTIMES
    assert pytest_plugin.SUFFIXES == SUFFIXES
