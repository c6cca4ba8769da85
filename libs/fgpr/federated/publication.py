"""Published priors: the record that the aggregator signs, and how it follows from what a round opened.

Anybody who holds the log recomputes each theta from the summed field vector bit for bit: decoding is exact arithmetic
(`fgpr.secagg.encoding`) and the record names everything that went in.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from fgpr.errors import VerificationError
from fgpr.federated.published_privacy import PublishedPrivacy, privacy_after, verify_privacy
from fgpr.federated.trust_region import overstepped
from fgpr.gp.model import ModelSpec, Prior
from fgpr.message import Bytes, Count, Digest, Message, Name
from fgpr.secagg.combination import combine_sums
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.differences import codec_of
from fgpr.secagg.encoding import Codec
from fgpr.secagg.messages import Cohort, Plan
from fgpr.secagg.opening import Unmasked
from fgpr.secagg.planning import AggregationRules


class Opened(Message):
    """What a round opened.

    Attributes:
        plan: digest of its plan.
        cohort: digest of its cohort.
        clients: size of the cohort.
        total_weight: the sum of the weights.
        sum: the sum of the encoded updates, L + 1 words; with groups one sum a group, in order, zeros for one that is
            not counted or could not be opened.
    """

    plan: Digest
    cohort: Digest
    clients: Annotated[Count, Field(ge=1)]
    total_weight: Annotated[Count, Field(ge=1)]
    sum: Bytes


class PriorRecord(Message):
    """A prior as it is published; signed by the service key and kept in full in the audit log.

    Attributes:
        version: rises by one with each record.
        theta_version: the version that first carried this theta.
        reason: "initial" (signed when the federation was created), "averaged", "carried" after a round that may have
            been opened without publishing, or "kept" after one whose average left the trust region.
        round: the round that led to it; None for the initial one.
        spec: the model (`fgpr.gp.model.ModelSpec`).
        theta: hyper-parameters in log space, in the wire order.
        opened: what the round opened; only where the reason is "averaged" or "kept".
        privacy: what all rounds so far cost a client; only under differential privacy.
    """

    label: ClassVar[str] = "fgpr-v1/prior"

    federation: Name
    version: Count
    theta_version: Count
    reason: Literal["initial", "averaged", "carried", "kept"]
    round: Annotated[Count, Field(ge=1)] | None
    spec: dict[str, JsonValue]
    theta: tuple[float, ...]
    opened: Opened | None
    privacy: PublishedPrivacy | None = None

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.reason in ("averaged", "kept")) != (self.opened is not None):
            raise ValueError("exactly an averaged or kept prior says what was opened")
        if (self.reason == "initial") != (self.round is None):
            raise ValueError("exactly the initial prior comes from no round")
        if self.round is None and self.privacy is not None:
            raise ValueError("an initial prior cost no privacy")
        older = self.theta_version < self.version
        if self.theta_version > self.version or (self.reason in ("carried", "kept")) != older:
            raise ValueError("exactly a carried or kept prior keeps an older theta version")
        return self

    def vector(self) -> np.ndarray:
        """Theta as float64, shape [L]."""
        return np.array(self.theta, dtype=np.float64)

    def prior(self) -> Prior:
        """The prior as the numerics take it.

        Raises:
            EncodingError: the model or theta does not have its form or bounds.
        """
        return Prior(spec=ModelSpec.from_json(self.spec), theta=self.vector(), version=self.version)


def codec_for(spec: ModelSpec, rules: AggregationRules) -> Codec:
    """The encoding of a theta of this model: its bounds in log space, with the federation's bits and weight cap."""
    return Codec(
        names=spec.bounds.names,
        lower=tuple(float(bound) for bound in spec.bounds.lower),
        upper=tuple(float(bound) for bound in spec.bounds.upper),
        fraction_bits=rules.fraction_bits,
        weight_bits=rules.weight_bits,
        weight_cap=rules.largest_weight,
    )


def initial(federation: str, spec: ModelSpec) -> PriorRecord:
    """Version 0: the model's start values."""
    return PriorRecord(
        federation=federation,
        version=0,
        theta_version=0,
        reason="initial",
        round=None,
        spec=spec.to_json(),
        theta=_numbers(spec.initial_theta),
        opened=None,
    )


