"""The application: the page, its API, and every answer that is not one as a line of JSON."""

import asyncio
import base64
import hashlib
import re
import sys
import traceback
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from numaproof.harness.drawing.svg_parts import STYLE
from numaproof.harness.http.bodies import read_body
from numaproof.harness.http.guard import Guard, own_names
from numaproof.harness.serve.inputs import LARGEST_BODY, schema
from numaproof.harness.serve.page import playground
from numaproof.harness.serve.pool import LimitError, Pool

_JSON = "application/json"
_INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


def application(pool: Pool, port: int, opened: dict[str, str] | None = None) -> ASGIApp:
    """Everything behind the guard; `opened`: the texts that the page starts with."""
    page = playground(opened)
    headers = {"content-security-policy": _policy(page)}

    async def index(_request: Request) -> Response:
        return HTMLResponse(page, headers=headers)

    async def fields(_request: Request) -> Response:
        return JSONResponse(schema())

    routes = [
        Route("/", index),
        Route("/api", fields),
        Route("/api/explain", _computed(pool, "explain"), methods=["POST"]),
    ]
    routes += [Route(f"/page/{kind}", _computed(pool, kind), methods=["POST"]) for kind in ("show", "remedies", "page")]
    told = {HTTPException: _told, ClientDisconnect: _nobody, Exception: _ours}
    return Guard(Starlette(routes=routes, exception_handlers=told), own_names(port), telling)


def _computed(pool: Pool, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = await _body(request)
        work = asyncio.create_task(pool.answer(kind, body))
        gone = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnect
            status, found = work.result()
        except LimitError as error:
            return _error(503, str(error))
        finally:
            work.cancel()
            gone.cancel()
        return Response(found, status, media_type=_JSON)

    return answer


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    """The body, if it is JSON, small and there in time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise HTTPException(415, f"Content-Type is not {_JSON}; send JSON with that type")
    return await read_body(request, LARGEST_BODY, "give less, or ask `numaproof explain`")


def telling(text: str) -> object:
    """An error as the page expects it: by field, here of none."""
    return {"errors": {"": text}}


def _error(status: int, text: str) -> Response:
    return JSONResponse(telling(text), status)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {404: "there is nothing here; open /", 405: "is asked for in another way; see /api"}
    found = _error(error.status_code, texts.get(error.status_code, error.detail))
    found.headers.update(error.headers or {})
    return found


async def _nobody(_request: Request, _error_: Exception) -> Response:
    """An answer that nobody waits for any more."""
    return Response()


async def _ours(_request: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    return _error(500, "numaproof itself failed at this, and says how where it was started; please report it")


def _policy(page: str) -> str:
    """What the page may do: run and look like what is written in it, and ask us."""
    allowed: dict[str, list[str]] = {"style": [_hash(STYLE)], "script": []}
    for kind, text in _INLINE.findall(page):
        allowed[kind].append(_hash(text))
    return (
        f"default-src 'none'; script-src {' '.join(allowed['script'])}; style-src {' '.join(allowed['style'])}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
