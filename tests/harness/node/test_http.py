"""The node's HTTP side: who may ask, how much and for how long, and that it leaves nothing."""

import contextlib
import functools
import http.client
import json
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from numaproof.harness.http import bodies, server
from numaproof.harness.node.services.web import Page, Post, WebServer, json_page
from numaproof.plugins_mock import Fault, MockPlugin
from tests.harness.node.binding import DEDICATED, binder, post, token_of, tolerating
from tests.harness.node.running import GPU, STATIC, devices, listed_plugins, pod, running_node
from tests.places import short_directory
from tests.waiting import wait_until

FAR = 120  # s that no test waits for
BIND = "/pod/a/bind"
JSON_PAGE = ("application/json", "{}")
BIG = ("text/plain", "x" * (64 << 20))  # more than sockets hold
Where = int | Path


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def message(self) -> str:
        """What is told in the way of an error."""
        assert self.headers.get_content_type() == "application/json"
        found = json.loads(self.body)
        assert list(found) == ["message"]
        text = found["message"]
        assert isinstance(text, str)
        assert "\n" not in text
        return text


def dialled(where: Where) -> socket.socket:
    """A connection to a port of ours, or to a unix socket."""
    made = socket.socket(socket.AF_INET if isinstance(where, int) else socket.AF_UNIX)
    made.settimeout(FAR)
    try:
        made.connect(("127.0.0.1", where) if isinstance(where, int) else str(where))
    except OSError:
        made.close()
        raise
    return made


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request that has these headers and no others."""
    lines = (f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", "")
    return "\r\n".join(lines).encode()


def answer_on(connection: socket.socket, method: str = "GET") -> Answer:
    """The next answer that comes over a connection."""
    found = http.client.HTTPResponse(connection, method=method)
    found.begin()
    return Answer(found.status, found.headers, found.read())


def ask(where: Where, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """The answer to a request on a connection of its own."""
    with dialled(where) as connection:
        connection.sendall(head(method, path, headers) + body)
        return answer_on(connection, method)


def host(port: int, name: str = "127.0.0.1") -> dict[str, str]:
    return {"Host": f"{name}:{port}"}


@dataclass(frozen=True)
class Web:
    """A node's HTTP side by itself, with pages of our own."""

    server: WebServer
    path: Path
    log: list[str]

    @property
    def port(self) -> int:
        assert self.server.port
        return self.server.port

    @property
    def places(self) -> tuple[Where, ...]:
        return self.path, self.port

    def get(self, where: Where, path: str = "/page") -> Answer:
        return ask(where, "GET", path, host(self.port))

    def has_room(self, where: Where) -> bool:
        """Whether another one is answered; without room it is told so, or hung up on."""
        try:
            return self.get(where).status == 200
        except (OSError, http.client.HTTPException):
            return False


@contextlib.contextmanager
def web(pages: Mapping[str, Page] | None = None, posts: tuple[Post, ...] = ()) -> Iterator[Web]:
    """Closed at the end, and its executor before that, unless a page hangs."""
    log: list[str] = []
    pages = {"/page": lambda: JSON_PAGE, **(pages or {})}
    with short_directory() as place, ThreadPoolExecutor(8, thread_name_prefix="page") as executor:
        path = place / "http.sock"
        one = WebServer(path, 0, pages, posts, executor=executor, log=log.append)
        try:
            yield Web(one, path, log)
        finally:
            one.close()


# Who may ask


def test_a_foreign_name_is_turned_away_on_the_port() -> None:
    with web() as one:
        foreign = ("example.com", f"example.com:{one.port}", "127.0.0.1", f"127.0.0.1:{one.port + 1}", "", "localhost.")
        for name in foreign:
            answer = ask(one.port, "GET", "/page", {"Host": name})
            assert (answer.status, name) == (403, name)
            assert answer.message.startswith("Host is not one of ")
        assert ask(one.port, "GET", "/page", host(one.port)).status == 200


