"""The server: sockets on loopback alone, limits of connections, and a clean end by a signal."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Sequence

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from numaproof.errors import UserError
from numaproof.harness.ending import held_back
from numaproof.harness.serve.app import application
from numaproof.harness.serve.guard import busy, refusal
from numaproof.harness.serve.pool import Pool

HEAD_SECONDS = 10.0  # for the head of a request to come, on a new connection or on one that is kept
TAKING_SECONDS = 10.0  # for whoever asked to take more of an answer
MOST_CONNECTIONS = 128
_LARGEST_HEAD = 16 << 10  # bytes
_TRIES = 20  # of a free port that has to be free in both families


class BoundedProtocol(H11Protocol):
    """HTTP whose heads come and whose answers are taken in time, where uvicorn waits for ever."""

    _deadline: asyncio.TimerHandle | None = None  # of a head
    _stuck: asyncio.TimerHandle | None = None  # the end of a connection on which an answer is not taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self.app = busy
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()
        self.resume_writing()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(TAKING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def send_400_response(self, msg: str) -> None:
        """What no application sees is refused in our way; where an answer has begun, nothing more can be said."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            told = f"is not HTTP/1.1, or has a head of more than {_LARGEST_HEAD} bytes; send less, and as HTTP wants it"
            headers, body = refusal(told, (b"connection", b"close"))
            events = h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    def _await_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

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


class _Server(uvicorn.Server):
    """A server that ends once there is something in a list."""

    def __init__(self, config: uvicorn.Config, ended: Sequence[int]) -> None:
        super().__init__(config)
        self._ended = ended

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked some times a second."""
        return await super().on_tick(counter) or bool(self._ended)


def serve(
    sockets: list[socket.socket], time_limit: int, opened: dict[str, str] | None, ready: Callable[[], None]
) -> None:
    """Serve until a signal comes, which then ends the command; `ready` is called once answers can be given."""
    with contextlib.ExitStack() as stack:
        for one in sockets:
            stack.callback(one.close)
        ended = stack.enter_context(held_back())
        asyncio.run(served(sockets, time_limit, opened, ready, ended))


async def served(
    sockets: list[socket.socket],
    time_limit: int,
    opened: dict[str, str] | None,
    ready: Callable[[], None],
    ended: Sequence[int],
) -> None:
    """Serve until there is something in `ended`."""
    async with Pool(time_limit).opened() as pool:
        config = uvicorn.Config(
            application(pool, sockets[0].getsockname()[1], opened),
            http=BoundedProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # a fault of ours is told by the application
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(HEAD_SECONDS),
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
        )
        ready()
        await _Server(config, ended).serve(sockets)
