"""Complaints: what one must be before it counts, and how many convict."""

from typing import Any

import numpy as np
import pytest

from fgpr.errors import CohortRefused, FgprError, LocalProtocolError, RemoteProtocolError, VerificationError
from fgpr.message import Signed
from fgpr.secagg.committee import Committee
from fgpr.secagg.complaint import check_complaint, complain, convicted
from fgpr.secagg.messages import Cohort, Complaint, Header
from fgpr.secagg.planning import committee_of
from support.federation import Federation
from support.malice import with_box

LIAR, OTHER, MEMBER = "client-02", "client-04", "client-03"
SEAT = 4


def closed(*liars: str, size: int = 6) -> Federation:
    """A closed round in which the box of each liar for MEMBER holds nothing that opens."""
    made = Federation(size)
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.5, -0.5, 1.0]), 3)
        if name in liars:
            sent = made.now.contributions[name]
            key = made.clients[name].identity_key
            made.receive(with_box(sent, SEAT, bytes(len(sent.boxes[SEAT - 1])), key))
    made.close()
    return made


def refusal(made: Federation) -> CohortRefused:
    assert made.now.cohort is not None
    with pytest.raises(CohortRefused) as refused:
        made.ask(MEMBER, made.view(MEMBER, made.now.cohort))
    return refused.value


def complaint(made: Federation) -> Signed[Complaint]:
    assert made.now.cohort is not None
    view, key = made.view(MEMBER, made.now.cohort), made.clients[MEMBER].identity_key
    return complain(made.check(MEMBER), view, MEMBER, key, refusal(made).accused)


def check(made: Federation, signed: Signed[Complaint]) -> None:
    assert made.now.cohort is not None
    check_complaint(made.now.plan.message, made.now.roster.message, made.now.cohort.message, signed)


def test_a_member_accuses_everybody_whose_box_does_not_open_and_nobody_else() -> None:
    made = closed(LIAR, OTHER)
    assert (refusal(made).check, refusal(made).accused) == (8, (LIAR, OTHER))
    signed = complaint(made)
    check(made, signed)
    assert signed.message.accused() == (LIAR, OTHER)
    assert (signed.message.client, signed.message.seat) == (MEMBER, SEAT)
    # Deterministic: a restarted member sends the same bytes.
    assert complaint(made).encode() == signed.encode()


def test_a_refusal_by_another_check_accuses_nobody() -> None:
    made = closed(LIAR)
    view = made.view(MEMBER, made.cohort_of(made.names))
    swapped = view.model_copy(update={"entries": view.entries[::-1]})
    with pytest.raises(CohortRefused) as refused:
        made.ask(MEMBER, swapped)
    assert (refused.value.check, refused.value.accused) == (6, ())
    # A swapped box is the aggregator's lie, not the client's.
    line = view.entries[0].model_copy(update={"box": bytes(80)})
    with pytest.raises(CohortRefused) as refused:
        made.ask(MEMBER, view.model_copy(update={"entries": (line, *view.entries[1:])}))
    assert (refused.value.check, refused.value.accused) == (7, ())


def test_whoever_has_nothing_to_complain_of_cannot() -> None:
    made = closed()
    assert made.now.cohort is not None
    view, key = made.view(MEMBER, made.now.cohort), made.clients[MEMBER].identity_key
    for client, accused in ((MEMBER, ()), (MEMBER, ("stranger",)), ("stranger", (LIAR,))):
        with pytest.raises(LocalProtocolError, match="nothing to complain of"):
            complain(made.check(MEMBER), view, client, key, accused)


