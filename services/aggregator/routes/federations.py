"""Rosters, priors, and leaving."""

from fastapi import APIRouter, Request, Response

from aggregator.routes.documents import documented
from aggregator.routes.wiring import FOR_EVER, GET, ContextDependency, Name, Number, SignedBy, tagged
from aggregator.service import enrolment, federations, rosters
from fgpr.errors import Conflict, UnknownResource
from fgpr.message import Signed
from fgpr.rest import PriorView
from fgpr.secagg.roster import Roster

router = APIRouter(prefix="/federations/{federation}", tags=["federation"])

NEWEST = "private, no-cache"
"""Cache-Control of what may have a successor: kept, and asked for each time."""


@router.api_route(
    "/rosters/{version}", methods=GET, **documented(Signed[Roster], UnknownResource, signed=False, tagged=True)
)
def roster(request: Request, context: ContextDependency, federation: Name, version: Number) -> Response:
    """A roster version; unsigned, since anybody may check who was admitted."""
    return tagged(request, rosters.roster(context, federation, version), f"public, {FOR_EVER}")


@router.api_route("/priors/latest", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
def latest_prior(request: Request, context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """The newest prior with its leaf in the audit log."""
    return tagged(request, federations.prior(context, caller, federation, None), NEWEST)


@router.api_route("/priors/{version}", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
def prior(
    request: Request, context: ContextDependency, caller: SignedBy, federation: Name, version: Number
) -> Response:
    """One version of the prior with its leaf in the audit log."""
    return tagged(request, federations.prior(context, caller, federation, version), f"private, {FOR_EVER}")


@router.delete("/clients/{client}", **documented(None, UnknownResource, Conflict, status=204))
def leave(context: ContextDependency, caller: SignedBy, federation: Name, client: Name) -> Response:
    """A client leaves: its key is revoked at once."""
    enrolment.leave(context, caller, federation, client)
    return Response(status_code=204)
