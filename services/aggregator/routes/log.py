"""The audit log: everybody may read it, unsigned."""

from fastapi import APIRouter, Response

from aggregator.routes.wiring import ContextDependency, Index, answer
from aggregator.service import audit

router = APIRouter(prefix="/log", tags=["audit log"])


@router.get("/checkpoint")
def checkpoint(context: ContextDependency) -> Response:
    """The newest signed checkpoint."""
    return answer(audit.newest(context))


@router.get("/entries")
def entries(context: ContextDependency, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many."""
    return answer(audit.entries(context, start, end))


@router.get("/inclusion")
def inclusion(context: ContextDependency, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves."""
    return answer(audit.inclusion(context, index, size))


@router.get("/consistency")
def consistency(context: ContextDependency, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves."""
    return answer(audit.consistency(context, old, new))