def test_a_unix_socket_is_called_by_any_name() -> None:
    with web(posts=(lambda path, _authorization, _body: (200, path),)) as one:
        for name in ("localhost", "example.com", "a", "", "a/b?c#d"):
            assert ask(one.path, "GET", "/page", {"Host": name}).status == 200
            # Nor is the name any part of the path.
            posted = ask(one.path, "POST", "/some/path", {"Host": name, "Content-Length": "0"})
            assert (posted.status, json.loads(posted.body)) == (200, "/some/path")
        with dialled(one.path) as connection:
            connection.sendall(b"POST /some/path HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
            assert json.loads(answer_on(connection).body) == "/some/path"


def test_a_post_from_another_site_is_turned_away_and_changes_nothing() -> None:
    with running_node(STATIC, http_port=0) as node, binder(node) as control:
        control.admit(tolerating("a", [DEDICATED]))
        assert node.http_port
        port = node.http_port
        body = b'{"cpuAffinity": "2-3"}'
        usual = host(port) | {"Authorization": f"Bearer {token_of(node)}", "Content-Length": str(len(body))}
        for origin in ("http://example.com", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"):
            answer = ask(port, "POST", BIND, usual | {"Origin": origin}, body)
            assert (answer.status, origin) == (403, origin)
            assert "Origin is not this server" in answer.message
            assert control.pending() == ["a"]
        fetched = ask(port, "POST", BIND, usual | {"Sec-Fetch-Site": "cross-site"}, body)
        assert (fetched.status, control.pending()) == (403, ["a"])
        assert ask(port, "POST", BIND, usual | {"Origin": f"http://127.0.0.1:{port}"}, body).status == 200
        assert control.pending() == []


def test_what_another_site_embeds_is_turned_away_and_no_site_may_read() -> None:
    with web() as one:
        embedded = host(one.port) | {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        assert ask(one.port, "GET", "/page", embedded).status == 403
        for headers in (host(one.port), embedded, host(one.port) | {"Origin": "http://example.com"}):
            answer = ask(one.port, "GET", "/page", headers)
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_scrapers_are_answered() -> None:
    with running_node(STATIC, http_port=0) as node:
        node.admit(pod("p", {"cpu": 1, "memory": "1Gi"}))
        assert node.http_port
        port = node.http_port
        # As Prometheus asks: https://prometheus.io/docs/instrumenting/content_negotiation/
        accepted = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
        scraper = {
            "User-Agent": "Prometheus/3.0.0",
            "Accept": accepted,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": "10",
        }
        for name in ("127.0.0.1", "localhost"):
            answer = ask(port, "GET", "/metrics", host(port, name) | scraper)
            assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
            families = {one.name for one in text_string_to_metric_families(answer.body.decode())}
            assert "kubelet_topology_manager_admission_requests" in families


@pytest.mark.parametrize("way", ["127.0.0.1", "localhost", "socket"])
def test_curl_is_answered(way: str) -> None:
    with running_node(STATIC, http_port=0) as node:
        where = (
            ("--unix-socket", str(node.http_socket), "http://localhost/healthz")
            if way == "socket"
            else (f"http://{way}:{node.http_port}/healthz",)
        )
        found = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", *where], capture_output=True, text=True, check=False
        )
        assert (found.returncode, found.stdout, found.stderr) == (0, "ok", "")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_other_methods_are_refused(method: str) -> None:
    with web() as one:
        for where in one.places:
            answer = ask(where, method, "/page", host(one.port))
            assert (answer.status, answer.headers["allow"]) == (405, "GET, POST")
            if method != "HEAD":
                assert answer.message == "only GET and POST are known"


# What fails


class Failing:
    """A hint provider of somebody's own, with a mistake in it."""

    name = "failing"

    def get_topology_hints(self, *_arguments: object) -> Any:
        raise LookupError("no such\nbandwidth")

    get_pod_topology_hints = get_topology_hints

    def allocate(self, *_arguments: object) -> None: ...

    def remove(self, _uid: str) -> None: ...

    def checkpoint(self) -> None: ...

    def rollback(self, _checkpoint: None) -> None: ...


def test_an_answer_that_fails_is_a_line_and_one_in_the_log() -> None:
    log: list[str] = []
    config = STATIC | {"topologyManagerPolicy": "restricted"}
    with running_node(config, http_port=0, log=log.append, providers=lambda: [Failing()]) as node:
        assert node.http_port
        body = json.dumps(pod("p", {"cpu": 1, "memory": "1Gi"})).encode()
        headers = host(node.http_port) | {"Content-Length": str(len(body))}
        answer = ask(node.http_port, "POST", "/explain", headers, body)
        assert (answer.status, answer.message) == (500, "POST /explain failed: the node's log says how")
        [line] = log
        assert line.startswith("POST /explain failed: LookupError: no such bandwidth (")
        assert re.search(r"test_http\.py:\d+\)$", line)
        # And everything goes on.
        assert ask(node.http_port, "GET", "/healthz", host(node.http_port)).body == b"ok"


def test_a_page_that_fails_is_a_line_and_one_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with web({"/pods": lambda: json_page({1, 2})}) as one:
        for where in one.places:
            answer = one.get(where, "/pods")
            assert (answer.status, answer.message) == (500, "GET /pods failed: the node's log says how")
            assert one.get(where).status == 200
        assert len(one.log) == 2
        assert all(line.startswith("GET /pods failed: TypeError: ") and "\n" not in line for line in one.log)
    assert caplog.records == []  # what a library would add to that


# How much, and for how long


def test_a_connection_is_kept() -> None:
    with web() as one:
        for where in one.places:
            with dialled(where) as connection:
                for _ in range(3):
                    connection.sendall(head("GET", "/page", host(one.port)))
                    assert answer_on(connection).body == b"{}"


def test_a_head_that_does_not_come_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    with web() as one:
        for where in one.places:
            for said in (b"", b"GET /page HTTP/1.1\r\nHos"):
                with dialled(where) as connection:
                    with contextlib.suppress(OSError):  # on a busy machine its time may be over before it is said
                        connection.sendall(said)
                    assert ended(connection) == b""


def test_a_head_without_end_is_refused() -> None:
    with web() as one, dialled(one.path) as connection:
        connection.sendall(b"GET /page HTTP/1.1\r\nHost: a\r\nX: " + b"x" * (20 << 10))
        answer = answer_on(connection)
        assert answer.status == 400
        assert "head of more than" in answer.message


def test_a_body_that_does_not_come_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.1)
    with web() as one:
        for where in one.places:
            with dialled(where) as connection:
                connection.sendall(head("POST", "/explain", host(one.port) | {"Content-Length": "10"}) + b"12345")
                answer = answer_on(connection)
                assert (answer.status, answer.message) == (408, "the body did not come in time; send it again")


@pytest.mark.parametrize("length", [{"Content-Length": "65537"}, {"Transfer-Encoding": "chunked"}, {}])
def test_a_large_body_is_refused_before_it_comes(length: dict[str, str]) -> None:
    with web() as one:
        for where in one.places:
            with dialled(where) as connection:
                connection.sendall(head("POST", "/explain", host(one.port) | length))
                answer = answer_on(connection)
                assert answer.status == (413 if "Content-Length" in length else 411)
                assert answer.message == "give a Content-Length of at most 65536 bytes"
                assert answer.headers["connection"] == "close"
                assert ended(connection) == b""


def test_an_answer_that_is_not_taken_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "TAKING_SECONDS", 0.1)
    monkeypatch.setattr(server, "HEAD_SECONDS", 10 * FAR)
    with web({"/big": lambda: BIG}) as one, dialled(one.path) as connection:
        connection.sendall(head("GET", "/big", host(one.port)))
        waiting = select.poll()
        waiting.register(connection, 0)  # its other end's end, and nothing else
        assert waiting.poll(FAR * 1000)
        assert len(ended(connection)) < len(BIG[1])


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(server, "HEAD_SECONDS", 10 * FAR)
    with web() as one:
        for where, other in (one.places, one.places[::-1]):
            kept = [dialled(where) for _ in range(2)]
            for connection in kept:  # each is there for sure once it was answered
                connection.sendall(head("GET", "/page", host(one.port)))
                assert answer_on(connection).status == 200
            answer = one.get(where)
            assert (answer.status, answer.message.partition(";")[0]) == (503, "too many connections are open")
            # Who was there goes on, and who comes by the other way is not concerned.
            kept[0].sendall(head("GET", "/page", host(one.port)))
            assert answer_on(kept[0]).status == 200
            assert one.get(other).status == 200
            # Those who wait without a word are not without end.
            silent = [dialled(where) for _ in range(3)]
            assert ended(silent[-1]) == b""
            for connection in (*kept, *silent):
                connection.close()
            wait_until(functools.partial(one.has_room, where), "room for another one")


