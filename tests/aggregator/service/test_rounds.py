from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.testing import assert_allclose

from aggregator.service import answering, enrolment, round_views, rounds, schedule
from aggregator.storage import clients, federations
from fgpr.errors import Forbidden, UnknownResource, VerificationError
from fgpr.message import Signed
from fgpr.secagg.messages import CohortView, Opening, OpeningKey
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, caller_of, served, settings_of
from support.client import NAME
from support.party import Party, refusal


def stored_serials(aggregator: Aggregator) -> dict[str, int]:
    with aggregator.context.database.read() as connection:
        return {name: key.message.serial for name, key in clients.read_opening_keys(connection, NAME).items()}


def contributed(aggregator: Aggregator, count: int = 4) -> list[Party]:
    parties = aggregator.enrol(count)
    aggregator.advance()
    for party in parties:
        party.contribute()
    assert aggregator.round(1).stage is Stage.OPENING
    return parties


def test_the_published_theta_is_the_weighted_average(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    start = aggregator.prior().vector()
    shifts, weights = np.array([[0.5, -0.1, 1.0], [0, 0, 0], [-0.5, 0.2, 0.1], [0.1, 0.1, 0.1]]), [192, 1, 70_000, 8]
    for party, shift, weight in zip(parties, shifts, weights, strict=True):
        party.contribute(start + shift, weight)
    for party in parties:
        party.open()
    # 70,000 observations count as the weight cap.
    expected = start + np.average(shifts, axis=0, weights=[192, 1, 65_535, 8])
    assert_allclose(aggregator.prior().vector(), expected, atol=6e-9, rtol=0)
    opened = aggregator.prior().opened
    assert opened is not None
    assert (opened.clients, opened.total_weight) == (4, 192 + 1 + 65_535 + 8)


def test_a_late_opening_is_acknowledged_for_its_key(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(every=60, min_clients=5), keeps_deadlines=False, url=database_url) as aggregator:
        parties = contributed(aggregator, 5)
        late = parties[4]
        body = late.opening()
        for party in parties[:4]:
            party.open()
        aggregator.clock.forward(600)
        aggregator.pass_opening()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        receipt = late.send_opening(body)
        assert not receipt.counted
        answered = late.transport.answers[-1]
        assert late.send_opening(body) == receipt
        assert late.transport.answers[-1] == answered
        assert stored_serials(aggregator) == {party.name: 2 for party in parties}
        aggregator.clock.forward(60)
        aggregator.advance()
        plan = late.plan().message
        assert [seat.key.message.serial for seat in plan.seats if seat.key is not None] == [2, 2, 2, 2, 2]
        # It can open with that key.
        for party in parties:
            party.contribute()
        assert late.open().counted


def test_of_a_late_opening_the_key_is_checked_and_the_sum_no_longer_needed(tmp_path: Path) -> None:
    with served(tmp_path, settings_of(every=60, min_clients=5), keeps_deadlines=False) as aggregator:
        parties = contributed(aggregator, 5)
        late = parties[4]
        body = late.opening()
        for party in parties[:4]:
            party.open()
        aggregator.clock.forward(600)
        aggregator.pass_opening()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        message = Signed[Opening].decode(body).message
        stranger = Ed25519PrivateKey.from_private_bytes(bytes([9]) * 32)
        forged = message.model_copy(update={"next_key": Signed[OpeningKey].make(stranger, message.next_key.message)})
        refusal(
            late,
            VerificationError,
            lambda: late.send_opening(Signed[Opening].make(late.client.identity_key, forged).encode()),
        )
        assert stored_serials(aggregator)[late.name] == 1
        prior = aggregator.prior()
        assert not late.send_opening(with_another_sum(late, body)).counted
        assert stored_serials(aggregator)[late.name] == 2
        assert aggregator.prior() == prior


def test_a_late_opening_after_an_abort_is_acknowledged_too(aggregator: Aggregator) -> None:
    parties = contributed(aggregator, 5)
    body = parties[0].opening()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.ABORTED
    assert not parties[0].send_opening(body).counted
    assert stored_serials(aggregator)["client-00"] == 2
    # It opened the cohort, so that it cannot help to prove the round void; the other four can.
    for party in parties[1:]:
        assert party.open_nothing(1).counted
    assert aggregator.round(1).stage is Stage.VOID


def test_revoked_between_contribution_and_close(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    for party in parties[:3]:
        party.contribute()
    enrolment.revoke(aggregator.context, NAME, "client-01")
    aggregator.advance()
    assert aggregator.round(1).stage is Stage.CONTRIBUTING
    # The last one that is still expected: the revoked one is not waited for, and not counted.
    enrolment.revoke(aggregator.context, NAME, "client-03")
    aggregator.advance()
    assert aggregator.round(1).stage is Stage.ABORTED
    assert aggregator.round(1).reason == "2 contributions could be counted, 3 are needed"


def test_a_revoked_client_is_left_out_of_the_cohort(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(min_clients=5), keeps_deadlines=False, url=database_url) as aggregator:
        parties = aggregator.enrol(5)
        aggregator.advance()
        start = aggregator.prior().vector()
        for number, party in enumerate(parties):
            if number < 4:
                party.contribute(start + 0.1 * number)
        enrolment.revoke(aggregator.context, NAME, "client-00")
        parties[4].contribute(start + 0.4)
        cohort = aggregator.round(1).cohort
        assert cohort is not None
        assert cohort.message.clients() == {"client-01", "client-02", "client-03", "client-04"}
        # The leaf that revokes stands before the cohort's checkpoint, where the members look for it.
        assert aggregator.leaves()[cohort.message.checkpoint.size - 1].kind == "revoked"
        # Revoked after the close: counted, and the round goes on without its opening.
        enrolment.revoke(aggregator.context, NAME, "client-04")
        for party in parties[1:4]:
            party.open()
        aggregator.pass_contributing()
        aggregator.pass_opening()
        # t = 4 of 5, and two of the members are revoked.
        assert aggregator.round(1).stage is Stage.ABORTED


def with_another_sum(party: Party, body: bytes) -> bytes:
    signed = Signed[Opening].decode(body).message
    raw = bytearray(signed.sum)
    raw[3] ^= 0x10
    return Signed[Opening].make(party.client.identity_key, signed.model_copy(update={"sum": bytes(raw)})).encode()


def test_a_wrong_opening_is_mended_and_disputed(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(min_clients=8), keeps_deadlines=False, url=database_url) as aggregator:
        parties = contributed(aggregator, 8)
        plain = [party.client.journal[-1] for party in parties]
        assert len(plain) == 8
        bodies = [party.opening() for party in parties]
        bodies[2] = with_another_sum(parties[2], bodies[2])
        # Threshold 6: all eight at once show up to two wrong ones and mend one.
        for party, body in zip(parties, bodies, strict=True):
            caller = caller_of(party, aggregator.clock)
            answering.answer(aggregator.context, caller, NAME, 1, party.name, body)
        aggregator.advance()
        assert aggregator.round(1).stage is Stage.PUBLISHED
        leaf = next(leaf for leaf in reversed(aggregator.leaves()) if leaf.kind == "prior")
        assert (leaf.spare, leaf.disputed) == (2, ("client-02",))
        assert [answered.client for answered in leaf.openings] == [party.name for party in parties]


def test_openings_that_contradict_each_other_wait_for_one_that_mends_them(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(min_clients=8), keeps_deadlines=False, url=database_url) as aggregator:
        parties = contributed(aggregator, 8)
        bodies = [party.opening() for party in parties]
        bodies[2] = with_another_sum(parties[2], bodies[2])
        # Threshold 6, one to spare: seven openings show that one is wrong and not which.
        for party, body in zip(parties[:7], bodies, strict=False):
            party.send_opening(body)
        assert aggregator.round(1).stage is Stage.OPENING
        parties[7].send_opening(bodies[7])
        assert aggregator.round(1).stage is Stage.PUBLISHED
        leaf = next(leaf for leaf in reversed(aggregator.leaves()) if leaf.kind == "prior")
        assert (leaf.spare, leaf.disputed) == (2, ("client-02",))


def test_openings_that_contradict_each_other_abort_at_the_deadline(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, settings_of(min_clients=8), keeps_deadlines=False, url=database_url) as aggregator:
        parties = contributed(aggregator, 8)
        bodies = [party.opening() for party in parties]
        bodies[2] = with_another_sum(parties[2], bodies[2])
        for party, body in zip(parties[:7], bodies, strict=False):
            party.send_opening(body)
        aggregator.pass_contributing()
        assert aggregator.round(1).stage is Stage.OPENING
        aggregator.pass_opening()
        assert aggregator.round(1).stage is Stage.ABORTED
        assert aggregator.prior().version == 0


def test_a_wrong_opening_that_cannot_be_mended_aborts(aggregator: Aggregator) -> None:
    parties = contributed(aggregator, 5)
    bodies = [party.opening() for party in parties]
    bodies[2] = with_another_sum(parties[2], bodies[2])
    for party, body in zip(parties, bodies, strict=True):
        party.send_opening(body)
    assert aggregator.round(1).stage is Stage.ABORTED
    assert aggregator.prior().version == 0
    assert aggregator.kinds()[-1] == "aborted"


def test_the_view_is_of_one_moment(aggregator: Aggregator) -> None:
    parties = contributed(aggregator)
    for party in parties:
        party.open()
    view = round_views.view(aggregator.context, caller_of(parties[0], aggregator.clock), NAME)
    assert view.state == round_views.state(aggregator.context, NAME)
    assert (view.round, view.prior_version) == (2, 1)
    with aggregator.context.database.read() as connection:
        assert federations.read_prior(connection, NAME)[0].message.version == 1
    assert schedule.names(aggregator.context) == [NAME]


def test_each_member_gets_its_own_boxes_and_each_other_caller_its_own_refusal(aggregator: Aggregator) -> None:
    parties = contributed(aggregator, 4)
    reader = aggregator.party("reader", "reader")
    reader.enrol()
    callers = [caller_of(party, aggregator.clock) for party in (*parties, reader)]
    *views, refused = rounds.cohort(aggregator.context, callers, NAME, 1)
    assert isinstance(refused, Forbidden)
    for party, view in zip(parties, views, strict=True):
        assert isinstance(view, bytes)
        assert CohortView.decode(view) == party.cohort(1)
    kinds = [type(one) for one in rounds.cohort(aggregator.context, callers, NAME, 2)]
    assert kinds == [UnknownResource] * 4 + [Forbidden]
