"""The server: sockets on loopback alone, limits of connections, and a clean end by Ctrl-C or SIGTERM."""

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from numaproof.errors import UserError
from numaproof.harness.serve.app import application
from numaproof.harness.serve.pool import Pool

HEAD_SECONDS = 10.0  # for the head of a request to come, on a new connection or on one that is kept
_MOST_CONNECTIONS = 128
_LARGEST_HEAD = 16 << 10  # bytes
_TRIES = 20  # of a free port that has to be free in both families


class BoundedProtocol(H11Protocol):
    """HTTP whose heads come in time: uvicorn itself waits for them for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def _await_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def listening(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where there is IPv6, on ::1, with the same port; 0: one that is free in both."""
    for _ in range(_TRIES):
        first = _bound(socket.AF_INET, "127.0.0.1", port)
        number = first.getsockname()[1]
        try:
            return [first, _bound(socket.AF_INET6, "::1", number)]
        except UserError:
            if port:
                first.close()
                raise
            first.close()
        except OSError:  # no IPv6 here
            return [first]
    raise UserError("--port: no port was found that is free in IPv4 and IPv6; choose one")


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    """A UserError where somebody has the port; an OSError where there is no such address."""
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise UserError(f"--port {port}: cannot be had ({error.strerror}); choose another one, or none") from None
        raise
    return made


def serve(
    sockets: list[socket.socket], time_limit: int, opened: dict[str, str] | None, ready: Callable[[], None]
) -> signal.Signals:
    """Serve until a signal comes, which is the result; `ready` is called once answers can be given."""
    ended: list[int] = []
    before = {
        number: signal.signal(number, lambda caught, _frame: ended.append(caught))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with contextlib.ExitStack() as stack:
            for one in sockets:
                stack.callback(one.close)
            asyncio.run(_served(sockets, time_limit, opened, ready, ended))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return signal.Signals(ended[0])


async def _served(
    sockets: list[socket.socket],
    time_limit: int,
    opened: dict[str, str] | None,
    ready: Callable[[], None],
    ended: list[int],
) -> None:
    async with Pool(time_limit).opened() as pool:
        config = uvicorn.Config(
            application(pool, sockets[0].getsockname()[1], opened),
            http=BoundedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=int(HEAD_SECONDS),
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
        )
        ready()
        if not ended:  # a signal that comes while all is set up
            await uvicorn.Server(config).serve(sockets)
