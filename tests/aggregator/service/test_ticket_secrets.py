"""What the secrets of tickets are made of."""

from dataclasses import replace

from aggregator.service import enrolment, staff
from support.aggregator import Aggregator
from support.client import NAME


def test_a_ticket_is_256_bits_that_nobody_can_guess(aggregator: Aggregator) -> None:
    drawn: list[bytes] = []

    def recorded(count: int) -> bytes:
        drawn.append(aggregator.context.random_bytes(count))
        return drawn[-1]

    context = replace(aggregator.context, random_bytes=recorded)
    secrets = [
        enrolment.invite(context, NAME, "client-00", "client").secret,
        staff.invite(context, "olga", "operator").secret,
    ]
    assert [len(secret) for secret in secrets] == [32, 32]
    assert secrets == drawn
