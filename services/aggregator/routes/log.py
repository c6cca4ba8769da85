"""The audit log: everybody may read it, unsigned, unless a federation says otherwise; then whoever is enrolled here."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from aggregator.routes.wiring import ContextDependency, Index, MaybeSignedBy, answer
from aggregator.service import audit
from aggregator.service.context import Context


def readable(context: ContextDependency, caller: MaybeSignedBy) -> Context:
    """The context, for a caller who may read the log.

    Raises:
        Unauthenticated, Forbidden: the log is not public, and the caller is not enrolled here.
    """
    audit.check_reader(context, caller)
    return context


Readable = Annotated[Context, Depends(readable)]

router = APIRouter(prefix="/log", tags=["audit log"])


@router.get("/checkpoint")
def checkpoint(context: Readable) -> Response:
    """The newest signed checkpoint."""
    return answer(audit.newest(context))


@router.get("/entries")
def entries(context: Readable, start: Index, end: Index) -> Response:
    """Leaves `start` up to, not including, `end`; fewer where there are fewer or too many."""
    return answer(audit.entries(context, start, end))


@router.get("/inclusion")
def inclusion(context: Readable, index: Index, size: Index) -> Response:
    """Proof that leaf `index` is in the tree of the first `size` leaves."""
    return answer(audit.inclusion(context, index, size))


@router.get("/consistency")
def consistency(context: Readable, old: Index, new: Index) -> Response:
    """Proof that the tree of `new` leaves begins with that of `old` leaves."""
    return answer(audit.consistency(context, old, new))
