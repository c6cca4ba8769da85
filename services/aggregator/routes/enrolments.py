"""Enrolment: a party takes up its ticket."""

from fastapi import APIRouter, Request, Response

from aggregator.auth import signed_with
from aggregator.routes.documents import documented
from aggregator.routes.wiring import Body, ContextDependency, answer
from aggregator.service import enrolment
from fgpr import signatures
from fgpr.errors import Conflict
from fgpr.rest import EnrolmentReceipt, EnrolmentRequest

router = APIRouter(tags=["enrolment"])


@router.post("/enrolments", **documented(EnrolmentReceipt, Conflict, body=EnrolmentRequest, status=201))
def enrol(request: Request, context: ContextDependency, body: Body) -> Response:
    """Take up a ticket; the request is signed with the key that it enrols."""
    wanted = EnrolmentRequest.decode(body)
    key = wanted.identity_key
    caller = signed_with(request, body, lambda key_id: key if key_id == signatures.key_id(key) else None)
    return answer(enrolment.enrol(context, caller, wanted), status=201)
