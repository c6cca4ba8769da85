"""What operators do and auditors read, under /v1/operator: each route says in its service call who may."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from aggregator.auth import signed_with
from aggregator.routes.documents import documented
from aggregator.routes.wiring import GET, Body, ContextDependency, Name, Number, SignedBy, answer
from aggregator.service import rotation, round_views, staff, steering
from fgpr import signatures
from fgpr.errors import CommitteeError, Conflict, QuotaExceeded, UnknownResource
from fgpr.operator_rest import (
    ClientList,
    FederationLine,
    FederationList,
    FederationRequest,
    IssuedTicket,
    OpenedRound,
    RoundDetails,
    StateRequest,
    TicketRequest,
)
from fgpr.rest import RoundList
from fgpr.rotation import RotationReceipt, RotationRequest
from fgpr.staff import StaffEnrolment, StaffReceipt

router = APIRouter(prefix="/operator", tags=["operator"])


@router.post("/enrolments", **documented(StaffReceipt, Conflict, QuotaExceeded, body=StaffEnrolment, status=201))
def enrol_staff(request: Request, context: ContextDependency, body: Body) -> Response:
    """Take up the ticket of an operator or auditor; the request is signed with the key that it enrols."""
    wanted = StaffEnrolment.decode(body)
    key = wanted.identity_key
    caller = signed_with(request, body, lambda key_id: key if key_id == signatures.key_id(key) else None)
    return answer(staff.enrol(context, caller, wanted), status=201)


@router.put("/staff/{name}/key", **documented(RotationReceipt, Conflict, QuotaExceeded, body=RotationRequest))
def replace_staff_key(context: ContextDependency, caller: SignedBy, body: Body, name: Name) -> Response:
    """An operator or auditor replaces its key; signed by the old one."""
    return answer(rotation.replace_staff_key(context, caller, name, body))


@router.delete("/staff/{name}", **documented(None, QuotaExceeded, status=204))
def leave_staff(context: ContextDependency, caller: SignedBy, name: Name) -> Response:
    """An operator or auditor revokes its own key."""
    staff.leave(context, caller, name)
    return Response(status_code=204)


@router.api_route("/federations", methods=GET, **documented(FederationList))
def list_federations(context: ContextDependency, caller: SignedBy) -> Response:
    """Every federation and where it stands."""
    return answer(steering.list_federations(context, caller))


@router.post("/federations", **documented(FederationLine, Conflict, QuotaExceeded, body=FederationRequest, status=201))
def create_federation(context: ContextDependency, caller: SignedBy, body: Body) -> Response:
    """Create a federation."""
    return answer(steering.create(context, caller, body), status=201)


@router.api_route("/federations/{federation}/clients", methods=GET, **documented(ClientList, UnknownResource))
def list_clients(context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """Every party of a federation, revoked ones included."""
    return answer(steering.list_clients(context, caller, federation))


@router.delete(
    "/federations/{federation}/clients/{client}",
    **documented(None, UnknownResource, Conflict, QuotaExceeded, status=204),
)
def revoke_client(context: ContextDependency, caller: SignedBy, federation: Name, client: Name) -> Response:
    """Revoke a party at once."""
    steering.revoke(context, caller, federation, client)
    return Response(status_code=204)


@router.post(
    "/federations/{federation}/tickets",
    **documented(IssuedTicket, UnknownResource, Conflict, QuotaExceeded, body=TicketRequest, status=201),
)
def issue_ticket(context: ContextDependency, caller: SignedBy, body: Body, federation: Name) -> Response:
    """Make a ticket for a party; the answer is its only copy."""
    return answer(steering.issue(context, caller, federation, body), status=201)


@router.api_route("/federations/{federation}/rounds", methods=GET, **documented(RoundList, UnknownResource))
def list_rounds(
    context: ContextDependency,
    caller: SignedBy,
    federation: Name,
    limit: Annotated[int, Query(ge=1, le=round_views.MOST_ROUNDS)] = 50,
) -> Response:
    """The newest rounds."""
    return answer(steering.list_rounds(context, caller, federation, limit))


@router.post(
    "/federations/{federation}/rounds",
    **documented(OpenedRound, UnknownResource, Conflict, CommitteeError, QuotaExceeded, status=201),
)
def open_round(context: ContextDependency, caller: SignedBy, federation: Name) -> Response:
    """Open a round now, whatever the schedule says."""
    return answer(steering.open_round(context, caller, federation), status=201)


@router.api_route("/federations/{federation}/rounds/{number}", methods=GET, **documented(RoundDetails, UnknownResource))
def show_round(context: ContextDependency, caller: SignedBy, federation: Name, number: Number) -> Response:
    """One round: its plan, its cohort, who contributed, opened and complained."""
    return answer(steering.show_round(context, caller, federation, number))


@router.put(
    "/federations/{federation}/state",
    **documented(FederationLine, UnknownResource, Conflict, QuotaExceeded, body=StateRequest),
)
def change_state(context: ContextDependency, caller: SignedBy, body: Body, federation: Name) -> Response:
    """Pause, resume or close a federation, or release its carried theta from the old roster."""
    return answer(steering.change_state(context, caller, federation, body))
