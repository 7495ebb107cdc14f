"""What a server does not wait for, read or hold: each limit is met by a client that goes beyond it."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPException

import pytest

from numaproof.harness.http import bodies, server
from numaproof.harness.serve.inputs import LARGEST_BODY, LONGEST
from tests.harness.serve.asking import JSON, Answered, Server, answer_on, server_here, written
from tests.waiting import wait_until

SOON = 0.2  # s, in place of a limit in time


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with server_here() as found:
        yield found


def is_closed(connection: socket.socket, told: bytes = b"") -> bool:
    """Whether the other side ended a connection; `told`: what is sent meanwhile."""
    connection.setblocking(False)
    try:
        connection.send(told)
        while True:
            if not connection.recv(1 << 16):
                return True
    except BlockingIOError:
        return False
    except (ConnectionResetError, BrokenPipeError):
        return True


def can_send(connection: socket.socket, told: bytes) -> bool:
    """Whether there is room for more on the way to the other side."""
    try:
        connection.send(told)
    except OSError:
        return False
    return True


def is_answered(found: Server) -> bool:
    """Whether a server has a place for one more; without one it says so, or hangs up."""
    try:
        return found.get("/api").status == 200
    except (OSError, HTTPException):
        return False


def test_a_head_that_is_too_large(served: Server) -> None:
    with served.connected() as connection:
        connection.sendall(written("GET", "/", served.host, ("X-Large", "x" * (16 << 10))).removesuffix(b"\r\n"))
        answer = answer_on(connection)
    assert answer.status == 400
    assert "has a head of more than 16384 bytes" in answer.told


def test_a_head_that_has_no_end(served: Server) -> None:
    """Small pieces, each of which is in time."""
    with served.connected() as connection:
        connection.sendall(written("GET", "/", served.host).removesuffix(b"\r\n"))
        more = b"X: " + b"x" * 1000 + b"\r\n"
        wait_until(lambda: is_closed(connection, more), "the end of the connection")


BEGINNINGS: dict[str, Callable[[Server], bytes]] = {
    "nothing at all": lambda _: b"",
    "a part of a line": lambda _: b"GET / HT",
    "a part of a head": lambda found: written("GET", "/", found.host).removesuffix(b"\r\n") + b"X-Slow: ",
    "a part of the head after an answer": lambda found: (
        written("GET", "/api", found.host) + b"GET /api HTTP/1.1\r\nX: "
    ),
    "a body that nobody reads": lambda found: written("GET", "/api", found.host, ("Content-Length", "1000")),
}


@pytest.mark.parametrize("case", BEGINNINGS)
def test_a_head_that_does_not_come_to_its_end_in_time(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether more of it comes or not."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 1.0)  # longer than it takes to say more
    with server_here() as found:
        for more in (b"x", b""):
            with found.connected() as connection:
                with suppress(OSError):  # on a busy machine its time may be over before it is sent
                    connection.sendall(BEGINNINGS[case](found))
                wait_until(lambda: is_closed(connection, more), "the end of the connection")  # noqa: B023 (it is waited for)
        monkeypatch.undo()
        assert found.get("/api").status == 200


def test_the_limit_of_a_head_ends_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 3.0)
    body = b'{"machine": "laptop"}'
    with server_here() as found, found.connected() as early, found.connected() as late:
        early.sendall(written("POST", "/api/explain", found.host, *found.of(body)))
        wait_until(lambda: is_closed(late), "the end of a connection that began later and has no head")
        early.sendall(body)
        assert answer_on(early).status == 422


def test_an_answer_that_nobody_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection ends, and another one has its place."""
    monkeypatch.setattr(server, "TAKING_SECONDS", SOON)
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 1)
    with server_here() as found, found.connected() as connection:
        connection.setblocking(False)
        asked = written("GET", "/", found.host) * 10
        # The answers fill all that holds them on their way, and the questions behind them likewise.
        wait_until(lambda: not can_send(connection, asked), "a server that does not read on")
        wait_until(lambda: is_answered(found), "a free place")


def test_too_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(server, "HEAD_SECONDS", 3600.0)
    with server_here() as found, ExitStack() as stack:
        early = [stack.enter_context(found.connected()) for _ in range(3)]
        for one in early:  # each is there once it is answered
            one.sendall(written("GET", "/api", found.host))
            assert answer_on(one).status == 200
        late = found.get("/api")
        assert (late.status, late.told) == (503, "too many connections are open; close some, and ask again")
        assert late.headers["connection"] == "close"
        early[0].sendall(written("GET", "/api", found.host))
        assert answer_on(early[0]).status == 200
        early[1].close()
        wait_until(lambda: is_answered(found), "a free place")


def test_a_body_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", SOON)
    with server_here() as found:
        answer = found.ask("POST", "/api/explain", found.host, JSON, ("Content-Length", "100"), body=b"{")
        assert (answer.status, answer.told) == (408, "the body did not come in time; send it again")
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_body_that_is_too_large(served: Server, is_chunked: bool) -> None:
    """It is refused once it is too large, and not read to its end."""
    size = LARGEST_BODY * 3
    length = ("Transfer-Encoding", "chunked") if is_chunked else ("Content-Length", str(size))
    body = b"x" * (LARGEST_BODY + 1)
    with served.connected() as connection:
        connection.sendall(written("POST", "/api/explain", served.host, JSON, length))
        connection.sendall(b"%x\r\n" % size + body if is_chunked else body)
        answer = answer_on(connection)
    assert answer.status == 413
    assert answer.told == f"the body is larger than {LARGEST_BODY} bytes; give less, or ask `numaproof explain`"
    assert answer.headers["connection"] == "close"


