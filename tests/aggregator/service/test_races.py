"""What happens between a check and its commit: the transaction judges anew what can have changed."""

import pytest

from aggregator.service import contributing, enrolment, schedule
from aggregator.storage import federations
from fgpr.errors import Conflict, EncodingError, Forbidden, TooLate, Unavailable
from fgpr.secagg import opening
from support.aggregator import CONTRIBUTE_SECONDS, Aggregator, caller_of, together
from support.client import NAME
from support.party import refusal, repacked


@pytest.mark.parametrize("change", ["revoked", "closed", "late", "another body"])
def test_a_change_between_the_signature_check_and_the_commit(
    aggregator: Aggregator, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    party, *others = aggregator.enrol(5)
    aggregator.advance()
    body = party.contribution()
    for other in others:
        other.contribute()
    check = opening.check_contribution

    def then_change(*checked: object) -> None:
        check(*checked)  # type: ignore[arg-type]
        monkeypatch.setattr(opening, "check_contribution", check)
        match change:
            case "revoked":
                enrolment.revoke(aggregator.context, NAME, party.name)
            case "closed":
                aggregator.pass_contributing()
            case "late":
                aggregator.clock.forward(CONTRIBUTE_SECONDS)
            case _:
                # By another replica: one process takes the contributions to a round one after the other.
                other_body = repacked(body, party.client.identity_key, masked=bytes(32))
                caller = caller_of(party, aggregator.clock)
                contributing.contribute(aggregator.context, caller, NAME, 1, party.name, other_body)
        changed.update(aggregator.dump())

    changed: dict[str, list[tuple[object, ...]]] = {}
    monkeypatch.setattr(opening, "check_contribution", then_change)
    kind = {"revoked": Forbidden, "another body": Conflict}.get(change, TooLate)
    refusal(party, kind, lambda: party.send_contribution(body))
    # Not a row of it, the nonce's included.
    assert changed
    assert aggregator.dump() == changed


def test_what_no_check_can_pass_never_waits_for_the_writers(aggregator: Aggregator) -> None:
    party, *_ = aggregator.enrol(4)
    aggregator.advance()
    body = party.contribution()
    changed = body.replace(b'"masked":"', b'"masked":"AAAA', 1)
    with aggregator.context.database.write() as connection:
        federations.read(connection, NAME, lock=True)
        # Somebody else holds the lock all the while.
        told = refusal(party, EncodingError, lambda: party.send_contribution(changed))
    assert told["status"] == 422


def test_a_revocation_and_everything_else_at_once_never_wait_for_each_other(aggregator: Aggregator) -> None:
    parties = aggregator.enrol(8)
    aggregator.advance()
    bodies = [party.contribution() for party in parties]
    acts = [lambda p=party, b=body: p.send_contribution(b) for party, body in zip(parties[:6], bodies, strict=False)]
    acts += [lambda n=party.name: enrolment.revoke(aggregator.context, NAME, n) for party in parties[5:]]
    acts += [lambda: schedule.advance(aggregator.context, NAME)] * 2
    results = together(acts)
    # The one that was revoked meanwhile may have come before or after; nobody was told to try again.
    assert not [one for one in results if isinstance(one, Unavailable)]
    assert {type(one) for one in results if isinstance(one, Exception)} <= {Forbidden}
