"""Who is answered, and with which headers: requests as browsers and others send them, to a server that runs."""

import base64
import hashlib
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from numaproof.harness.serve.server import listening
from tests.harness.serve.asking import JSON, Server, answer_on, serve_command, server_here, written

QUESTION = b'{"machine": "laptop", "pod": "metadata: {name: p}\\nspec: {containers: [{name: c}]}"}'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_here() as server:
        yield server


OTHER_HOSTS = {
    "another name, as after DNS rebinding": "evil.example:{port}",
    "another name without a port": "evil.example",
    "no port": "127.0.0.1",
    "another port": "127.0.0.1:1",
    "another address": "192.0.2.1:{port}",
    "all addresses": "0.0.0.0:{port}",
    "another address of loopback": "127.0.0.2:{port}",
    "a name that begins like ours": "localhost.evil.example:{port}",
    "a name that ends like ours": "evil.localhost:{port}",
    "ours with a user before it": "evil@localhost:{port}",
    "two in one": "localhost:{port}, evil.example",
    "nothing": "",
}
OWN_HOSTS = ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}")


@pytest.mark.parametrize("case", OTHER_HOSTS)
@pytest.mark.parametrize("path", ["/", "/api/explain"])
def test_another_host_is_turned_away(server: Server, case: str, path: str) -> None:
    host = ("Host", OTHER_HOSTS[case].format(port=server.port))
    method = "GET" if path == "/" else "POST"
    answer = server.ask(method, path, host, *server.of(QUESTION), body=QUESTION)
    assert answer.status == 403
    assert answer.told.startswith("Host is not one of ")
    assert answer.told.endswith("open the address that was printed")


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_our_own_names_are_answered(server: Server, host: str) -> None:
    given = ("Host", host.format(port=server.port))
    assert server.ask("GET", "/", given).status == 200
    assert server.ask("POST", "/api/explain", given, *server.of(QUESTION), body=QUESTION).status == 200


def test_a_request_without_a_host_is_turned_away(server: Server) -> None:
    assert server.ask("GET", "/").status == 400  # as HTTP/1.1 wants it
    with server.connected() as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert answer_on(connection).status == 403


@pytest.mark.parametrize("is_ours_first", [True, False])
def test_two_hosts_are_turned_away(server: Server, is_ours_first: bool) -> None:
    hosts = [server.host, ("Host", "evil.example")]
    answer = server.ask("GET", "/", *(hosts if is_ours_first else reversed(hosts)))
    assert answer.status == 400


OTHER_ORIGINS = {
    "another site": "http://evil.example",
    "a file, or a frame in a sandbox": "null",
    "another port": "http://127.0.0.1:1",
    "another scheme": "https://127.0.0.1:{port}",
    "another name of ours": "http://localhost:{port}",
    "a name that begins like ours": "http://127.0.0.1:{port}.evil.example",
    "nothing": "",
}


@pytest.mark.parametrize("case", OTHER_ORIGINS)
@pytest.mark.parametrize("path", ["/api/explain", "/page/show", "/page/remedies", "/page/page"])
def test_a_question_of_another_origin_is_turned_away(server: Server, case: str, path: str) -> None:
    answer = server.post(path, QUESTION, ("Origin", OTHER_ORIGINS[case].format(port=server.port)))
    assert (answer.status, answer.told) == (403, "Origin is not this server; open the address that was printed")


def test_a_question_of_our_own_page_is_answered(server: Server) -> None:
    origin = ("Origin", f"http://127.0.0.1:{server.port}")
    assert server.post("/api/explain", QUESTION, origin, ("Sec-Fetch-Site", "same-origin")).status == 200


