"""Rosters, priors, another key, and leaving."""

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from aggregator.routes.documents import documented
from aggregator.routes.log import Door
from aggregator.routes.wiring import (
    FOR_EVER,
    GET,
    Body,
    ContextDependency,
    Name,
    Number,
    SignedBy,
    Wiring,
    WiringDependency,
    answer,
    tagged,
    written,
)
from aggregator.service import audit, enrolment, federations, rosters, rotation
from aggregator.service.caller import Caller
from aggregator.storage.engine import Connection
from fgpr.errors import Conflict, FgprError, QuotaExceeded, UnknownResource
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
async def roster(request: Request, log: Door, federation: Name, version: Number) -> Response:
    """A roster version; unsigned where the log that holds it is public, since anybody may check who was admitted."""

    def find(reading: Connection) -> tuple[bytes, str]:
        cache = f"public, {FOR_EVER}" if audit.is_public(reading) else "no-store"
        return written(rosters.roster(reading, federation, version)), cache

    body, cache = await log.read(find, "roster", federation, version)
    return tagged(request, body, cache)


@router.api_route("/priors/latest", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
async def latest_prior(request: Request, found: WiringDependency, caller: SignedBy, federation: Name) -> Response:
    """The newest prior that counts as published, with its leaf in the audit log."""
    body, _ = await _prior(found, caller, federation, None)
    return tagged(request, body, NEWEST)


@router.api_route("/priors/{version}", methods=GET, **documented(PriorView, UnknownResource, tagged=True))
async def prior(
    request: Request, found: WiringDependency, caller: SignedBy, federation: Name, version: Number
) -> Response:
    """One version of the prior with its leaf in the audit log."""
    body, settled = await _prior(found, caller, federation, version)
    return tagged(request, body, f"private, {FOR_EVER}" if settled else NEWEST)


async def _prior(found: Wiring, caller: Caller, federation: str, version: int | None) -> tuple[bytes, bool]:
    def look(callers: Sequence[Caller]) -> Sequence[tuple[bytes, bool] | FgprError]:
        return federations.prior(found.context, callers, federation, version)

    return await found.together.ask(("prior", federation, version), caller, look)


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
