"""The weighted average of a round, taken through the masked protocol instead of in the clear.

For `fgpr.federated.simulation`: a whole round in memory, with a roster, keys, boxes and openings of its own, so that
experiments can show that masking changes no result by more than the encoding's half quantum.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fgpr import merkle, signatures
from fgpr.federated.fedavg import Contribution
from fgpr.federated.simulation import Aggregate
from fgpr.gp.arrays import Array
from fgpr.message import Signed
from fgpr.secagg import contributor, messages, opening
from fgpr.secagg.checked_plan import Anchors, CheckedPlan, LogView, NamedPrior, check_plan
from fgpr.secagg.encoding import Codec
from fgpr.secagg.history import Floors, History, PastRound
from fgpr.secagg.log_span import LogSpan
from fgpr.secagg.member import Member, open_cohort
from fgpr.secagg.messages import Cohort, CohortEntry, CohortView, LogPosition, Opening, OpeningKey, Plan
from fgpr.secagg.planning import AggregationRules, plan_round
from fgpr.secagg.roster import NONCE_BYTES, Roster, RosterEntry

_FEDERATION = "simulation"
_NEVER = "9999-12-31T23:59:59.999Z"
_PRIOR_DIGEST = bytes(32)
_LOG = LogPosition(size=0, root=merkle.EMPTY_ROOT)
_FLOORS = Floors(gamma=0.0, groups=2**31)
"""Whoever simulates chose the rules."""


def masked_average(
    codec: Codec, random_bytes: Callable[[int], bytes], rules: AggregationRules | None = None
) -> Aggregate:
    """An average for `simulate` in which nobody sees a single theta.

    Args:
        codec: bounds and bits of the encoding; thetas outside the bounds are clipped, larger weights capped.
        random_bytes: source of keys, masks and shares; n -> n bytes.
        rules: of secure aggregation; the codec's own bits and weight cap count. The trust region is not looked at.

    Returns:
        From the contributions of a round, those of weight 0 left out, to the average of shape (L,), weighted and
        combined as the rules say. It raises CommitteeError for fewer clients than the rules can hide, CapacityError for
        more than the field takes, EncodingError for a theta that is not finite or has another length.
    """

    def aggregate(contributions: Sequence[Contribution]) -> Array:
        counted = [contribution for contribution in contributions if contribution.weight]
        return _Round(codec, len(counted), random_bytes, rules or AggregationRules()).average(counted)

    return aggregate


class _Round:
    """One round of clients that are all honest and all there, named by their place among the contributions."""

    def __init__(
        self, codec: Codec, clients: int, random_bytes: Callable[[int], bytes], rules: AggregationRules
    ) -> None:
        self._random_bytes = random_bytes
        self._service, self._roster_key = self._identity(), self._identity()
        names = [f"client-{number:06d}" for number in range(clients)]
        private = {name: self._exchange() for name in names}
        self._members = {name: Member(name, self._identity(), private[name]) for name in names}
        roster = Roster(
            federation=_FEDERATION,
            version=1,
            clients=tuple(_line(member) for member in self._members.values()),
            nonce=random_bytes(NONCE_BYTES),
            checkpoint=_LOG,
        )
        self._roster = Signed[Roster].make(self._roster_key, roster)
        plan = plan_round(
            number=1,
            rules=rules,
            roster=roster,
            keys={name: _opening_key(member, 1, private[name]) for name, member in self._members.items()},
            codec=codec,
            training={},
            prior_version=0,
            theta_version=0,
            prior_digest=_PRIOR_DIGEST,
            checkpoint=_LOG,
            void=(),
            contribute_until=_NEVER,
            open_until=_NEVER,
        )
        self._checked = self._check(Signed[Plan].make(self._service, plan), codec)

    def average(self, contributions: Sequence[Contribution]) -> Array:
        """Contribute, close, open, unmask."""
        checked = self._checked
        sent = {
            name: self._contribute(member, contribution)
            for (name, member), contribution in zip(self._members.items(), contributions, strict=True)
        }
        headers = {name: upload.header.message for name, upload in sent.items()}
        cohort = opening.cohort_of(checked.plan, checked.digest, headers, _LOG)
        signed = Signed[Cohort].make(self._service, cohort)
        trees = {name: merkle.Tree(merkle.leaf_hashes(upload.boxes)) for name, upload in sent.items()}
        seats = range(1, checked.plan.threshold + checked.plan.spare + 1)
        answers = [self._open(signed, sent, trees, seat) for seat in seats if seat <= len(checked.plan.seats)]
        masked = {name: upload.masked for name, upload in sent.items()}
        return opening.unmask(checked.plan, cohort, masked, answers).average

    def _check(self, plan: Signed[Plan], codec: Codec) -> CheckedPlan:
        # Once for all: each client would read the same. The middle of the bounds stands for the prior.
        middle = (np.array(codec.lower) + np.array(codec.upper)) / 2
        return check_plan(
            plan,
            client=plan.message.invited[0],
            anchors=Anchors(
                _FEDERATION, signatures.public_bytes(self._service), signatures.public_bytes(self._roster_key)
            ),
            roster=self._roster,
            prior=NamedPrior(version=0, theta_version=0, digest=_PRIOR_DIGEST, vector=middle),
            log=LogView(_LOG, (), ()),
            history=History(),
            floors=_FLOORS,
        )

    def _contribute(self, member: Member, contribution: Contribution) -> messages.Contribution:
        upload = contributor.contribute(
            self._checked,
            member.client,
            member.identity_key,
            np.asarray(contribution.theta, dtype=np.float64),
            contribution.weight,
            self._random_bytes,
        ).contribution
        opening.check_contribution(self._checked.plan, self._checked.digest, self._checked.roster, upload)
        return upload

    def _open(
        self,
        cohort: Signed[Cohort],
        sent: Mapping[str, messages.Contribution],
        trees: Mapping[str, merkle.Tree],
        seat: int,
    ) -> Opening:
        checked, counted = self._checked, cohort.message.members
        member = self._members[checked.plan.seats[seat - 1].client]
        answer = open_cohort(
            checked,
            CohortView(
                cohort=cohort,
                entries=tuple(_entry(sent[line.client], trees[line.client], seat) for line in counted),
            ),
            LogSpan(merkle.Frontier.empty(), ()),
            member,
            _opening_key(member, 2, self._exchange()),
            service_key=signatures.public_bytes(self._service),
            history=History(rounds=(PastRound(checked.plan, checked.roster, contributed=True),), last_round=1),
            floors=_FLOORS,
            revoked_by=lambda _: None,
            seconds=1,
        ).opening
        opening.check_opening(checked.plan, checked.roster, cohort.message, answer)
        return answer.message

    def _identity(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self._random_bytes(32))

    def _exchange(self) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(self._random_bytes(32))


def _line(member: Member) -> RosterEntry:
    identity = signatures.public_bytes(member.identity_key)
    return RosterEntry(client=member.client, identity_key=identity, may_serve=True, revoked=False, declared=None)


def _opening_key(member: Member, serial: int, private: X25519PrivateKey) -> Signed[OpeningKey]:
    public = private.public_key().public_bytes_raw()
    key = OpeningKey(federation=_FEDERATION, client=member.client, serial=serial, suite="x25519", key=public)
    return Signed[OpeningKey].make(member.identity_key, key)


def _entry(upload: messages.Contribution, tree: merkle.Tree, seat: int) -> CohortEntry:
    path = merkle.inclusion_proof(seat - 1, tree.size, tree.node)
    return CohortEntry(header=upload.header, box=upload.boxes[seat - 1], path=path)
