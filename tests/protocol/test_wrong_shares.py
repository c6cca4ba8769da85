"""Liars among members and contributors: mended, disputed or refused, as long as there are few enough of them."""

import numpy as np
import pytest

from fgpr.errors import CohortRefused, OpeningsContradict, SumRefused
from fgpr.message import Signed
from fgpr.secagg.contributor import FIELD, masked_digest
from fgpr.secagg.messages import Header
from fgpr.secagg.stages import Event, Stage
from support import malice
from support.federation import Federation


def closed(size: int = 8) -> Federation:
    """Eight clients, t = 6: all eight openings mend one wrong one."""
    made = Federation(size)
    made.plan()
    for name in made.names:
        made.contribute(name, np.array([0.5, -0.5, 1.0]), 3)
    made.close()
    return made


def check_published(made: Federation) -> None:
    record = made.finish()
    np.testing.assert_allclose(record.theta, [0.5, -0.5, 1.0], atol=1e-8)


@pytest.mark.parametrize("liar", [0, 3, 7])
@pytest.mark.parametrize("added", [1, 2**60, 2**61 - 2])
def test_one_wrong_opening_is_mended_and_its_member_reported(liar: int, added: int) -> None:
    made = closed()
    name = made.names[liar]
    for other in made.names:
        made.open(other)
    lie = malice.with_sum(made.now.openings[name], added, made.clients[name].identity_key)
    assert made.now.cohort is not None
    made.take(lie, made.now.cohort.message)
    check_published(made)
    assert made.now.unmasked is not None
    assert made.now.unmasked.disputed == (name,)
    assert made.now.unmasked.spare == 2


def test_two_wrong_openings_are_more_than_two_to_spare_can_mend() -> None:
    made = closed()
    for name in made.names:
        made.open(name)
    assert made.now.cohort is not None
    for name in made.names[:2]:
        made.take(malice.with_sum(made.now.openings[name], 7, made.clients[name].identity_key), made.now.cohort.message)
    with pytest.raises(SumRefused, match="wait for more openings"):
        made.finish()
    made.abort(Event.SUM_REFUSED)
    assert made.now.stage is Stage.ABORTED
    assert made.prior.version == 0


STEP = 3 * 2**28
"""What moves the first number of a sum by 3 times a quarter of its range."""


def lied(size: int, came: int, liars: int, framed: int) -> Federation:
    """The first `came` members opened; the first `liars` of them lie together, so that the next `framed` look wrong."""
    made = closed(size)
    plan, cohort = made.now.plan.message, made.now.cohort
    assert cohort is not None
    seats = range(1, came + 1)
    added = malice.framing(seats, seats[: liars + framed], -STEP % (2**61 - 1))
    assert liars + framed == came - plan.threshold + 1
    for seat, name in enumerate(made.names[:came], start=1):
        made.open(name)
        if seat <= liars:
            key = made.clients[name].identity_key
            made.take(malice.with_sum(made.now.openings[name], added[seat], key), cohort.message)
    return made


def test_two_of_seventeen_that_lie_together_are_not_believed_before_all_have_opened() -> None:
    # t = 15 of 20, two to spare: mending one wrong opening would take the third member for the liar.
    made = lied(20, came=17, liars=2, framed=1)
    with pytest.raises(OpeningsContradict, match="every further opening is waited for"):
        made.finish(last_chance=False)
    for name in made.names[17:]:
        made.open(name)
    check_published(made)
    assert made.now.unmasked is not None
    assert (made.now.unmasked.disputed, made.now.unmasked.spare) == (made.names[:2], 5)


@pytest.mark.parametrize(("size", "came", "liars", "framed"), [(20, 20, 2, 4), (10, 10, 1, 2), (60, 60, 7, 9)])
def test_as_many_liars_as_can_be_mended_frame_nobody(size: int, came: int, liars: int, framed: int) -> None:
    made = lied(size, came, liars, framed)
    check_published(made)
    assert made.now.unmasked is not None
    assert made.now.unmasked.disputed == made.names[:liars]


@pytest.mark.parametrize(("size", "came", "liars", "framed"), [(20, 20, 3, 3), (12, 12, 2, 2), (60, 60, 8, 8)])
def test_as_many_liars_as_they_frame_stop_a_round_that_all_opened_and_no_more(
    size: int, came: int, liars: int, framed: int
) -> None:
    made = lied(size, came, liars, framed)
    with pytest.raises(OpeningsContradict):
        made.finish()
    made.abort(Event.SUM_REFUSED)
    assert not made.revoked


