"""The node's HTTP side: its pages, and what may be posted, on a private unix socket and, if wanted, a loopback port."""

import json
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.node.plugins.sockets import fits
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH

Page = Callable[[], tuple[str, str]]  # answers (content type, text)
# Answers (status, JSON) to a path, the `Authorization` and a body; None: nothing is to be had at that path.
Post = Callable[[str, str | None, bytes], tuple[int, object] | None]
LONGEST_BODY = 64 << 10


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    timeout = 30  # a client that connects and says nothing does not hold its thread for ever

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        kind, text = page() if page else ("text/plain", f"not found; there is {', '.join(self.server.pages)}\n")
        self._answer(200 if page else 404, kind, text)

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        is_number = length.isascii() and length.isdigit()
        # int() takes no text of any length.
        if not is_number or len(length) > 9 or int(length) > LONGEST_BODY:
            self.close_connection = True  # what follows is not read
            status = 413 if is_number else 411
            self._answer(status, *json_page({"message": f"give a Content-Length of at most {LONGEST_BODY} bytes"}))
            return
        body = self.rfile.read(int(length))
        path, authorization = self.path.partition("?")[0], self.headers.get("Authorization")
        answers = (post(path, authorization, body) for post in self.server.posts)
        answer = next((one for one in answers if one is not None), None)
        status, value = answer or (404, {"message": f"{self.path}: nothing is to be posted there"})
        self._answer(status, *json_page(value))

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "local"  # the peer of a unix socket has no address

    def log_message(self, *_arguments: Any) -> None:
        """Requests are not logged: scrapers come every few seconds."""


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, pages: Mapping[str, Page], posts: Sequence[Post]) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.pages = pages
        self.posts = posts

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, _peer = self.socket.accept()
        return connection, ("local", 0)

    def handle_error(self, *_arguments: Any) -> None:
        """A client that hangs up in the middle is nothing to tell of."""


class WebServer:
    """Serves pages from construction until `close`."""

    def __init__(self, path: Path, port: int | None, pages: Mapping[str, Page], posts: Sequence[Post] = ()) -> None:
        self._path = path
        self._servers = [_Server(_unix_socket(path), pages, posts)]
        self.port: int | None = None
        try:
            if port is not None:
                listening = _loopback_socket(port)
                self.port = listening.getsockname()[1]
                self._servers.append(_Server(listening, pages, posts))
        except UserError:
            self.close()
            raise
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.05,), name="http", daemon=True)
            for server in self._servers
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Take no more requests."""
        for server, thread in zip(self._servers, getattr(self, "_threads", ()), strict=False):
            server.shutdown()
            thread.join()
        for server in self._servers:
            server.server_close()
        self._path.unlink(missing_ok=True)


def _unix_socket(path: Path) -> socket.socket:
    if not fits(path):
        raise UserError(
            f"{path}: is longer than the {LONGEST_SOCKET_PATH} bytes of a unix socket's path; use a shorter root"
        )
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    path.chmod(0o600)
    listening.listen(64)
    return listening


def _loopback_socket(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UserError(
            f"--port {port}: cannot listen there ({error}); choose another, or 0 for any free one"
        ) from None
    listening.listen(64)
    return listening


def json_page(value: object) -> tuple[str, str]:
    """A page of JSON."""
    return "application/json", json.dumps(value) + "\n"