# Its end


def test_nothing_is_left_whatever_clients_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ENDING_SECONDS", 0)
    with web() as one:  # what is made once in a process
        assert one.get(one.path).status == 200
    threads, files = set(threading.enumerate()), descriptors()
    clients: list[socket.socket] = []
    with web({"/big": lambda: BIG}) as one:
        for where in one.places:
            said = (
                b"",
                b"GET /page HTTP/1.1\r\nHos",
                head("GET", "/page", host(one.port)),
                head("GET", "/big", host(one.port)),
                head("POST", "/explain", host(one.port) | {"Content-Length": "10"}) + b"12345",
            )
            for text in said:
                clients.append(dialled(where))
                clients[-1].sendall(text)
            assert one.get(where).status == 200  # and so those before it are being dealt with
        one.server.close()
        assert not one.path.exists()
        with pytest.raises(ConnectionRefusedError):
            dialled(one.port)
    for client in clients:
        ended(client)
        client.close()
    # What an earlier test left may end meanwhile.
    assert set(threading.enumerate()) <= threads
    assert descriptors() <= files


def test_nothing_is_left_of_one_that_nobody_asked() -> None:
    threads, files = set(threading.enumerate()), descriptors()
    with web() as one:
        one.server.close()
        assert not one.path.exists()
        with pytest.raises(ConnectionRefusedError):
            dialled(one.port)
    # What an earlier test left may end meanwhile.
    assert set(threading.enumerate()) <= threads
    assert descriptors() <= files


