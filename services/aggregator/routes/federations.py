"""Rosters, priors, another key, and leaving."""

from fastapi import APIRouter, Response

from aggregator.routes.log import Readable
from aggregator.routes.wiring import Body, ContextDependency, Name, Number, SignedBy, answer
from aggregator.service import audit, enrolment, federations, rosters, rotation

router = APIRouter(prefix="/federations/{federation}", tags=["federation"])

FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/rosters/{version}")
def roster(context: Readable, federation: Name, version: Number) -> Response:
    """A roster version; unsigned where the log that holds it is public, since anybody may check who was admitted."""
    cache = FOR_EVER if audit.is_public(context) else "no-store"
    return answer(rosters.roster(context, federation, version), cache=cache)


@router.get("/priors/latest")
def latest_prior(context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """The newest prior with its leaf in the audit log."""
    return answer(federations.prior(context, caller, federation, None))


@router.get("/priors/{version}")
def prior(context: ContextDependency, caller: SignedBy, federation: Name, version: Number) -> Response:
    """One version of the prior with its leaf in the audit log."""
    return answer(federations.prior(context, caller, federation, version))


@router.put("/clients/{client}/key")
def replace_key(context: ContextDependency, caller: SignedBy, body: Body, federation: Name, client: Name) -> Response:
    """A party replaces its identity key; signed by the old one, whose word counts no more afterwards."""
    return answer(rotation.replace_client_key(context, caller, federation, client, body))


@router.delete("/clients/{client}", status_code=204)
def leave(context: ContextDependency, caller: SignedBy, federation: Name, client: Name) -> Response:
    """A client leaves: its key is revoked at once."""
    enrolment.leave(context, caller, federation, client)
    return Response(status_code=204)
