"""Who may ask: pages of our own and programs on this machine; what another site has a browser send is turned away."""

import json
from collections.abc import Collection, Mapping
from typing import Any

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
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


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

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                given = list(message.get("headers", []))
                if not any(name == b"content-security-policy" for name, _ in given):
                    own.append((b"content-security-policy", NOTHING.encode()))
                message = {**message, "headers": [*given, *own]}
            await send(message)

        told = objection(scope["method"], headers, self._names)
        if told is not None:
            await _refuse(guarded, 403, told)
        elif scope["method"] not in ("GET", "POST"):
            await _refuse(guarded, 405, "only GET and POST are known")
        else:
            await self._app(scope, receive, guarded)


async def _refuse(send: Send, status: int, text: str) -> None:
    body = json.dumps({"errors": {"": text}}).encode()
    headers: list[Any] = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 405:
        headers.append((b"allow", b"GET, POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
