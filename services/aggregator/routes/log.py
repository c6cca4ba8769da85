"""The audit log: everybody may read it, unsigned, unless a federation says otherwise; then whoever is enrolled here."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from aggregator.auth import signed_if_at_all
from aggregator.routes.documents import documented
from aggregator.routes.wiring import (
    GET,
    Index,
    WiringDependency,
    answer,
    context_of,
    next_page,
)
from aggregator.service import audit
from aggregator.service.log_door import LogDoor
from fgpr.errors import UnknownResource
from fgpr.rest import CheckpointView, LogEntries, LogProof


async def door(request: Request) -> LogDoor:
    """The door for the caller of a request; the route opens it in its own thread."""
    return LogDoor(await context_of(request), await signed_if_at_all(request))


Door = Annotated[LogDoor, Depends(door)]

router = APIRouter(prefix="/log", tags=["audit log"])


@router.api_route("/checkpoint", methods=GET, **documented(CheckpointView, UnknownResource, signed=None))
def checkpoint(log: Door) -> Response:
    """The newest signed checkpoint."""
    with log.open() as reading:
        return answer(audit.newest(log.context, reading))


@router.api_route("/entries", methods=GET, **documented(LogEntries, UnknownResource, signed=None))
def entries(found: WiringDependency, log: Door, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many."""
    with log.open() as reading:
        page = audit.entries(reading, start, end)
    more = start < page.end < end
    return answer(page, headers=next_page(found, "/v1/log/entries", start=page.end, end=end) if more else None)


@router.api_route("/inclusion", methods=GET, **documented(LogProof, UnknownResource, signed=None))
def inclusion(log: Door, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves."""
    with log.open() as reading:
        return answer(audit.inclusion(reading, index, size))


@router.api_route("/consistency", methods=GET, **documented(LogProof, UnknownResource, signed=None))
def consistency(log: Door, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves."""
    with log.open() as reading:
        return answer(audit.consistency(reading, old, new))
