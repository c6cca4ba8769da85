"""Rounds: see, contribute, fetch the cohort, open."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from aggregator.request_bodies import body_limit
from aggregator.routes.documents import documented
from aggregator.routes.wiring import (
    GET,
    Body,
    ContextDependency,
    Name,
    Number,
    SignedBy,
    Wiring,
    WiringDependency,
    answer,
    next_page,
)
from aggregator.service import answering, complaints, contributing, round_views, rounds, schedule
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.sent_bodies import Sent, Taken
from aggregator.service.shown_views import Shown
from fgpr.errors import Conflict, FgprError, TooLate, UnknownResource
from fgpr.message import Signed
from fgpr.rest import Receipt, RoundList, RoundView
from fgpr.secagg.messages import CohortView, Complaint, Contribution, Opening

router = APIRouter(prefix="/federations/{federation}/rounds", tags=["rounds"])

LONGEST_WAIT = 30
"""Seconds that a request may wait for a change."""

POLL_SECONDS = 2
"""Retry-After of an answer in which nothing is new: for those who ask again without waiting here."""

CONTRIBUTION_LIMIT = 4 * 2**20
COMPLAINT_LIMIT = 4 * 2**20

MOST_COHORTS = 16
"""Members that get a cohort by one look: that of 500 clients has a megabyte for each."""

_Take = Callable[[Context, Sequence[Sent], str, int], Sequence[Taken | Exception]]


@router.api_route("/current", methods=GET, **documented(RoundView))
async def current(
    found: WiringDependency,
    caller: SignedBy,
    federation: Name,
    seen: Annotated[str, Query(max_length=512)] = "",
    wait: Annotated[int, Query(ge=0, le=LONGEST_WAIT)] = 0,
) -> Response:
    """Where the federation stands; with `seen` and `wait`, not before that has changed or the time is over."""
    end = time.monotonic() + wait
    shown = await _shown(found, caller, federation)
    if seen == shown.state and wait:
        with found.place_to_wait() as may_wait:
            while may_wait and seen == shown.state and (left := end - time.monotonic()) > 0:
                await found.lookout.changed(federation, seen, left)
                shown = await _shown(found, caller, federation)
    return answer(shown.body, headers={"Retry-After": str(POLL_SECONDS)} if seen == shown.state else None)


@router.api_route("", methods=GET, **documented(RoundList))
def listing(
    found: WiringDependency,
    caller: SignedBy,
    federation: Name,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=round_views.MOST_ROUNDS)] = 50,
) -> Response:
    """Rounds, newest first."""
    page = round_views.listing(found.context, caller, federation, before, limit)
    path = f"/v1/federations/{federation}/rounds"
    following = None if page.next is None else next_page(found, path, before=page.next, limit=limit)
    return answer(page, headers=following)


@router.put(
    "/{number}/contributions/{client}",
    dependencies=[body_limit(CONTRIBUTION_LIMIT)],
    **documented(Receipt, UnknownResource, Conflict, TooLate, body=Contribution),
)
async def contribute(
    found: WiringDependency, caller: SignedBy, body: Body, federation: Name, number: Number, client: Name
) -> Response:
    """A client's one contribution; the same body again gets the same answer."""
    store = partial(_stored, found.context, contributing.contribute_all, federation, number)
    return answer(await found.together.ask(("contribution", federation, number), Sent(caller, client, body), store))


@router.api_route("/{number}/cohort", methods=GET, **documented(CohortView, UnknownResource, Conflict, TooLate))
async def cohort(found: WiringDependency, caller: SignedBy, federation: Name, number: Number) -> Response:
    """The cohort with the calling member's own boxes."""

    def look(callers: Sequence[Caller]) -> Sequence[bytes | Exception]:
        return rounds.cohort(found.context, callers, federation, number)

    return answer(await found.together.ask(("cohort", federation, number), caller, look, MOST_COHORTS))


@router.put(
    "/{number}/openings/{client}",
    **documented(Receipt, UnknownResource, Conflict, TooLate, body=Signed[Opening]),
)
async def open_(
    found: WiringDependency, caller: SignedBy, body: Body, federation: Name, number: Number, client: Name
) -> Response:
    """A member's opening; one that is no longer needed is acknowledged for its key."""
    store = partial(_stored, found.context, answering.answer_all, federation, number)
    return answer(await found.together.ask(("opening", federation, number), Sent(caller, client, body), store))


@router.put(
    "/{number}/complaints/{client}",
    dependencies=[body_limit(COMPLAINT_LIMIT)],
    **documented(Receipt, UnknownResource, Conflict, TooLate, body=Signed[Complaint]),
)
def complain(
    context: ContextDependency, caller: SignedBy, body: Body, federation: Name, number: Number, client: Name
) -> Response:
    """A member's complaint of boxes that do not open; the same body again gets the same answer."""
    receipt = complaints.complain(context, caller, federation, number, client, body)
    _advance(context, federation)
    return answer(receipt)


async def _shown(found: Wiring, caller: Caller, federation: str) -> Shown:
    def look(callers: Sequence[Caller]) -> Sequence[Shown | FgprError]:
        return round_views.show(found.context, callers, federation)

    return await found.together.ask(("round", federation), caller, look)


def _stored(
    context: Context, take: _Take, federation: str, number: int, sent: Sequence[Sent]
) -> Sequence[Receipt | Exception]:
    taken = take(context, sent, federation, number)
    if any(not isinstance(one, Exception) and one.due for one in taken):
        _advance(context, federation)
    return [one if isinstance(one, Exception) else one.receipt for one in taken]


def _advance(context: Context, federation: str) -> None:
    # The body is stored: that the next transition must wait is no refusal of it. The deadlines try again and tell.
    with suppress(FgprError):
        schedule.advance(context, federation)