# Sec-Fetch-Site, -Mode and -Dest as browsers send them.
FROM_OTHERS = {
    "fetch": ("cross-site", "cors", "empty"),
    "fetch that cannot read": ("cross-site", "no-cors", "empty"),
    "an image": ("cross-site", "no-cors", "image"),
    "a script": ("cross-site", "no-cors", "script"),
    "a frame": ("cross-site", "navigate", "iframe"),
    "an object": ("cross-site", "navigate", "object"),
    "a document that nobody sees": ("cross-site", "no-cors", "document"),
    "a server on another port of this machine": ("same-site", "cors", "empty"),
    "a word that no browser says": ("elsewhere", "cors", "empty"),
}
VISITS = {
    "a link of another site": ("cross-site", "navigate", "document"),
    "a link of a server on another port": ("same-site", "navigate", "document"),
    "a typed address": ("none", "navigate", "document"),
    "a reload": ("same-origin", "navigate", "document"),
    "our own script": ("same-origin", "cors", "empty"),
}


def fetched(case: tuple[str, str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"Sec-Fetch-{name}", value) for name, value in zip(("Site", "Mode", "Dest"), case, strict=True))


@pytest.mark.parametrize("case", FROM_OTHERS)
@pytest.mark.parametrize("path", ["/", "/api"])
def test_what_another_site_embeds_or_fetches_is_turned_away(server: Server, case: str, path: str) -> None:
    answer = server.get(path, *fetched(FROM_OTHERS[case]))
    assert answer.status == 403
    assert answer.told.startswith("another site asks (Sec-Fetch-Site: ")


@pytest.mark.parametrize("case", VISITS)
def test_who_visits_the_page_is_let_in(server: Server, case: str) -> None:
    assert server.get("/", *fetched(VISITS[case])).status == 200


@pytest.mark.parametrize("case", FROM_OTHERS | {name: VISITS[name] for name in list(VISITS)[:2]})
def test_a_question_that_another_site_sends_is_turned_away(server: Server, case: str) -> None:
    """A form that is sent navigates, too."""
    answer = server.post("/api/explain", QUESTION, *fetched((FROM_OTHERS | VISITS)[case]))
    assert answer.status == 403
    assert answer.told.startswith("another site asks")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    with server.connected() as connection:
        connection.sendall(written(method, "/", server.host, ("Connection", "close")))
        head = connection.makefile("rb").read().partition(b"\r\n\r\n")[0].decode().lower()
    assert head.startswith("http/1.1 405 ")
    assert "\r\nallow: get, post\r\n" in head + "\r\n"
    assert "access-control" not in head


def test_a_preflight_is_refused(server: Server) -> None:
    asked = (("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST"))
    answer = server.ask("OPTIONS", "/api/explain", server.host, *asked)
    assert answer.status == 403
    assert_headers(answer.headers)


@pytest.mark.parametrize("path", ["/x", "//", "//evil.example/", "/api/explain/x", "/..%2f", "/page", "/page/", "/%00"])
def test_what_is_not_there(server: Server, path: str) -> None:
    answer = server.get(path)
    assert (answer.status, answer.told) == (404, "there is nothing here; open /")
    assert_headers(answer.headers)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/"), ("POST", "/api"), ("GET", "/api/explain"), ("GET", "/page/show")]
)
def test_what_is_asked_in_another_way(server: Server, method: str, path: str) -> None:
    answer = server.ask(method, path, server.host, *server.of(QUESTION), body=QUESTION)
    assert (answer.status, answer.told) == (405, "is asked for in another way; see /api")
    assert_headers(answer.headers)


def assert_headers(headers: object) -> None:
    """What every answer has, and what none has."""
    given = [(name.lower(), value) for name, value in headers.items()]  # type: ignore[attr-defined]
    names = [name for name, _ in given]
    assert not [name for name in names if name.startswith("access-control-")]
    assert len(set(names)) == len(names)
    told = dict(given)
    assert told["x-content-type-options"] == "nosniff"
    assert told["x-frame-options"] == "DENY"
    assert told["referrer-policy"] == "no-referrer"
    assert told["cross-origin-opener-policy"] == told["cross-origin-resource-policy"] == "same-origin"
    assert told["cache-control"] == "no-store"
    rules = policy(told["content-security-policy"])
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == rules["frame-ancestors"] == ["'none'"]


def policy(text: str) -> dict[str, list[str]]:
    """What a Content-Security-Policy allows."""
    return {name: values for name, *values in (rule.split() for rule in text.split(";"))}


