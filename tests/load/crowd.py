"""Many enrolled clients, and all bodies of one of their rounds, made before anybody looks at a clock.

Nothing goes over HTTP here: what is measured is the aggregator, and clients compute on machines of their own.
"""

import random
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import audit, enrolment, restoring, round_views, rounds, schedule
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import federations
from aggregator.storage import rounds as stored
from benchmarks_secagg.a_round import SPEC, WEIGHT
from fgpr import signatures
from fgpr.auditlog import cosignature
from fgpr.federated.federation import Federation, Schedule
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import EnrolmentRequest
from fgpr.secagg import opening, shamir
from fgpr.secagg.checked_plan import Anchors, CheckedPlan, LogView, NamedPrior, check_plan
from fgpr.secagg.contributor import FIELD, contribute
from fgpr.secagg.history import Floors, History
from fgpr.secagg.messages import Header, LogPosition, Opening, Plan
from fgpr.secagg.witnessing import cosigned_checkpoint
from support.client import NAME, SECONDS, Client

STEP = 0.01
"""How far the mean update lies from the prior."""

HOUR = 3600.0


def federation_of(clients: int) -> Federation:
    """A federation of 32 numbers whose rounds are opened by hand, after the first one that is published."""
    schedule_ = Schedule(max=1, min_clients=clients, contribute_seconds=HOUR, open_seconds=HOUR)
    return Federation(name=NAME, model=SPEC.to_json(), rounds=schedule_)


@dataclass(frozen=True)
class PreparedRound:
    """One open round, and what its clients will send.

    Attributes:
        plan: its plan.
        waiting: the token of the view while contributions come in, and while openings do.
        uploads: bodies of contributions by client.
        answers: bodies of openings by member.
        average: what the published prior must be, [L].
        log_size: leaves of the audit log while contributions come in.
        log_start: from which leaf on members read it.
        epoch: of the database.
    """

    plan: Plan
    waiting: tuple[str, str]
    uploads: dict[str, bytes] = field(repr=False)
    answers: dict[str, bytes] = field(repr=False)
    average: np.ndarray = field(repr=False)
    log_size: int
    log_start: int
    epoch: str


class Crowd:
    """The clients.

    Args:
        size: how many.
        seed: of their keys and updates.
    """

    def __init__(self, size: int, seed: int = 1) -> None:
        draw = random.Random(seed)
        keys = [Ed25519PrivateKey.from_private_bytes(draw.randbytes(32)) for _ in range(size)]
        self.clients = {f"client-{n:04d}": Client(f"client-{n:04d}", k, draw.randbytes) for n, k in enumerate(keys)}
        self._draw = draw

    def enrol(self, context: Context) -> None:
        """Take up a ticket each."""
        for name, client in self.clients.items():
            ticket = enrolment.invite(context, NAME, name, "client")
            public = client.public_key()
            request = EnrolmentRequest(
                federation=NAME,
                client=name,
                secret=ticket.secret,
                identity_key=public,
                opening_key=client.new_key(),
                declared=None,
            )
            expires = context.clock() + timedelta(seconds=150)
            caller = Caller(signatures.key_id(public), public, ticket.epoch + secrets.token_urlsafe(18), expires)
            enrolment.enrol(context, caller, request)

    def prepare(self, context: Context) -> PreparedRound:
        """Open a round, and make every contribution and opening of it.

        The cohort that the openings name is the one that the aggregator will sign where everybody contributes, and
        revokes or enrols nobody meanwhile.
        """
        number = schedule.open_by_hand(context, NAME)
        with context.database.read() as connection:
            row = stored.read(connection, NAME, number)
            roster = rounds.roster_of(connection, row)
            signed_roster = federations.read_roster(connection, NAME, roster.version)
            prior = federations.read_prior(connection, NAME)[0].message
            position = audit.position(connection)
            since_plan = audit.consistency(connection, row.plan.message.checkpoint.size, position.size).hashes
            roster_key = federations.read(connection, NAME).roster_key
        assert signed_roster is not None
        plan = row.plan.message
        checked = check_plan(
            row.plan,
            client=plan.invited[0],
            anchors=Anchors(NAME, context.service_public(), roster_key),
            roster=signed_roster,
            prior=NamedPrior(prior.version, prior.theta_version, prior.digest(), prior.vector()),
            log=LogView(position, (), since_plan),
            history=History(),
            floors=Floors(),
        )
        uploads, headers, sums = self._contribute(checked, prior)
        state = round_views.state(context, NAME)
        return PreparedRound(
            plan=plan,
            waiting=(state, state.replace("contributing", "opening")),
            uploads=uploads,
            answers=self._open(plan, headers, sums, position, context.service_public()),
            average=prior.vector() + STEP,
            log_size=position.size,
            log_start=roster.checkpoint.size,
            epoch=restoring.epoch(context),
        )

    def _contribute(
        self, checked: CheckedPlan, prior: PriorRecord
    ) -> tuple[dict[str, bytes], dict[str, Header], np.ndarray]:
        """Contributions, their headers, and the sum of what is in the boxes of each seat, [c, L + 1]."""
        plan, length = checked.plan, checked.codec.length
        uploads, headers = {}, {}
        sums = np.zeros((len(plan.seats), length), dtype=np.uint64)
        values = prior.vector() + STEP
        for name in plan.invited:
            seed = self._draw.getrandbits(64)
            key = self.clients[name].identity_key
            made = contribute(checked, name, key, values, WEIGHT, random.Random(seed).randbytes).contribution
            uploads[name], headers[name] = made.encode(), made.header.message
            # Drawn again rather than unsealed: members of 500 clients would open 70,000 boxes.
            again = random.Random(seed).randbytes
            mask = FIELD.uniform((length,), again)
            sums = FIELD.add(sums, shamir.share(FIELD, mask, plan.threshold, len(plan.seats), again))
        return uploads, headers, sums

    def _open(
        self, plan: Plan, headers: dict[str, Header], sums: np.ndarray, position: LogPosition, service_key: bytes
    ) -> dict[str, bytes]:
        cohort = opening.cohort_of(plan, plan.digest(), headers, position)
        seen = cosigned_checkpoint(cohort, service_key)
        answers = {}
        for seat, total in zip(plan.seats, sums, strict=True):
            client = self.clients[seat.client]
            message = Opening(
                federation=NAME,
                round=plan.round,
                cohort=cohort.digest(),
                client=seat.client,
                sum=FIELD.to_bytes(total),
                next_key=client.new_key(),
                cosignature=cosignature.cosign(seen, client.identity_key, SECONDS),
            )
            answers[seat.client] = Signed[Opening].make(client.identity_key, message).encode()
        return answers


def in_turn(names: Iterable[str], seconds: float) -> dict[str, float]:
    """When each of these begins, in seconds: evenly over a time, in a shuffled order."""
    shuffled = list(names)
    random.Random(len(shuffled)).shuffle(shuffled)
    return {name: seconds * place / len(shuffled) for place, name in enumerate(shuffled)}