def changes(made: Federation) -> dict[str, tuple[dict[str, Any], type[FgprError], str]]:
    message = complaint(made).message
    (box,) = message.boxes
    other = made.now.contributions[OTHER].header
    forged = Signed[Header].make(
        made.clients[OTHER].identity_key, other.message.model_copy(update={"boxes": bytes(32)})
    )
    stolen = Signed[Header](message=box.header.message, signature=bytes(64))

    def boxes(*changed: Any) -> dict[str, Any]:
        return {"boxes": changed}

    return {
        "of no member": ({"client": "stranger"}, RemoteProtocolError, "no seat with a key"),
        "of another member": ({"client": "client-01", "seat": 2}, VerificationError, "does not hold"),
        "another federation": ({"federation": "bridges"}, RemoteProtocolError, "another cohort"),
        "another round": ({"round": 2}, RemoteProtocolError, "another cohort"),
        "another plan": ({"plan": bytes(32)}, RemoteProtocolError, "another cohort"),
        "another cohort": ({"cohort": bytes(32)}, RemoteProtocolError, "another cohort"),
        "another seat": ({"seat": 5}, RemoteProtocolError, "has seat 4, not 5"),
        "twice": (boxes(box, box), RemoteProtocolError, "accused twice"),
        "not in order": (
            boxes(box.model_copy(update={"header": other}), box),
            RemoteProtocolError,
            "not in order",
        ),
        "a header that was not counted": (
            boxes(box.model_copy(update={"header": forged})),
            RemoteProtocolError,
            "not the counted one",
        ),
        "a header that nobody signed": (
            boxes(box.model_copy(update={"header": stolen})),
            VerificationError,
            "does not hold",
        ),
        "a box under no root": (boxes(box.model_copy(update={"box": bytes(32)})), VerificationError, "proof|root"),
        "another's header": (boxes(box.model_copy(update={"header": other})), VerificationError, "proof|root"),
        "no path": (boxes(box.model_copy(update={"path": ()})), VerificationError, "proof|root"),
    }


@pytest.mark.parametrize("name", list(changes(closed(LIAR))))
def test_a_complaint_of_something_else_counts_for_nothing(name: str) -> None:
    made = closed(LIAR)
    change, kind, reason = changes(made)[name]
    changed = complaint(made).message.model_copy(update=change)
    with pytest.raises(kind, match=reason):
        check(made, Signed[Complaint].make(made.clients[MEMBER].identity_key, changed))


def test_a_member_without_a_key_got_no_boxes_and_cannot_complain() -> None:
    made = closed(LIAR)
    plan, cohort = made.now.plan.message, made.now.cohort
    assert cohort is not None
    seats = list(plan.seats)
    seats[SEAT - 1] = seats[SEAT - 1].model_copy(update={"key": None})
    with pytest.raises(RemoteProtocolError, match="no seat with a key"):
        check_complaint(
            plan.model_copy(update={"seats": tuple(seats)}), made.now.roster.message, cohort.message, complaint(made)
        )


def test_more_than_x_members_convict_and_x_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = closed(LIAR)
    plan, roster, message = made.now.plan.message, made.now.roster.message, complaint(made).message
    assert committee_of(plan, roster).corrupt_seats == 1
    another = message.model_copy(update={"client": "client-05"})
    assert convicted(plan, roster, []) == ()
    assert convicted(plan, roster, [message]) == ()
    # The same member twice is one member.
    assert convicted(plan, roster, [message, message]) == ()
    assert convicted(plan, roster, [message, another]) == (LIAR,)
    monkeypatch.setattr("fgpr.secagg.complaint.committee_of", lambda *_: Committee(6, 2, 4, 1, 1, 3, 1))
    assert convicted(plan, roster, [message, another]) == ()


def test_an_empty_cohort_has_nobody_to_accuse() -> None:
    made = closed(LIAR)
    signed, cohort = complaint(made), made.now.cohort
    assert cohort is not None
    empty: Cohort = cohort.message.model_copy(update={"members": ()})
    with pytest.raises(RemoteProtocolError, match="another cohort"):
        check_complaint(made.now.plan.message, made.now.roster.message, empty, signed)
    named = signed.message.model_copy(update={"cohort": empty.digest()})
    with pytest.raises(RemoteProtocolError, match="not the counted one"):
        check_complaint(
            made.now.plan.message,
            made.now.roster.message,
            empty,
            Signed[Complaint].make(made.clients[MEMBER].identity_key, named),
        )
