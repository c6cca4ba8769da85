"""Rosters, priors, another key, and leaving."""

from fastapi import APIRouter, Request, Response

from aggregator.routes.documents import documented
from aggregator.routes.log import Door
from aggregator.routes.wiring import FOR_EVER, GET, Body, ContextDependency, Name, Number, SignedBy, answer, tagged
from aggregator.service import audit, enrolment, federations, rosters, rotation
from fgpr.errors import Conflict, QuotaExceeded, UnknownResource
from fgpr.message import Signed
from fgpr.rest import PriorView
from fgpr.rotation import RotationReceipt, RotationRequest
from fgpr.secagg.roster import Roster

router = APIRouter(prefix="/federations/{federation}", tags=["federation"])

NEWEST = "private, no-cache"
"""Cache-Control of what may have a successor: kept, and asked for each time."""


@router.api_route(
    "/rosters/{version}", methods=GET, **documented(Signed[Roster], UnknownResource, signed=None, tagged=True)
)
def roster(request: Request, log: Door, federation: Name, version: Number) -> Response:
    """A roster version; unsigned where the log that holds it is public, since anybody may check who was admitted."""
    with log.open() as reading:
        cache = f"public, {FOR_EVER}" if audit.is_public(reading) else "no-store"
        return tagged(request, rosters.roster(reading, federation, version), cache)


@router.api_route("/priors/latest", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
def latest_prior(request: Request, context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """The newest prior that counts as published, with its leaf in the audit log."""
    view, _ = federations.prior(context, caller, federation, None)
    return tagged(request, view, NEWEST)


@router.api_route("/priors/{version}", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
def prior(
    request: Request, context: ContextDependency, caller: SignedBy, federation: Name, version: Number
) -> Response:
    """One version of the prior with its leaf in the audit log."""
    view, settled = federations.prior(context, caller, federation, version)
    return tagged(request, view, f"private, {FOR_EVER}" if settled else NEWEST)


@router.put(
    "/clients/{client}/key",
    **documented(RotationReceipt, UnknownResource, Conflict, QuotaExceeded, body=RotationRequest),
)
def replace_key(context: ContextDependency, caller: SignedBy, body: Body, federation: Name, client: Name) -> Response:
    """A party replaces its identity key; signed by the old one, whose word counts no more afterwards."""
    return answer(rotation.replace_client_key(context, caller, federation, client, body))


@router.delete("/clients/{client}", **documented(None, UnknownResource, Conflict, status=204))
def leave(context: ContextDependency, caller: SignedBy, federation: Name, client: Name) -> Response:
    """A client leaves: its key is revoked at once."""
    enrolment.leave(context, caller, federation, client)
    return Response(status_code=204)