def test_who_waits_for_a_page_at_the_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ENDING_SECONDS", 0)
    asked, told = threading.Event(), threading.Event()

    def hangs() -> tuple[str, str]:
        asked.set()
        assert told.wait(FAR)
        return JSON_PAGE

    with ThreadPoolExecutor(1) as client, web({"/hangs": hangs}) as one:
        answer = client.submit(one.get, one.path, "/hangs")
        assert asked.wait(FAR)
        one.server.close()
        told.set()
        found = answer.result(FAR)
        assert (found.status, found.message) == (503, "the server was ended; start it again")


def test_a_node_whose_plugin_hangs_ends_while_a_binding_waits_for_it() -> None:
    with ThreadPoolExecutor(1) as client, running_node(STATIC, http_port=0) as node, binder(node) as control:
        plugin = MockPlugin(GPU, devices("gpu", 2), node.device_plugins, faults={"Allocate": [Fault("hang")]})
        with listed_plugins(node, plugin):
            control.admit(tolerating("a", [DEDICATED], {"cpu": 2, "memory": "1Gi", GPU: 1}))
            answer = client.submit(post, node, BIND, {"cpuAffinity": "2-3"}, token=token_of(node))
            wait_until(lambda: [one for one in plugin.calls if one.name == "Allocate"], "the call that hangs")
            node.__exit__(None, None, None)
            assert answer.result(FAR)[0] == 503
            threads = {one.name.partition("_")[0] for one in threading.enumerate()}
            assert not threads & {"http", "page", "call"}


LAZY = """
import sys
from pathlib import Path
from numaproof import parse_machine
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.harness.unix_http import get_page

LIBRARIES = {"starlette", "uvicorn", "h11"}
with Node(node_config({}), parse_machine("pack:1 core:1 pu:1"), Path(sys.argv[1])) as node:
    print(sorted(LIBRARIES & set(sys.modules)))
    get_page(node.http_socket, "/healthz", 120)
    print(sorted(LIBRARIES & set(sys.modules)))
"""


def test_a_node_loads_no_library_of_http_until_it_is_asked() -> None:
    with short_directory() as root:
        command = (sys.executable, "-c", LAZY, str(root / "node"))
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == ["[]", "['h11', 'starlette', 'uvicorn']"]


def ended(connection: socket.socket) -> bytes:
    """What comes over a connection until its other end is gone."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while block := connection.recv(1 << 20):
            found += block
    return bytes(found)


def descriptors() -> set[str]:
    """The files and sockets that this process has open."""
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the list itself
            found.add(str(one.readlink()))
    return found
