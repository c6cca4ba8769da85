"""The raw bytes of a request's body, within the limit of its route, before anybody looks at them."""

from fastapi import Request
from fastapi.params import Depends as Dependency
from starlette.requests import ClientDisconnect

from fgpr.errors import TooLarge, Unavailable

BODY_LIMIT = 2**20
"""Largest body, in bytes, of a route that names no limit of its own."""


def body_limit(limit: int) -> Dependency:
    """For `dependencies=[...]` of a route or a router: the largest body in bytes; a route's wins over its router's."""

    async def set_limit(request: Request) -> None:
        request.state.body_limit = limit

    # FastAPI runs the dependencies of that list first, a router's before a route's; a limit that came too late would
    # leave BODY_LIMIT in force.
    return Dependency(set_limit)


async def raw_body(request: Request) -> bytes:
    """The bytes of the body, read once within the limit of the route and before authentication.

    Raises:
        TooLarge: a Content-Length above the limit, refused unread; or more bytes than the limit.
        Unavailable: the client went away.
    """
    known: bytes | None = getattr(request.state, "raw_body", None)
    if known is not None:
        return known
    limit: int = getattr(request.state, "body_limit", BODY_LIMIT)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):
        raise TooLarge(f"the body is larger than the {limit} bytes that this route takes", limit=limit)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise TooLarge(f"the body is larger than the {limit} bytes that this route takes", limit=limit)
    except ClientDisconnect:
        raise Unavailable("the client went away before the end of its body") from None
    request.state.raw_body = bytes(body)
    return bytes(body)