ANSWERS = {
    "the page": ("GET", "/", (), b"", 200),
    "the schema": ("GET", "/api", (), b"", 200),
    "an answer": ("POST", "/api/explain", (JSON,), QUESTION, 200),
    "what the page shows": ("POST", "/page/show", (JSON,), b'{"texts": %s}' % QUESTION, 200),
    "a fault of the texts": ("POST", "/api/explain", (JSON,), b"{}", 422),
    "another kind of content": ("POST", "/api/explain", (), b"{}", 415),
    "another origin": ("POST", "/api/explain", (JSON, ("Origin", "http://evil.example")), b"{}", 403),
    "nothing there": ("GET", "/favicon.ico", (("Origin", "http://evil.example"),), b"", 404),
    "a redirection": ("GET", "/api/", (), b"", 307),
    "no HTTP": ("G\0T", "/", (), b"", 400),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_every_answer_has_the_headers_that_keep_others_out(server: Server, case: str) -> None:
    method, path, headers, body, status = ANSWERS[case]
    answer = server.ask(method, path, server.host, *headers, ("Content-Length", str(len(body))), body=body)
    assert answer.status == status
    assert_headers(answer.headers)
    if status >= 400:
        assert answer.headers["content-type"] == "application/json"
        assert all("\n" not in text for text in answer.json["errors"].values())


class Parts(HTMLParser):
    """The styles and scripts of a page, and what a policy of hashes does not let pass."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"style": [], "script": []}
        self.forbidden: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_data = tag == "script" and dict(attrs).get("type") == "application/json"
        self._inside = tag if tag in self.found and not is_data else None
        if self._inside:
            self.found[tag].append("")
        # The attributes that a browser obeys only with 'unsafe-inline', or that lead elsewhere.
        self.forbidden += [name for name, _ in attrs if name in ("style", "src") or name.startswith("on")]

    def handle_endtag(self, _tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[self._inside][-1] += data


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("opened", [None, {"pod": "</script><style>x</style>\r\n<script>é\u2028\0"}])
def test_the_page_may_run_what_is_written_in_it_and_nothing_else(opened: dict[str, str] | None) -> None:
    with server_here(opened=opened) as server:
        answer = server.get("/")
        question = {"texts": {"machine": "dgx-h100", "pod": "metadata: {name: p}\nspec: {containers: [{name: c}]}"}}
        drawing = Parts(server.asked("/page/show", question).json["html"])
    rules = policy(answer.headers["content-security-policy"])
    page = Parts(answer.body.decode())
    [script] = page.found["script"]
    assert rules["script-src"] == [hashed(script)]
    assert drawing.found["script"] == []
    assert drawing.found["style"]
    assert set(rules["style-src"]) == {hashed(text) for text in page.found["style"] + drawing.found["style"]}
    assert rules["connect-src"] == ["'self'"]
    assert (page.forbidden, drawing.forbidden) == ([], [])


def own_addresses() -> list[str]:
    """The addresses of this machine's ways out; nothing is sent."""
    found = []
    for family, elsewhere in ((socket.AF_INET, "198.51.100.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            try:
                asked.connect((elsewhere, 9))
            except OSError:  # it has none
                continue
            found.append(asked.getsockname()[0])
    return found


def test_nobody_listens_but_on_loopback() -> None:
    with serve_command() as command:
        addresses = ["127.0.0.2", *own_addresses()]  # the first one is of every machine
        for address in addresses:
            with pytest.raises(OSError, match=re.compile("refused|unreachable", re.IGNORECASE)):
                socket.create_connection((address, command.server.port))
        assert command.server.get("/").status == 200


def test_both_families_of_loopback_have_the_same_port() -> None:
    sockets = listening(0)
    try:
        assert {one.getsockname()[:2] for one in sockets} <= {
            (host, sockets[0].getsockname()[1]) for host in ("127.0.0.1", "::1")
        }
        assert sockets[0].getsockname()[0] == "127.0.0.1"
    finally:
        for one in sockets:
            one.close()
