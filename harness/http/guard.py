"""Who may ask: pages of our own and programs on this machine; what another site has a browser send is turned away."""

import asyncio
from collections.abc import Collection, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from numaproof.harness.http.refusals import CLOSE, Telling, refuse, with_own

_METHODS = ("GET", "POST")


def own_names(port: int) -> frozenset[str]:
    """What a browser calls us in the header Host; any other name was made to lead here by somebody else."""
    names = {f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]")}
    return frozenset(names | ({"127.0.0.1", "localhost", "[::1]"} if port == 80 else set()))


def objection(method: str, headers: Mapping[str, str], names: Collection[str]) -> str | None:
    """Why a request is turned away; None: it is not."""
    host = headers.get("host", "").lower()
    if host not in names:
        return f"Host is not one of {', '.join(sorted(names))}; open the address that was printed"
    site = headers.get("sec-fetch-site", "none")
    if site not in ("none", "same-origin") and (
        method != "GET" or headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"
    ):
        return f"another site asks (Sec-Fetch-Site: {site[:20]}); open the address that was printed"
    if method == "GET":
        return None
    if headers.get("origin", f"http://{host}").lower() != f"http://{host}":
        return "Origin is not this server; open the address that was printed"
    return None


class Guard:
    """An application behind these rules; only GET and POST come through."""

    def __init__(self, app: ASGIApp, names: Collection[str] | None, telling: Telling) -> None:
        """`names`: what we are called; None: by any name, as where no browser comes."""
        self._app = app
        self._names = names
        self._telling = telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        has_begun = asyncio.Event()

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                has_begun.set()
                message = {**message, "headers": with_own(message.get("headers", []))}
            await send(message)

        told = None if self._names is None else objection(scope["method"], headers, self._names)
        if told is not None:
            await refuse(send, 403, self._telling(told))
        elif scope["method"] not in _METHODS:
            allowed = (b"allow", ", ".join(_METHODS).encode())
            await refuse(send, 405, self._telling("only GET and POST are known"), allowed)
        else:
            try:
                await self._app(scope, receive, guarded)
            except asyncio.CancelledError:  # the server ends before this is answered
                if has_begun.is_set():
                    raise
                await refuse(send, 503, self._telling("the server was ended; start it again"), CLOSE)
