"""A log of any length that verifies from its first leaf, made without the boxes that nobody sees in a log.

A leaf holds contributions and openings by their digests only, so that these are drawn here; everything that a verifier
looks at is real: tickets, keys, rosters, plans, cohorts, cosignatures, and priors that follow from their sums.
"""

import random
from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import merkle, signatures
from fgpr.auditlog import cosignature, entries
from fgpr.auditlog.entries import AnsweredOpening, Leaf
from fgpr.federated import federation, publication
from fgpr.federated.publication import PriorRecord, codec_for
from fgpr.message import Signed
from fgpr.secagg.messages import Cohort, CohortMember, LogPosition, OpeningKey, Plan
from fgpr.secagg.opening import Unmasked
from fgpr.secagg.planning import plan_round
from fgpr.secagg.roster import Roster, RosterEntry
from fgpr.secagg.witnessing import cosigned_checkpoint
from support.federation import SPEC

NAME = "turbofan"
CONTRIBUTE_UNTIL, OPEN_UNTIL = "2031-03-09T21:30:00.000Z", "2031-03-09T21:40:00.000Z"
SECONDS = 1_930_000_000


class LongLog:
    """One federation of so many clients, round after round, all of whom take part.

    Args:
        clients: how many.
        seed: of every key and digest.

    Attributes:
        service_key: signs plans, cohorts, priors and checkpoints.
        frontier: of the leaves made so far.
    """

    def __init__(self, clients: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.service_key, self._roster_key = self._key(), self._key()
        self._identities = {f"client-{number:03d}": self._key() for number in range(clients)}
        self._settings = federation.Federation(name=NAME, model=SPEC.to_json())
        self._codec = codec_for(SPEC, self._settings.aggregation)
        self._opening_keys: dict[str, Signed[OpeningKey]] = {}
        self.frontier = merkle.Frontier.empty()

    @property
    def public_key(self) -> bytes:
        """The aggregator's public key."""
        return signatures.public_bytes(self.service_key)

    def leaves(self) -> Iterator[bytes]:
        """Leaf after leaf, without an end."""
        for leaf in self._all():
            raw = leaf.encode()
            self.frontier, _ = self.frontier.append(merkle.leaf_hash(raw))
            yield raw

    def _all(self) -> Iterator[Leaf]:
        key = signatures.public_bytes(self._roster_key)
        yield entries.FederationCreated(federation=NAME, settings=self._settings, roster_key=key)
        prior = publication.initial(NAME, SPEC)
        yield entries.PriorPublished(federation=NAME, prior=Signed[PriorRecord].make(self.service_key, prior))
        for name in self._identities:
            yield from self._enrol(name)
        roster = self._roster()
        yield entries.RosterSigned(federation=NAME, roster=roster)
        number = 0
        while True:
            number += 1
            plan = self._plan(number, roster.message, prior)
            yield entries.RoundPlanned(federation=NAME, plan=plan)
            cohort = self._cohort(plan.message)
            yield entries.CohortClosed(federation=NAME, cohort=cohort)
            answers = []
            for name in self._identities:
                yield self._next_key(name)
                answers.append(self._answer(name, cohort.message))
            prior = self._average(prior, plan.message, cohort.message)
            yield entries.PriorPublished(
                federation=NAME,
                prior=Signed[PriorRecord].make(self.service_key, prior),
                openings=tuple(answers),
                spare=len(answers) - plan.message.threshold,
            )

    def _enrol(self, name: str) -> Iterator[Leaf]:
        ticket, identity = self._random.randbytes(32), signatures.public_bytes(self._identities[name])
        yield entries.TicketIssued(
            federation=NAME, client=name, role="client", ticket=ticket, expires=OPEN_UNTIL, by=None
        )
        yield entries.Enrolled(
            federation=NAME, client=name, role="client", ticket=ticket, identity_key=identity, declared=None
        )
        yield self._next_key(name)

    def _next_key(self, name: str) -> Leaf:
        last = self._opening_keys.get(name)
        serial = 1 if last is None else last.message.serial + 1
        key = OpeningKey(federation=NAME, client=name, serial=serial, suite="x25519", key=self._random.randbytes(32))
        self._opening_keys[name] = Signed[OpeningKey].make(self._identities[name], key)
        return entries.OpeningKeyRegistered(federation=NAME, client=name, serial=serial, key=key.digest())

    def _roster(self) -> Signed[Roster]:
        lines = tuple(
            RosterEntry(
                client=name, identity_key=signatures.public_bytes(key), may_serve=True, revoked=False, declared=None
            )
            for name, key in self._identities.items()
        )
        roster = Roster(
            federation=NAME, version=1, clients=lines, checkpoint=self._position(), nonce=self._random.randbytes(32)
        )
        return Signed[Roster].make(self._roster_key, roster)

    def _plan(self, number: int, roster: Roster, prior: PriorRecord) -> Signed[Plan]:
        plan = plan_round(
            number=number,
            rules=self._settings.aggregation,
            roster=roster,
            keys=self._opening_keys,
            codec=self._codec,
            training=self._settings.training_settings().to_json(),
            prior_version=prior.version,
            theta_version=prior.theta_version,
            prior_digest=prior.digest(),
            checkpoint=self._position(),
            void=(),
            contribute_until=CONTRIBUTE_UNTIL,
            open_until=OPEN_UNTIL,
        )
        return Signed[Plan].make(self.service_key, plan)

    def _cohort(self, plan: Plan) -> Signed[Cohort]:
        members = tuple(CohortMember(client=name, header=self._random.randbytes(32)) for name in plan.invited)
        cohort = Cohort(
            federation=NAME, round=plan.round, plan=plan.digest(), checkpoint=self._position(), members=members
        )
        return Signed[Cohort].make(self.service_key, cohort)

    def _answer(self, name: str, cohort: Cohort) -> AnsweredOpening:
        seen = cosigned_checkpoint(cohort, self.public_key)
        cosigned = cosignature.cosign(seen, self._identities[name], SECONDS)
        return AnsweredOpening(client=name, opening=self._random.randbytes(32), cosignature=cosigned)

    def _average(self, before: PriorRecord, plan: Plan, cohort: Cohort) -> PriorRecord:
        count = len(cohort.members)
        updates = np.array([self._codec.encode(before.vector(), 10).vector for _ in range(1)], dtype=np.uint64)
        # Every client sent the prior itself: n equal vectors, whose sum stays in the field by the plan's capacity.
        vector = updates[0] * np.uint64(count)
        decoded = self._codec.decode(vector, count)
        unmasked = Unmasked(vector, decoded.average, decoded.total_weight, (), count - plan.threshold)
        return publication.averaged(before, plan, plan.digest(), cohort, unmasked)

    def _position(self) -> LogPosition:
        return LogPosition(size=self.frontier.size, root=self.frontier.root())

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self._random.randbytes(32))