def test_the_largest_body_is_read(served: Server) -> None:
    body = b'{"machine": "laptop"}'.ljust(LARGEST_BODY)
    assert served.post("/api/explain", body).json == {"errors": {"pod": "pod: is empty; give Pod manifests"}}


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"]
)
def test_what_a_form_of_another_site_can_send_is_refused(served: Server, kind: str) -> None:
    answer = served.ask(
        "POST", "/api/explain", served.host, ("Content-Type", kind), ("Content-Length", "2"), body=b"{}"
    )
    assert (answer.status, answer.told) == (415, "Content-Type is not application/json; send JSON with that type")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_a_content_type_as_programs_write_it(served: Server, kind: str) -> None:
    answer = served.ask(
        "POST", "/api/explain", served.host, ("Content-Type", kind), ("Content-Length", "2"), body=b"{}"
    )
    assert answer.status == 422


OBJECT = 'the body: is not an object; send {"machine": ..., "pod": ...}'
NO_JSON = "the body: is not JSON; send an object of texts"
BODIES: dict[str, tuple[bytes, dict[str, str]]] = {
    "nothing": (b"", {"": NO_JSON}),
    "no JSON": (b"{machine: laptop}", {"": NO_JSON}),
    "not all of it": (b'{"machine": "lap', {"": NO_JSON}),
    "no Unicode": (b'{"machine": "\xff"}', {"": NO_JSON}),
    "a number beyond reason": (b'{"machine": ' + b"9" * 5000 + b"}", {"": NO_JSON}),
    "nested beyond reason": (b"[" * 200_000, {"": "the body: is nested too deeply; send an object of texts"}),
    "a list": (b"[]", {"": OBJECT}),
    "a text": (b'"laptop"', {"": OBJECT}),
    "null": (b"null", {"": OBJECT}),
    "an unknown field": (
        b'{"machin\\u001b\\ne": "laptop"}',
        {"": r"'machin\x1b\ne': unknown field; known are machine, config, plugins, running, pod, semantics"},
    ),
    "a list in place of a text": (b'{"machine": ["laptop"]}', {"machine": "machine: is not a text; quote it"}),
    "null in place of a text": (b'{"pod": null}', {"pod": "pod: is not a text; quote it"}),
    "objects in place of texts": (
        b'{"pod": {}, "config": 1}',
        {"config": "config: is not a text; quote it", "pod": "pod: is not a text; quote it"},
    ),
    "half a character": (
        b'{"pod": "\\ud800"}',
        {"pod": "pod: has half a character in it (a lone surrogate); paste it again"},
    ),
    "other semantics": (b'{"semantics": "v1.2"}', {"": "semantics: 'v1.2' is unknown; write current or kep"}),
    "semantics of another kind": (b'{"semantics": {}}', {"": "semantics: '{}' is unknown; write current or kep"}),
    "semantics of half a character": (
        b'{"semantics": "\\ud800"}',
        {"": r"semantics: '\ud800' is unknown; write current or kep"},
    ),
} | {
    f"a long {name}": (
        json.dumps({name: "x" * (longest + 1)}).encode(),
        {name: f"{name}: has {longest + 1} characters; {longest} are the most: give the part that matters"},
    )
    for name, longest in LONGEST.items()
}


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_is_no_question_is_told_so_in_a_line(served: Server, case: str) -> None:
    body, faults = BODIES[case]
    assert_told(served.post("/api/explain", body), faults)


RELOAD = "the body: is not what the playground sends; reload the page"
REQUESTS: dict[str, tuple[object, dict[str, str]]] = {
    "a list": ([], {"": RELOAD}),
    "texts alone": ({"machine": "laptop"}, {"": RELOAD}),
    "no texts": ({}, {"": OBJECT}),
    "a width in words": ({"texts": {}, "width": "wide"}, {"": "width: is not a number of pixels; reload the page"}),
    "a width of true": ({"texts": {}, "width": True}, {"": "width: is not a number of pixels; reload the page"}),
    "a change that is a list": (
        {"texts": {}, "change": [1]},
        {"": "change: is not a change, or a very large one; edit the text instead"},
    ),
    "a large change": (
        {"texts": {}, "change": {"pod": {f"c{number}": {"cpu": 1} for number in range(200)}}},
        {"": "change: is not a change, or a very large one; edit the text instead"},
    ),
    "a deep change": (
        {"texts": {}, "change": json.loads('{"config": ' * 20 + "1" + "}" * 20)},
        {"": "change: is not a change, or a very large one; edit the text instead"},
    ),
}


@pytest.mark.parametrize("case", REQUESTS)
@pytest.mark.parametrize("path", ["/page/show", "/page/remedies", "/page/page"])
def test_a_request_that_the_page_does_not_send_is_told_so(served: Server, case: str, path: str) -> None:
    given, faults = REQUESTS[case]
    assert_told(served.asked(path, given), faults)


def assert_told(answer: Answered, faults: dict[str, str]) -> None:
    assert (answer.status, answer.json) == (422, {"errors": faults})
    assert all("\n" not in text for text in faults.values())
