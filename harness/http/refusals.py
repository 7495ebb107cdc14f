"""Answers that are none: a line of JSON each, with the headers that every answer has."""

import json
from collections.abc import Callable, Collection

from starlette.types import Send

Telling = Callable[[str], object]  # makes of a line the JSON that a server's clients look for it in
Header = tuple[bytes, bytes]

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

CLOSE = (b"connection", b"close")


def refusal(told: object, *more: Header) -> tuple[list[Header], bytes]:
    """The headers and the body of an answer that is none."""
    body = json.dumps(told).encode() + b"\n"
    kind = (b"content-type", b"application/json")
    return with_own([kind, (b"content-length", str(len(body)).encode()), *more]), body


async def refuse(send: Send, status: int, told: object, *more: Header) -> None:
    """Answer so."""
    headers, body = refusal(told, *more)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def with_own(given: Collection[Header]) -> list[Header]:
    """The headers of an answer, with what every one has."""
    own = {"content-security-policy": _NOTHING, **HEADERS}
    told = {name for name, _ in given}
    return [*given, *((name.encode(), value.encode()) for name, value in own.items() if name.encode() not in told)]