@pytest.mark.parametrize(
    ("size", "came", "liars", "framed"),
    [(20, 20, 4, 2), (10, 10, 2, 1), (20, 20, 6, 0), (20, 17, 2, 1), (20, 17, 3, 0)],
)
def test_more_liars_than_that_publish_what_they_like_and_nobody_is_convicted(
    size: int, came: int, liars: int, framed: int
) -> None:
    # The limit of the code: spare + 1 less the disputed ones. Where somebody is disputed it may be x, or fewer.
    made = lied(size, came, liars, framed)
    record = made.finish()
    # The first average is what they chose: the sum moved by STEP, over `size` weights of 3.
    lower, upper = made.now.plan.message.codec["lower"][0], made.now.plan.message.codec["upper"][0]
    shift = STEP / (2**30 - 1) / (3 * size) * (upper - lower)
    np.testing.assert_allclose(record.theta, [0.5 + shift, -0.5, 1.0], atol=1e-8)
    assert made.now.unmasked is not None
    disputed, spare = made.now.unmasked.disputed, made.now.unmasked.spare
    assert disputed == made.names[liars : liars + framed]
    assert liars == spare + 1 - len(disputed)
    assert not made.revoked


def test_a_client_s_bad_share_is_mended_and_disputes_the_member_that_got_it() -> None:
    # No proof against that member: it added up what it was sent.
    made = closed()
    plan, client = made.now.plan.message, made.clients["client-02"]
    bad = malice.box_of(plan, client, 4, FIELD.to_bytes(FIELD.array([1, 2, 3, 4])))
    made.receive(malice.with_box(made.now.contributions["client-02"], 4, bad, client.identity_key))
    made.now.stage = Stage.CONTRIBUTING
    made.close()
    for name in made.names:
        made.open(name)
    check_published(made)
    assert made.now.unmasked is not None
    assert made.now.unmasked.disputed == ("client-03",)


def test_a_client_s_bad_shares_for_two_members_abort_the_round() -> None:
    made = closed()
    plan, client = made.now.plan.message, made.clients["client-02"]
    sent = made.now.contributions["client-02"]
    for seat in (4, 5):
        bad = malice.box_of(plan, client, seat, FIELD.to_bytes(FIELD.array([1, 2, 3, 4])))
        sent = malice.with_box(sent, seat, bad, client.identity_key)
    made.receive(sent)
    made.now.stage = Stage.CONTRIBUTING
    made.close()
    for name in made.names:
        made.open(name)
    with pytest.raises(SumRefused):
        made.finish()


def test_a_box_that_does_not_open_stops_its_member_and_nobody_else() -> None:
    made = closed()
    client = made.clients["client-02"]
    made.receive(malice.with_box(made.now.contributions["client-02"], 4, bytes(80), client.identity_key))
    made.now.stage = Stage.CONTRIBUTING
    made.close()
    with pytest.raises(CohortRefused, match="does not open") as refused:
        made.open("client-03")
    assert refused.value.check == 8
    # It has opened nothing, so that it may still answer the empty cohort after an abort.
    assert made.clients["client-03"].history().rounds[-1].opened is None
    for name in made.names:
        if name != "client-03":
            made.open(name)
    check_published(made)


def test_a_vector_that_was_never_masked_by_these_shares_is_refused_as_a_sum() -> None:
    # Weight and values land anywhere in the field: outside what three clients can weigh, but for 1 in 2^43 or so.
    made = closed()
    sent, client = made.now.contributions["client-02"], made.clients["client-02"]
    masked = FIELD.to_bytes(FIELD.uniform((4,), made.random_bytes))
    header = sent.header.message.model_copy(update={"masked": masked_digest(masked)})
    made.receive(sent.model_copy(update={"header": Signed[Header].make(client.identity_key, header), "masked": masked}))
    made.now.stage = Stage.CONTRIBUTING
    made.close()
    for name in made.names:
        made.open(name)
    with pytest.raises(SumRefused, match="total weight"):
        made.finish()


def test_with_nothing_to_spare_one_lie_goes_unseen_and_the_record_says_so() -> None:
    made = closed(3)
    for name in made.names:
        made.open(name)
    assert made.now.cohort is not None
    # Interpolated at zero from the seats 1, 2 and 3, the third one's share counts once.
    lie = malice.with_sum(made.now.openings["client-02"], 2**61 - 2, made.clients["client-02"].identity_key)
    made.take(lie, made.now.cohort.message)
    made.finish()
    assert made.now.unmasked is not None
    assert (made.now.unmasked.spare, made.now.unmasked.disputed) == (0, ())
