"""Many contributions stored by one transaction are judged as if each came alone."""

import threading
from dataclasses import replace

from sqlalchemy import event

from aggregator.service import contributing, enrolment, schedule
from aggregator.service.sent_bodies import Sent, Taken
from aggregator.storage import contributions
from fgpr.errors import Conflict, EncodingError, Forbidden, Unauthenticated, UnknownResource
from fgpr.secagg.messages import Contribution
from fgpr.secagg.stages import Stage
from support.aggregator import Aggregator, caller_of
from support.client import NAME
from support.party import Party, repacked


def sent_by(aggregator: Aggregator, party: Party) -> Sent:
    return Sent(caller_of(party, aggregator.clock), party.name, party.contribution())


def stored(aggregator: Aggregator) -> set[str]:
    with aggregator.context.database.read() as connection:
        return contributions.contributors(connection, NAME, 1)


def test_one_commit_for_all_of_them(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(5)
    aggregator.advance()
    sent = [sent_by(aggregator, party) for party in parties]
    commits: list[int] = []
    event.listen(aggregator.context.database.engine, "commit", lambda _: commits.append(threading.get_ident()))
    taken = contributing.contribute_all(aggregator.context, sent, NAME, 1)
    # That of the reading transaction before it, and its own; another thread may look what is due.
    assert commits.count(threading.get_ident()) == 2
    for one, body in zip(taken, sent, strict=True):
        assert isinstance(one, Taken)
        assert one.due
        assert (one.receipt.client, one.receipt.body, one.receipt.counted) == (body.client, body.digest, True)
    schedule.advance(aggregator.context, NAME)
    row = aggregator.round(1)
    assert row.stage is Stage.OPENING
    assert row.cohort is not None
    headers = {one.client: Contribution.decode(one.body).header.message.digest() for one in sent}
    assert {line.client: line.header for line in row.cohort.message.members} == headers


def test_a_refusal_is_nobody_else_s(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(7)
    aggregator.advance()
    good, broken, revoked, thief, twice, late, last = (sent_by(aggregator, party) for party in parties)
    enrolment.revoke(aggregator.context, NAME, revoked.client)
    other = repacked(twice.body, parties[4].client.identity_key, masked=bytes(32))
    before = aggregator.dump()["nonces"]
    sent = [
        good,
        replace(broken, body=b"{}"),
        revoked,
        replace(thief, client=good.client),
        twice,
        # A fresh nonce each: the same again, another body, and one nonce spent twice.
        replace(twice, caller=caller_of(parties[4], aggregator.clock)),
        Sent(caller_of(parties[4], aggregator.clock), twice.client, other),
        late,
        late,
        last,
    ]
    taken = contributing.contribute_all(aggregator.context, sent, NAME, 1)
    kinds = [None if isinstance(one, Taken) else type(one) for one in taken]
    assert kinds[0] is None
    assert kinds[1] is EncodingError
    assert kinds[2:4] == [Forbidden, Forbidden]
    assert kinds[4:7] == [None, None, Conflict]
    assert kinds[7:] == [None, Unauthenticated, None]
    assert stored(aggregator) == {good.client, twice.client, late.client, last.client}
    # One for each that had an effect or was a repetition, and none for what was refused.
    assert len(aggregator.dump()["nonces"]) == len(before) + 5


def test_no_such_round_and_no_such_client(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(4)
    aggregator.advance()
    one, other = sent_by(aggregator, parties[0]), sent_by(aggregator, parties[1])
    taken = contributing.contribute_all(aggregator.context, [one, replace(other, client=one.client)], NAME, 2)
    assert [type(refusal) for refusal in taken] == [UnknownResource, Forbidden]
