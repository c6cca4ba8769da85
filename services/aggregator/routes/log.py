"""The audit log: everybody may read it, unsigned, unless a federation says otherwise; then whoever is enrolled here."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from aggregator.auth import signed_if_at_all
from aggregator.routes.documents import documented
from aggregator.routes.wiring import (
    FOR_EVER,
    GET,
    Index,
    WiringDependency,
    answer,
    next_page,
    tagged,
    wiring,
    written,
)
from aggregator.service import audit
from aggregator.service.log_door import LogDoor
from aggregator.storage.engine import Connection
from fgpr.errors import UnknownResource
from fgpr.rest import CheckpointView, LogEntries, LogProof


async def door(request: Request) -> LogDoor:
    """The door for the caller of a request."""
    found = await wiring(request)
    return LogDoor(found.context, await signed_if_at_all(request), found.together)


Door = Annotated[LogDoor, Depends(door)]

router = APIRouter(prefix="/log", tags=["audit log"])

NEWEST = "no-cache"
"""Cache-Control of what may grow: kept, and asked for each time."""


@router.api_route("/checkpoint", methods=GET, **documented(CheckpointView, UnknownResource, signed=None))
async def checkpoint(log: Door) -> Response:
    """The newest signed checkpoint, and the key that signed it."""
    return answer(await log.read(lambda reading: written(audit.newest(log.context, reading)), "checkpoint"))


@router.api_route("/entries", methods=GET, **documented(LogEntries, UnknownResource, signed=None, tagged=True))
async def entries(request: Request, found: WiringDependency, log: Door, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many.

    Where all of them are there, or as many as one answer holds, they may be kept for ever.
    """

    def find(reading: Connection) -> tuple[bytes, int, str]:
        page, final = audit.entries(reading, start, end)
        return written(page), page.end, _kept(reading) if final else NEWEST

    body, page_end, cache = await log.read(find, "entries", start, end)
    response = tagged(request, body, cache)
    if start < page_end < end:
        response.headers.update(next_page(found, "/v1/log/entries", start=page_end, end=end))
    return response


@router.api_route("/inclusion", methods=GET, **documented(LogProof, UnknownResource, signed=None, tagged=True))
async def inclusion(request: Request, log: Door, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves; it never changes."""
    body, cache = await log.read(
        lambda reading: (written(audit.inclusion(reading, index, size)), _kept(reading)), "inclusion", index, size
    )
    return tagged(request, body, cache)


@router.api_route("/consistency", methods=GET, **documented(LogProof, UnknownResource, signed=None, tagged=True))
async def consistency(request: Request, log: Door, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves; it never changes."""
    body, cache = await log.read(
        lambda reading: (written(audit.consistency(reading, old, new)), _kept(reading)), "consistency", old, new
    )
    return tagged(request, body, cache)


def _kept(reading: Connection) -> str:
    """Cache-Control of what never changes: of a closed log nobody else may keep it."""
    return f"{'public' if audit.is_public(reading) else 'private'}, {FOR_EVER}"
