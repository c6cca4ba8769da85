"""The plan of a round, made from the federation's rules: what the aggregator signs and every client recomputes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from fgpr.errors import CommitteeError, EncodingError
from fgpr.message import Message, Signed
from fgpr.secagg import committee, weighted_draw
from fgpr.secagg.committee import Committee
from fgpr.secagg.declared_weight import Draw, check_draw
from fgpr.secagg.encoding import Codec
from fgpr.secagg.field import MERSENNE_61
from fgpr.secagg.groups import check_groups, deal
from fgpr.secagg.messages import (
    CombineRule,
    Groups,
    LargestStep,
    LogPosition,
    OpeningKey,
    Plan,
    Positive,
    Seat,
    VoidProof,
)
from fgpr.secagg.privacy import PrivacyRules, check_signed_capacity
from fgpr.secagg.roster import Roster
from fgpr.secagg.suites import SuiteName
from fgpr.secagg.weighting import LARGEST_CLASS, Weighting, check_unit


class AggregationRules(Message):
    """A federation's settings of secure aggregation (docs/protocol.md names each).

    Attributes:
        gamma: assumed share of corrupt or curious clients.
        delta: share of the seats that a round must be able to miss.
        committee_cap: most seats.
        invited_cap: most invited clients; None invites all.
        draw: "heads" draws the invited alike, "weights" in proportion to the weights that they declared; the latter
            only with uniform weighting and a cap.
        min_cohort: fewest contributions to open together, in the cohort or in each group; None is K + 2 of each plan.
        groups: to which the invited are dealt, so that few liars are outvoted (`fgpr.secagg.groups`).
        combine: how their averages become one.
        largest_step: farthest that a round may move a number of theta; a candidate beyond it is not published.
        weighting: "exact" counts observations, "classes" does so in powers of two, "uniform" counts clients.
        weight_unit: observations that are worth a weight of 1; only with "classes".
        suite: of the boxes (`fgpr.secagg.suites`).
        privacy: clip and noise of differential privacy, which takes uniform weights only; None adds no noise.
    """

    gamma: Annotated[float, Field(ge=0, lt=1)] = 0.2
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.15
    committee_cap: Annotated[Positive, Field(ge=3)] = 140
    invited_cap: Positive | None = None
    min_cohort: Positive | None = None
    draw: Draw = "heads"
    groups: Groups = 1
    combine: CombineRule = "mean"
    largest_step: LargestStep = None
    weighting: Weighting = "exact"
    weight_unit: Positive | None = None
    suite: SuiteName = "x25519"
    fraction_bits: Annotated[int, Field(ge=1, le=52)] = 30
    weight_bits: Annotated[int, Field(ge=1, le=32)] = 16
    weight_cap: Positive = 65_535
    privacy: PrivacyRules | None = None

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        try:
            check_unit(self.weighting, self.weight_unit)
            check_draw(self.draw, self.weighting, self.invited_cap)
            check_groups(self.groups, self.combine, noised=self.privacy is not None)
        except EncodingError as error:
            raise ValueError(str(error)) from error
        return self

    @model_validator(mode="after")
    def _weights_are_noised(self) -> Self:
        if self.privacy is not None and self.weighting != "uniform":
            raise ValueError(
                f"weighting {self.weighting!r} under differential privacy: totals of weights get no noise and would "
                "tell numbers of observations; set weighting = 'uniform'"
            )
        return self

    @property
    def largest_weight(self) -> int:
        """The weight cap of the codec: never above what the rule can give, so that the total shows a heavier liar."""
        most = {"exact": self.weight_cap, "classes": LARGEST_CLASS, "uniform": 1}[self.weighting]
        return min(self.weight_cap, most)


def plan_round(
    *,
    number: int,
    rules: AggregationRules,
    roster: Roster,
    keys: Mapping[str, Signed[OpeningKey]],
    codec: Codec,
    training: Mapping[str, Any],
    prior_version: int,
    theta_version: int,
    prior_digest: bytes,
    checkpoint: LogPosition,
    void: Sequence[VoidProof],
    contribute_until: str,
    open_until: str,
    origin: Sequence[float] = (),
) -> Plan:
    """Draw seats and invited clients and fix the committee's numbers.

    Args:
        number: the round's number.
        rules: the federation's rules.
        roster: the signed roster in force.
        keys: the newest opening key of each client that has one.
        codec: bounds and bits of the encoding.
        training: local settings, as JSON; not read here.
        prior_version: version of the prior that the round starts from.
        theta_version: the version that first carried its theta.
        prior_digest: its digest, 32 bytes.
        checkpoint: the log's checkpoint before this plan.
        void: proofs of the aborted rounds of the same prior.
        contribute_until: first deadline.
        open_until: second deadline.
        origin: the prior's numbers; needed under differential privacy only.

    Raises:
        CommitteeError: too few clients for a safe committee, fewer keys than openings that it takes, or the rules
            refuse the numbers; or clients are drawn by weight and one declared none.
        CapacityError: the sums of so many clients do not fit the field.
        EncodingError: the rules of differential privacy make no terms for these clients.
    """
    seats = committee.draw(roster.servants(), rules.committee_cap, roster.nonce, theta_version, committee.SEAT)
    if not seats:
        raise CommitteeError("nobody in the roster may serve on a committee")
    invited = draw_invited(roster, rules.draw, rules.invited_cap, theta_version)
    numbers = _numbers(roster, rules, len(seats), len(invited))
    usable = sum(client in keys for client in seats)
    if usable < numbers.threshold:
        raise CommitteeError(
            f"{usable} of {len(seats)} seats have an opening key and {numbers.threshold} openings are needed; wait for "
            "the members' agents"
        )
    terms = None
    if rules.privacy is None:
        codec.check_capacity(len(invited))
    else:
        terms = rules.privacy.terms(origin, numbers.carriers)
        check_signed_capacity(len(invited), terms, MERSENNE_61)
    return Plan(
        federation=roster.federation,
        round=number,
        prior_version=prior_version,
        theta_version=theta_version,
        prior_digest=prior_digest,
        update="theta",
        training=dict(training),
        codec=codec.to_json(),
        weighting=rules.weighting,
        weight_unit=rules.weight_unit,
        min_cohort=numbers.min_cohort,
        invited=invited,
        invited_cap=rules.invited_cap,
        draw=rules.draw,
        declared_cap=rules.weight_cap if rules.draw == "weights" else None,
        groups=rules.groups,
        dealt=deal(invited, rules.groups, roster.nonce, theta_version),
        combine=rules.combine,
        largest_step=rules.largest_step,
        roster_version=roster.version,
        roster_digest=roster.digest(),
        seats=tuple(Seat(client=client, key=keys.get(client)) for client in seats),
        committee_cap=rules.committee_cap,
        threshold=numbers.threshold,
        spare=numbers.spare,
        gamma=rules.gamma,
        delta=rules.delta,
        contribute_until=contribute_until,
        open_until=open_until,
        differential_privacy=terms,
        suite=rules.suite,
        checkpoint=checkpoint,
        void=tuple(void),
    )


def draw_invited(roster: Roster, draw: Draw, cap: int | None, theta_version: int) -> tuple[str, ...]:
    """The invited clients of a round, in order.

    Raises:
        CommitteeError: clients are drawn by weight and one declared none.
    """
    admitted = roster.active()
    count = cap or len(admitted)
    if draw == "weights":
        return weighted_draw.draw(roster.weights(), count, roster.nonce, theta_version, committee.INVITED)
    return committee.draw(admitted, count, roster.nonce, theta_version, committee.INVITED)


def committee_of(plan: Plan, roster: Roster) -> Committee:
    """The committee's numbers of a plan, recomputed from the roster.

    Raises:
        CommitteeError: the plan's numbers are not safe, or clients are drawn by weight and one declared none.
    """
    return _numbers(roster, plan, len(plan.seats), len(plan.invited))


def _numbers(roster: Roster, terms: AggregationRules | Plan, seats: int, invited: int) -> Committee:
    by_weight = terms.draw == "weights"
    return committee.size(
        seats=seats,
        servants=len(roster.servants()),
        invited=invited,
        admitted=len(roster.active()),
        gamma=terms.gamma,
        delta=terms.delta,
        min_cohort=terms.min_cohort,
        corrupt_invited=(
            weighted_draw.max_corrupt(invited, tuple(roster.weights().values()), terms.gamma) if by_weight else None
        ),
        groups=terms.groups,
    )
