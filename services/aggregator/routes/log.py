"""The audit log: everybody may read it, unsigned, unless a federation says otherwise; then whoever is enrolled here."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from aggregator.routes.documents import documented
from aggregator.routes.wiring import (
    GET,
    ContextDependency,
    Index,
    MaybeSignedBy,
    WiringDependency,
    answer,
    next_page,
)
from aggregator.service import audit
from aggregator.service.context import Context
from fgpr.errors import UnknownResource
from fgpr.rest import CheckpointView, LogEntries, LogProof


def readable(context: ContextDependency, caller: MaybeSignedBy) -> Context:
    """The context, for a caller who may read the log.

    Raises:
        Unauthenticated, Forbidden: the log is not public, and the caller is not enrolled here.
    """
    audit.check_reader(context, caller)
    return context


Readable = Annotated[Context, Depends(readable)]

router = APIRouter(prefix="/log", tags=["audit log"])


@router.api_route("/checkpoint", methods=GET, **documented(CheckpointView, UnknownResource, signed=None))
def checkpoint(context: Readable) -> Response:
    """The newest signed checkpoint."""
    return answer(audit.newest(context))


@router.api_route("/entries", methods=GET, **documented(LogEntries, UnknownResource, signed=None))
def entries(found: WiringDependency, context: Readable, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many."""
    page = audit.entries(context, start, end)
    more = start < page.end < end
    return answer(page, headers=next_page(found, "/v1/log/entries", start=page.end, end=end) if more else None)


@router.api_route("/inclusion", methods=GET, **documented(LogProof, UnknownResource, signed=None))
def inclusion(context: Readable, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves."""
    return answer(audit.inclusion(context, index, size))


@router.api_route("/consistency", methods=GET, **documented(LogProof, UnknownResource, signed=None))
def consistency(context: Readable, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves."""
    return answer(audit.consistency(context, old, new))
