"""Rosters, priors, and leaving."""

from fastapi import APIRouter, Response

from aggregator.routes.wiring import ContextDependency, Name, Number, SignedBy, answer
from aggregator.service import enrolment, federations, rosters

router = APIRouter(prefix="/federations/{federation}", tags=["federation"])

FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/rosters/{version}")
def roster(context: ContextDependency, federation: Name, version: Number) -> Response:
    """A roster version; unsigned, since anybody may check who was admitted."""
    return answer(rosters.roster(context, federation, version), cache=FOR_EVER)


@router.get("/priors/latest")
def latest_prior(context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """The newest prior with its leaf in the audit log."""
    return answer(federations.prior(context, caller, federation, None))


@router.get("/priors/{version}")
def prior(context: ContextDependency, caller: SignedBy, federation: Name, version: Number) -> Response:
    """One version of the prior with its leaf in the audit log."""
    return answer(federations.prior(context, caller, federation, version))


@router.delete("/clients/{client}", status_code=204)
def leave(context: ContextDependency, caller: SignedBy, federation: Name, client: Name) -> Response:
    """A client leaves: its key is revoked at once."""
    enrolment.leave(context, caller, federation, client)
    return Response(status_code=204)
