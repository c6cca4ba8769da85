"""The audit log: everybody may read it, unsigned."""

from fastapi import APIRouter, Response

from aggregator.routes.documents import documented
from aggregator.routes.wiring import GET, ContextDependency, Index, WiringDependency, answer, next_page
from aggregator.service import audit
from fgpr.errors import UnknownResource
from fgpr.rest import CheckpointView, LogEntries, LogProof

router = APIRouter(prefix="/log", tags=["audit log"])


@router.api_route("/checkpoint", methods=GET, **documented(CheckpointView, UnknownResource, signed=False))
def checkpoint(context: ContextDependency) -> Response:
    """The newest signed checkpoint."""
    return answer(audit.newest(context))


@router.api_route("/entries", methods=GET, **documented(LogEntries, UnknownResource, signed=False))
def entries(found: WiringDependency, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many."""
    page = audit.entries(found.context, start, end)
    more = start < page.end < end
    return answer(page, headers=next_page(found, "/v1/log/entries", start=page.end, end=end) if more else None)


@router.api_route("/inclusion", methods=GET, **documented(LogProof, UnknownResource, signed=False))
def inclusion(context: ContextDependency, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves."""
    return answer(audit.inclusion(context, index, size))


@router.api_route("/consistency", methods=GET, **documented(LogProof, UnknownResource, signed=False))
def consistency(context: ContextDependency, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves."""
    return answer(audit.consistency(context, old, new))
