"""A thousand cohorts with drop-outs at every stage: the decoded mean is the exact one, to half a quantum."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fgpr.errors import CapacityError, PlanRefused
from fgpr.federated import publication
from fgpr.secagg import encoding
from fgpr.secagg.encoding import Codec
from fgpr.secagg.field import MERSENNE_61, Field
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.stages import Event, Stage
from support.federation import SPEC, Federation

FIELD = Field(MERSENNE_61)
WEIGHT_CAP = 65_535

FATES = ("never there", "checks the plan", "contributes", "is revoked", "opens")
"""The last thing that a client does."""


@dataclass(frozen=True)
class Fate:
    """What one client has, and how far it gets."""

    last: str
    values: tuple[float, ...]
    weight: int


def fates(codec: Codec) -> st.SearchStrategy[list[Fate]]:
    """Of three to six clients; values reach beyond their bounds, weights beyond the cap."""
    numbers = st.tuples(
        *(
            st.floats(lower - 1.0, upper + 1.0) | st.sampled_from([lower, upper, 0.0])
            for lower, upper in zip(codec.lower, codec.upper, strict=True)
        )
    )
    weights = st.integers(1, 300) | st.sampled_from([1, WEIGHT_CAP, WEIGHT_CAP + 1, 10**6])
    # Most of them get far: else hardly a cohort would be opened.
    last = st.sampled_from([*FATES, "opens", "opens", "opens", "opens", "contributes"])
    return st.lists(st.builds(Fate, last, numbers, weights), min_size=3, max_size=6)


CODEC = publication.codec_for(SPEC, AggregationRules())


@settings(
    max_examples=1000, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
@given(fates(CODEC))
def test_the_mean_of_a_cohort_is_exact_to_half_a_quantum(clients: list[Fate]) -> None:
    made = Federation(len(clients))
    made.plan()
    by_name = dict(zip(made.names, clients, strict=True))

    def of(*last: str) -> list[str]:
        return [name for name, fate in by_name.items() if fate.last in last]

    for name in of("checks the plan"):
        made.check(name)
    for name in of("contributes", "is revoked", "opens"):
        made.contribute(name, np.array(by_name[name].values), by_name[name].weight)
    for name in of("is revoked"):
        made.revoke(name)
    counted = of("contributes", "opens")
    plan = made.now.plan.message
    if len(counted) < plan.min_cohort:
        assert made.close() is None
        assert made.now.stage is Stage.ABORTED
        return
    assert made.close() is not None
    for name in of("opens"):
        made.open(name)
    if len(of("opens")) < plan.threshold:
        made.abort(Event.TOO_FEW_OPENINGS)
        assert made.prior.version == 0
        return
    record = made.finish()
    assert made.now.unmasked is not None
    weights = {name: min(by_name[name].weight, WEIGHT_CAP) for name in counted}
    total = sum(weights.values())
    assert made.now.unmasked.total_weight == total
    quanta = 2**CODEC.fraction_bits - 1
    for place, (lower, upper) in enumerate(zip(CODEC.lower, CODEC.upper, strict=True)):
        exact = sum(
            weights[name] * Fraction(min(max(by_name[name].values[place], lower), upper)) for name in counted
        ) / Fraction(total)
        width = Fraction(upper) - Fraction(lower)
        decoded = Fraction(lower) + width * Fraction(int(made.now.unmasked.vector[place]), total * quanta)
        assert abs(decoded - exact) <= width / quanta / 2
        # The published float is the nearest one to it.
        assert record.theta[place] == float(decoded)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data(), st.integers(1, 50), st.integers(1, 20))
def test_capacity_is_refused_exactly_at_the_border(data: st.DataObject, fraction: int, weight: int) -> None:
    if fraction + weight > encoding.MAX_BITS:
        return
    cap = data.draw(st.integers(1, 2**weight - 1))
    codec = Codec(("a",), (-1.0,), (3.0,), fraction, weight, cap)
    most = (MERSENNE_61 - 1) // ((2**fraction - 1) * (2**weight - 1))
    codec.check_capacity(most)
    with pytest.raises(CapacityError, match=f"at most {most} clients fit"):
        codec.check_capacity(most + 1)


@pytest.mark.parametrize("fraction", [41, 42])
def test_the_largest_sum_that_fits_decodes_and_one_client_more_is_not_planned(fraction: int) -> None:
    # Everybody at the upper bound with the largest weight: the sum comes as close to the modulus as it can.
    rules = AggregationRules(fraction_bits=fraction)
    codec = publication.codec_for(SPEC, rules)
    most = (MERSENNE_61 - 1) // ((2**fraction - 1) * WEIGHT_CAP)
    made = Federation(most, rules)
    record = made.run(dict.fromkeys(made.names, (codec.upper, WEIGHT_CAP)))
    assert record is not None
    assert record.theta == codec.upper
    assert made.now.unmasked is not None
    largest = int(made.now.unmasked.vector[0])
    assert largest == most * WEIGHT_CAP * (2**fraction - 1)
    assert MERSENNE_61 - largest <= (2**fraction - 1) * WEIGHT_CAP
    with pytest.raises(CapacityError, match=f"at most {most} clients fit"):
        Federation(most + 1, rules).plan()


def test_a_plan_beyond_the_border_is_refused_by_every_client() -> None:
    made = Federation(9, AggregationRules(fraction_bits=41))
    signed = made.plan()
    wide = signed.message.codec | {"fraction_bits": 42}
    made.now.plan = made.signed(signed.message.model_copy(update={"codec": wide}))
    for name in made.names:
        with pytest.raises(PlanRefused, match="at most 8 clients fit") as refused:
            made.check(name)
        assert refused.value.check == 6
