"""Rosters signed elsewhere: what is taken in, and how rounds go on while a change waits for its signature."""

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from structlog.testing import capture_logs

from aggregator.keys import KeyDirectory
from aggregator.service import enrolment, inspection, rosters, schedule, steering
from aggregator.service.roster_signing import sign_draft
from aggregator.storage import federations
from fgpr import merkle
from fgpr.errors import CommitteeError, Conflict, CryptographicError, Unavailable, UnknownResource, VerificationError
from fgpr.message import Signed
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.roster import Roster, RosterDraft
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, served
from support.client import NAME
from support.party import Party

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Signer:
    """Whoever holds the roster key."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        self.last: Signed[Roster] | None = None

    def sign(self, draft: RosterDraft | None = None) -> Signed[Roster]:
        draft = draft or rosters.export(self.aggregator.context, NAME)
        self.last = sign_draft(draft, self.last, KEY, secrets.token_bytes)
        return self.last

    def renew(self) -> bool:
        return rosters.bring_in(self.aggregator.context, self.sign())


@pytest.fixture
def aggregator(tmp_path: Path, database_url: str) -> Iterator[Aggregator]:
    with served(tmp_path, keeps_deadlines=False, roster_key=KEY.public_key(), url=database_url) as made:
        yield made


@pytest.fixture
def signer(aggregator: Aggregator) -> Signer:
    return Signer(aggregator)


def play(parties: list[Party]) -> None:
    """A whole round; the next one opens as soon as enough have opened this one."""
    for party in parties:
        party.contribute()
    number = parties[0].view().round
    for party in parties:
        if party.view().round == number:
            party.open()


def test_a_whole_round_with_a_key_that_was_never_here(aggregator: Aggregator, signer: Signer) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    assert aggregator.last_round() == 0
    with pytest.raises(CommitteeError, match="no signed roster yet"):
        schedule.open_by_hand(aggregator.context, NAME)
    assert signer.renew() is False
    aggregator.advance()
    play(parties)
    assert aggregator.prior().version == 1
    assert not list((aggregator.settings.keys).glob("roster-*"))
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_the_old_roster_serves_while_an_enrolment_waits(aggregator: Aggregator, signer: Signer) -> None:
    parties = aggregator.enrol(4)
    signer.renew()
    aggregator.advance()
    play(parties)
    (new,) = aggregator.enrol(1, first=4)
    aggregator.advance()
    plan = new.plan().message
    assert (plan.round, plan.roster_version, len(plan.invited)) == (2, 1, 4)
    play(parties)
    assert signer.renew() is False
    # The third round was opened under the old roster when the second ended.
    play(parties)
    plan = new.plan().message
    assert (plan.round, plan.roster_version, len(plan.invited)) == (4, 2, 5)
    play([*parties, new])
    assert aggregator.prior().version == 4


def test_a_revoked_client_s_seat_is_empty_until_the_roster_is_signed(aggregator: Aggregator, signer: Signer) -> None:
    parties = aggregator.enrol(6)
    signer.renew()
    aggregator.advance()
    play(parties)
    enrolment.revoke(aggregator.context, NAME, "client-02")
    # Round 2 was planned before; from round 3 on nobody seals anything for that seat.
    stay = [party for number, party in enumerate(parties) if number != 2]
    play(stay)
    plan = parties[0].plan().message
    assert (plan.round, plan.roster_version, plan.threshold, len(plan.seats)) == (3, 1, 5, 6)
    assert "client-02" in plan.invited
    assert plan.seats[2].client == "client-02"
    assert plan.seats[2].key is None
    play(stay)
    assert aggregator.round(3).stage is Stage.PUBLISHED
    signer.renew()
    play(stay)
    plan = parties[0].plan().message
    assert (plan.round, plan.roster_version, len(plan.seats)) == (5, 2, 5)
    inspection.verify_database(aggregator.context.database, aggregator.anchors())


def test_rounds_wait_where_too_few_of_the_old_roster_are_left(aggregator: Aggregator, signer: Signer) -> None:
    parties = aggregator.enrol(4)
    signer.renew()
    aggregator.advance()
    play(parties)
    number = aggregator.last_round()
    enrolment.revoke(aggregator.context, NAME, "client-03")
    enrolment.revoke(aggregator.context, NAME, "client-02")
    aggregator.enrol(2, first=4)
    aggregator.pass_contributing()
    assert aggregator.round(number).stage is Stage.ABORTED
    assert aggregator.last_round() == number
    signer.renew()
    aggregator.advance()
    assert aggregator.last_round() == number + 1
    assert len(parties[0].plan().message.invited) == 4


def test_a_roster_brought_in_while_a_theta_is_carried_waits_for_the_next_one(
    aggregator: Aggregator, signer: Signer
) -> None:
    parties = aggregator.enrol(6)
    signer.renew()
    aggregator.advance()
    for party in parties:
        party.contribute()
    aggregator.pass_contributing()
    aggregator.pass_opening()
    aggregator.pass_opening()
    assert aggregator.round(1).stage is Stage.CARRIED
    aggregator.enrol(1, first=6)
    signer.renew()
    # Round 2 runs already; make it end without a prior and without anybody's contribution.
    aggregator.pass_contributing()
    aggregator.advance()
    plan = parties[0].plan().message
    assert (plan.round, plan.prior_version, plan.theta_version, plan.roster_version) == (3, 1, 0, 1)
    play(parties)
    assert parties[0].plan().message.roster_version == 2


def test_the_same_roster_twice_is_brought_in_once(aggregator: Aggregator, signer: Signer) -> None:
    aggregator.enrol(4)
    signed = signer.sign()
    assert rosters.bring_in(aggregator.context, signed) is False
    before = aggregator.dump()
    assert rosters.bring_in(aggregator.context, signed) is False
    assert aggregator.dump() == before
    with aggregator.context.database.read() as connection:
        assert rosters.roster(connection, NAME) == signed


def test_a_membership_that_changed_meanwhile_is_said(aggregator: Aggregator, signer: Signer) -> None:
    aggregator.enrol(4)
    signed = signer.sign()
    enrolment.revoke(aggregator.context, NAME, "client-01")
    assert rosters.bring_in(aggregator.context, signed) is True
    with aggregator.context.database.read() as connection:
        assert federations.read(connection, NAME).roster_stale
    assert signer.renew() is False


def test_what_contradicts_the_log_or_the_enrolments_is_refused(aggregator: Aggregator) -> None:
    aggregator.enrol(4)
    enrolment.revoke(aggregator.context, NAME, "client-01")
    draft = rosters.export(aggregator.context, NAME)
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))

    def signed(key: Ed25519PrivateKey = KEY, **fields: object) -> Signed[Roster]:
        return Signed[Roster].make(key, draft.model_copy(update=fields).with_nonce(bytes(32)))

    first, second, *rest = draft.clients
    swapped = first.model_copy(update={"identity_key": bytes(32)})
    stranger = first.model_copy(update={"client": "aa", "identity_key": bytes(32)})
    cases = [
        (VerificationError, "does not hold", signed(other)),
        (Conflict, "version 1 comes next", signed(version=2)),
        (UnknownResource, "no federation", signed(federation="bridges")),
        (VerificationError, "a key that client-00 does not have", signed(clients=(swapped, second, *rest))),
        (VerificationError, "names aa, who is not enrolled", signed(clients=(stranger, first, second, *rest))),
        (VerificationError, "leaves out client-00", signed(clients=(second, *rest))),
        (
            VerificationError,
            "calls client-00 revoked, who is not",
            signed(clients=(first.model_copy(update={"revoked": True}), second, *rest)),
        ),
        (
            VerificationError,
            "hides that client-01 is revoked",
            signed(clients=(first, second.model_copy(update={"revoked": False}), *rest)),
        ),
        (VerificationError, "not one of this log", signed(checkpoint=LogPosition(size=999, root=bytes(32)))),
        (
            VerificationError,
            "not one of this log",
            signed(checkpoint=draft.checkpoint.model_copy(update={"root": bytes(32)})),
        ),
    ]
    before = aggregator.dump()
    for kind, reason, roster in cases:
        with pytest.raises(kind, match=reason):
            rosters.bring_in(aggregator.context, roster)
        assert aggregator.dump() == before
    assert rosters.bring_in(aggregator.context, signed()) is False
    older = signed(version=2, checkpoint=LogPosition(size=0, root=merkle.EMPTY_ROOT), clients=())
    with pytest.raises(VerificationError, match="older than that of the roster before"):
        rosters.bring_in(aggregator.context, older)


def test_a_roster_key_that_is_missing_or_another_one_is_a_fault_of_this_machine(tmp_path: Path) -> None:
    """A replica with an old copy of the folder of keys, or one that made a key of that name for itself."""
    with served(tmp_path, keeps_deadlines=False) as aggregator:
        aggregator.enrol(4)
        before = aggregator.dump()
        shutil.copytree(aggregator.settings.keys, tmp_path / "copied")
        (tmp_path / "copied" / f"roster-{NAME}.pem").unlink()
        for made, reason in ((False, f"copy roster-{NAME}.pem from the replica"), (True, "is not the key with which")):
            if made:
                KeyDirectory(tmp_path / "copied").ensure_roster(NAME)
            context = replace(aggregator.context, keys=KeyDirectory(tmp_path / "copied"))
            with pytest.raises(CryptographicError, match=reason):
                schedule.open_by_hand(context, NAME)
        assert aggregator.dump() == before
        assert schedule.open_by_hand(aggregator.context, NAME) == 1


def test_a_roster_key_that_cannot_be_written_is_no_fault_of_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    context = SimpleNamespace(keys=KeyDirectory(tmp_path / "keys"))
    with pytest.raises(Unavailable, match="its log says why"), capture_logs() as logs:
        steering._made_key(context, "benches")  # type: ignore[arg-type]  # only its keys are looked at
    assert "No space left on device" in logs[0]["reason"]
    assert not any((tmp_path / "keys").iterdir())