def averaged(
    previous: PriorRecord,
    plan: Plan,
    plan_digest: bytes,
    cohort: Cohort,
    unmasked: Unmasked,
    between: Sequence[Plan] = (),
) -> PriorRecord:
    """The record after a round: theta becomes the average (Algorithm 1 of the paper), or stays (`step_refusal`).

    A kept theta counts as one that was opened, as a carried one does; the record shows the sums that were refused.

    Args:
        previous: the record that the round started from.
        plan: the round's plan.
        plan_digest: its digest, 32 bytes.
        cohort: the closed cohort.
        unmasked: its opened sum.
        between: plans of the rounds between that of `previous` and this one, which ended void.
    """
    version, kept = previous.version + 1, step_refusal(previous, plan, unmasked.average) is not None
    return PriorRecord(
        federation=plan.federation,
        version=version,
        theta_version=previous.theta_version if kept else version,
        reason="kept" if kept else "averaged",
        round=plan.round,
        spec=previous.spec,
        theta=previous.theta if kept else _numbers(unmasked.average),
        opened=Opened(
            plan=plan_digest,
            cohort=cohort.digest(),
            clients=len(cohort.members),
            total_weight=unmasked.total_weight,
            sum=FIELD.to_bytes(unmasked.vector),
        ),
        privacy=privacy_after(previous.privacy, (*between, plan), unmasked.clamped),
    )


def step_refusal(previous: PriorRecord, plan: Plan, average: np.ndarray) -> str | None:
    """Why an average is no candidate for the next prior: what it moves farther than the plan allows; or None."""
    return overstepped(Codec.from_json(plan.codec).names, previous.vector(), average, plan.largest_step)


def carried(previous: PriorRecord, round_number: int, since: Sequence[Plan] = ()) -> PriorRecord:
    """The record after a round that could not be proven void: the old theta as a new version.

    Args:
        previous: the record that the round started from.
        round_number: the round.
        since: plans of all rounds after that of `previous`; what they cost in privacy counts, whatever became of them.
    """
    changes: dict[str, Any] = {
        "version": previous.version + 1,
        "reason": "carried",
        "round": round_number,
        "opened": None,
        "privacy": privacy_after(previous.privacy, since),
    }
    return PriorRecord.model_validate(dict(previous) | changes)


def verify_recomputed(record: PriorRecord, plan: Plan, cohort: Cohort, previous: PriorRecord) -> None:
    """Check that a record is, bit for bit, what its summed vector gives under its plan.

    Args:
        record: averaged, or kept because the average left the trust region.
        plan: that of its round.
        cohort: that of its round.
        previous: the record before it.

    Raises:
        VerificationError: it is not.
        SumRefused: the summed vector cannot be an honest average.
    """
    opened = record.opened
    if opened is None:
        raise VerificationError(f"prior {record.version} was not averaged: there is nothing to recompute")
    if (opened.cohort, opened.clients) != (cohort.digest(), len(cohort.members)):
        raise VerificationError(f"prior {record.version} names another cohort than that of round {plan.round}")
    made = (record.federation, record.round, record.version)
    if opened.plan != plan.digest() or made != (plan.federation, plan.round, plan.prior_version + 1):
        raise VerificationError(f"prior {record.version} names another plan than that of round {plan.round}")
    length = plan.groups * Codec.from_json(plan.codec).length
    combined = combine_sums(plan, cohort, FIELD.from_bytes(opened.sum, length))
    refused = step_refusal(previous, plan, combined.average)
    if (refused is None) != (record.reason == "averaged"):
        raise VerificationError(
            f"prior {record.version} is {record.reason}: {refused or 'the average is in the region'}"
        )
    theta = _numbers(combined.average) if refused is None else previous.theta
    if (theta, combined.total_weight) != (record.theta, opened.total_weight):
        raise VerificationError(f"prior {record.version} is not what its summed vector decodes to")


def verify_cost(record: PriorRecord, previous: PriorRecord, since: Sequence[Plan]) -> None:
    """Check what a record says of privacy.

    Args:
        record: averaged or carried.
        previous: the version before it.
        since: plans of all rounds after that of `previous`, up to the record's own.

    Raises:
        VerificationError: it says something else than the plans.
    """
    clamped: tuple[str, ...] = ()
    if record.opened is not None and since and since[-1].differential_privacy is not None:
        codec = codec_of(since[-1])
        clamped = codec.decode(FIELD.from_bytes(record.opened.sum, codec.length), record.opened.clients).clamped
    verify_privacy(record.privacy, privacy_after(previous.privacy, since, clamped), f"prior {record.version}")


def _numbers(vector: np.ndarray) -> tuple[float, ...]:
    return tuple(float(number) for number in vector)
