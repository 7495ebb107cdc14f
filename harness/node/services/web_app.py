"""The application behind the node's HTTP side: pages, posts, and every answer that is neither as a line."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from numaproof.harness.http.bodies import read_body
from numaproof.harness.http.refusals import CLOSE
from numaproof.harness.node.services.web import Page, Post, json_page

LONGEST_BODY = 64 << 10
_REMEDY = f"give a Content-Length of at most {LONGEST_BODY} bytes"
_CLOSING = {name.decode(): value.decode() for name, value in (CLOSE,)}

_FRAMES = 3  # of a traceback, in the line that is logged

_Endpoint = Callable[[Request], Awaitable[Response]]


def application(
    pages: Mapping[str, Page], posts: Sequence[Post], executor: Executor, log: Callable[[str], None]
) -> Starlette:
    """Pages at their paths, posts at any; the executor makes the answers, and what fails is logged."""

    async def failed(request: Request, error: Exception) -> Response:
        told = f"{request.method} {request.scope['path']} failed"
        text = " ".join(str(error).split())
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        places = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        log(f"{told}: {type(error).__name__}: {text} ({places})")
        return _json(500, telling(f"{told}: the node's log says how"))

    routes = [Route(path, _page(page, executor), methods=["GET"]) for path, page in pages.items()]
    routes.append(Route("/{path:path}", _nothing(pages), methods=["GET"]))
    routes.append(Route("/{path:path}", _posted(posts, executor), methods=["POST"]))
    told = {HTTPException: _told, ClientDisconnect: _nobody, Exception: failed}
    return Starlette(routes=routes, exception_handlers=told)


def telling(text: str) -> object:
    """An error as those who post expect it."""
    return {"message": text}


def _page(page: Page, executor: Executor) -> _Endpoint:
    async def answer(_request: Request) -> Response:
        kind, text = await asyncio.get_running_loop().run_in_executor(executor, page)
        return Response(text, headers={"content-type": f"{kind}; charset=utf-8"})

    return answer


def _nothing(pages: Mapping[str, Page]) -> _Endpoint:
    async def answer(_request: Request) -> Response:
        return PlainTextResponse(f"not found; there is {', '.join(pages)}\n", 404)

    return answer


def _posted(posts: Sequence[Post], executor: Executor) -> _Endpoint:
    def found(path: str, authorization: str | None, body: bytes) -> tuple[int, object]:
        answers = (post(path, authorization, body) for post in posts)
        answer = next((one for one in answers if one is not None), None)
        return answer or (404, telling(f"{path}: nothing is to be posted there"))

    async def answer(request: Request) -> Response:
        length = request.headers.get("content-length")
        if length is None or int(length) > LONGEST_BODY:
            raise HTTPException(411 if length is None else 413, _REMEDY, _CLOSING)  # what follows is not read
        body = await read_body(request, LONGEST_BODY, _REMEDY)
        asked = (request.scope["path"], request.headers.get("authorization"), body)
        return _json(*await asyncio.get_running_loop().run_in_executor(executor, found, *asked))

    return answer


async def _told(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(error.status_code, telling(error.detail), error.headers)


async def _nobody(_request: Request, _error: Exception) -> Response:
    """An answer that nobody waits for any more."""
    return Response()


def _json(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    kind, text = json_page(value)
    return Response(text, status, {"content-type": f"{kind}; charset=utf-8", **(headers or {})})
