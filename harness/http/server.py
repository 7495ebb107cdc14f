"""A uvicorn that is bounded: heads and answers in time, so many connections, and an end that leaves none."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from numaproof.harness.http.refusals import CLOSE, Telling, refusal, refuse

HEAD_SECONDS = 10.0  # for the head of a request to come, on a new connection or on one that is kept
TAKING_SECONDS = 10.0  # for whoever asked to take more of an answer
MOST_CONNECTIONS = 128
ENDING_SECONDS = 2  # for what is being answered when the server ends
_LARGEST_HEAD = 16 << 10  # bytes


class BoundedProtocol(H11Protocol):
    """HTTP whose heads come and whose answers are taken in time, where uvicorn waits for ever."""

    telling: Telling
    _deadline: asyncio.TimerHandle | None = None  # of a head
    _stuck: asyncio.TimerHandle | None = None  # the end of a connection on which an answer is not taken

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self.app = self._busy
        if len(self.connections) > 2 * MOST_CONNECTIONS:
            transport.abort()  # nor are those without end who wait to be told
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
            headers, body = refusal(self.telling(told), CLOSE)
            events = h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    async def _busy(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        told = "too many connections are open; close some, and ask again"
        await refuse(send, 503, self.telling(told), CLOSE)

    def _await_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """A server that ends once there is something in a list."""

    def __init__(self, app: ASGIApp, telling: Telling, ended: Sequence[int]) -> None:
        """`telling`: how those who are refused are told, where no application sees them."""
        protocol = type("Protocol", (BoundedProtocol,), {"telling": staticmethod(telling)})
        config = uvicorn.Config(
            app,
            http=protocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # a fault of ours is told by the application
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(HEAD_SECONDS),
            timeout_graceful_shutdown=ENDING_SECONDS,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
        )
        super().__init__(config)
        self._ended = ended

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are noted by whoever starts us."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked some times a second."""
        return await super().on_tick(counter) or bool(self._ended)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is being asked, within limits; no connection is left, whatever its client does."""
        await super().shutdown(sockets)
        if tasks := tuple(self.server_state.tasks):  # cancelled by now
            await asyncio.wait(tasks)
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
