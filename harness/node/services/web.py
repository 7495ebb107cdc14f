"""The node's HTTP side: its pages, and what may be posted, on a private unix socket and, if wanted, a loopback port."""

import asyncio
import contextlib
import json
import os
import selectors
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.node.plugins.sockets import fits
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH

Page = Callable[[], tuple[str, str]]  # answers (content type, text)
# Answers (status, JSON) to a path, the `Authorization` and a body; None: nothing is to be had at that path.
Post = Callable[[str, str | None, bytes], tuple[int, object] | None]


class WebServer:
    """Serves pages from construction until `close`.

    Until somebody connects this is a thread that waits: most nodes of a run are never asked, and a loop and the
    libraries would cost them more than all the rest.
    """

    def __init__(
        self,
        path: Path,
        port: int | None,
        pages: Mapping[str, Page],
        posts: Sequence[Post] = (),
        *,
        executor: Executor,  # makes the answers; who closes us ends it
        log: Callable[[str], None],
    ) -> None:
        self._pages = pages
        self._posts = posts
        self._executor = executor
        self._log = log
        self.port: int | None = None
        self._ended: list[int] = []
        with contextlib.ExitStack() as stack:
            self._sockets = [stack.enter_context(_unix_socket(path))]
            stack.callback(path.unlink, missing_ok=True)
            if port is not None:
                self._sockets.append(stack.enter_context(_loopback_socket(port)))
                self.port = self._sockets[-1].getsockname()[1]
            woken, self._wake = os.pipe()
            stack.callback(os.close, self._wake)
            stack.callback(os.close, woken)
            self._thread = threading.Thread(target=self._run, args=(woken,), name="http", daemon=True)
            self._thread.start()
            stack.callback(self._thread.join)
            stack.callback(self._end)
            self._parts = stack.pop_all()

    def close(self) -> None:
        """Take no more requests; what is being answered has some seconds."""
        self._parts.close()

    def _end(self) -> None:
        self._ended.append(0)
        os.write(self._wake, b"!")

    def _run(self, woken: int) -> None:
        with selectors.DefaultSelector() as selector:
            for descriptor in (*(one.fileno() for one in self._sockets), woken):
                selector.register(descriptor, selectors.EVENT_READ)
            selector.select()
        if not self._ended:
            asyncio.run(self._served())

    async def _served(self) -> None:
        # The libraries come with the first who asks.
        from numaproof.harness.http.guard import Guard, own_names  # noqa: PLC0415
        from numaproof.harness.http.server import Server  # noqa: PLC0415
        from numaproof.harness.node.services.web_app import application, telling  # noqa: PLC0415

        app = application(self._pages, self._posts, self._executor, self._log)
        serving = []
        for one in self._sockets:
            # No browser speaks to a unix socket: there is no name that it would have to call us.
            names = None if one.family == socket.AF_UNIX else own_names(one.getsockname()[1])
            serving.append(Server(Guard(app, names, telling), telling, self._ended).serve([one]))
        await asyncio.gather(*serving)


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
