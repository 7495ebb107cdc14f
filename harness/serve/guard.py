"""Who may ask: pages of our own and programs on this machine; what another site has a browser send is turned away."""

import asyncio
import json
from collections.abc import Collection, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What every answer has; a page has a Content-Security-Policy of its own.
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

_CLOSE = (b"connection", b"close")


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

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        has_begun = asyncio.Event()

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                has_begun.set()
                message = {**message, "headers": _with_own(message.get("headers", []))}
            await send(message)

        told = objection(scope["method"], headers, self._names)
        if told is not None:
            await _refuse(send, 403, told)
        elif scope["method"] not in ("GET", "POST"):
            await _refuse(send, 405, "only GET and POST are known", (b"allow", b"GET, POST"))
        else:
            try:
                await self._app(scope, receive, guarded)
            except asyncio.CancelledError:  # the server ends before this is answered
                if has_begun.is_set():
                    raise
                await _refuse(send, 503, "the server was ended; start it again", _CLOSE)


async def busy(_scope: Scope, _receive: Receive, send: Send) -> None:
    """An application that turns everybody away."""
    await _refuse(send, 503, "too many connections are open; close some, and ask again", _CLOSE)


def refusal(text: str, *more: tuple[bytes, bytes]) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers and the body of an answer that is none."""
    body = json.dumps({"errors": {"": text}}).encode()
    kind = (b"content-type", b"application/json")
    return _with_own([kind, (b"content-length", str(len(body)).encode()), *more]), body


async def _refuse(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    headers, body = refusal(text, *more)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_own(given: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    own = {"content-security-policy": _NOTHING, **HEADERS}
    told = {name for name, _ in given}
    return [*given, *((name.encode(), value.encode()) for name, value in own.items() if name.encode() not in told)]
