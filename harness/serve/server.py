"""The playground's server: sockets on loopback alone, and a clean end by a signal."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Sequence

from numaproof.errors import UserError
from numaproof.harness.ending import held_back
from numaproof.harness.http.server import Server
from numaproof.harness.serve.app import application, telling
from numaproof.harness.serve.pool import Pool

_TRIES = 20  # of a free port that has to be free in both families


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
        app = application(pool, sockets[0].getsockname()[1], opened)
        ready()
        await Server(app, telling, ended).serve(sockets)
