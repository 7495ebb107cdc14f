"""Bodies of requests, whose size and time are bounded."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request

from numaproof.harness.http.refusals import CLOSE

BODY_SECONDS = 10.0  # for a body to come
_CLOSING = {name.decode(): value.decode() for name, value in (CLOSE,)}


async def read_body(request: Request, largest: int, remedy: str) -> bytes:
    """The body of a request; an HTTPException if it is too large, or does not come in time."""
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for block in request.stream():
                found += block
                if len(found) > largest:
                    raise HTTPException(413, f"the body is larger than {largest} bytes; {remedy}", _CLOSING)
    except TimeoutError:
        raise HTTPException(408, "the body did not come in time; send it again", _CLOSING) from None
    return bytes(found)
