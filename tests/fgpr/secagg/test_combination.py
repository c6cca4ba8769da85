import numpy as np
import pytest

from fgpr.errors import EncodingError, SumRefused
from fgpr.federated import publication
from fgpr.secagg.combination import combine_sums
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.planning import AggregationRules
from support.federation import SPEC, Federation

RULES = AggregationRules(groups=3, combine="median")
CODEC = publication.codec_for(SPEC, RULES)
MADE = Federation(15, RULES)
PLAN = MADE.plan().message
for _name in MADE.names:
    MADE.contribute(_name, np.zeros(3))
COHORT = MADE.cohort_of(MADE.names).message


def summed(*rows: tuple[float, int]) -> np.ndarray:
    """A group's sum a row: five clients of which each sends this value in each place, with this weight."""
    total = np.zeros((len(rows), 4), dtype=np.uint64)
    for number, (value, weight) in enumerate(rows):
        for _ in range(5):
            total[number] = FIELD.add(total[number], CODEC.encode(np.full(3, value), weight).vector)
    return total.reshape(-1)


def test_groups_count_alike_whatever_their_weights() -> None:
    found = combine_sums(PLAN, COHORT, summed((0.5, 1), (-2.0, 65_535), (0.25, 2)))
    np.testing.assert_allclose(found.average, [0.25] * 3, atol=1e-8)
    assert (found.total_weight, found.refused) == (5 * 65_538, ())


def test_a_group_without_an_honest_sum_is_left_out_and_named() -> None:
    vector = summed((0.5, 1), (-2.0, 65_535), (0.25, 2))
    vector[4:8] = 0
    found = combine_sums(PLAN, COHORT, vector)
    np.testing.assert_allclose(found.average, [0.375] * 3, atol=1e-8)
    assert (found.total_weight, found.refused) == (15, (2,))


def test_one_of_three_is_no_majority() -> None:
    vector = summed((0.5, 1), (-2.0, 65_535), (0.25, 2))
    vector[4:] = 0
    with pytest.raises(SumRefused, match=r"group 2: total weight 0 .*; group 3: total weight 0"):
        combine_sums(PLAN, COHORT, vector)


def test_what_stands_for_a_group_that_is_not_counted_is_not_read() -> None:
    gone = PLAN.parts(MADE.names)[1]
    fewer = MADE.cohort_of([name for name in MADE.names if name not in gone]).message
    found = combine_sums(PLAN, fewer, summed((0.5, 1), (-2.0, 1), (0.25, 2)))
    np.testing.assert_allclose(found.average, [0.375] * 3, atol=1e-8)
    assert (found.total_weight, found.refused) == (15, ())


@pytest.mark.parametrize("words", [4, 8, 11, 16])
def test_a_vector_of_another_length_is_refused(words: int) -> None:
    with pytest.raises(EncodingError, match="3 sums of 4 elements"):
        combine_sums(PLAN, COHORT, np.zeros(words, dtype=np.uint64))


def test_one_group_is_the_weighted_average_with_the_errors_of_the_codec() -> None:
    made = Federation(4)
    plan = made.plan().message
    for name in made.names:
        made.contribute(name, np.zeros(3))
    cohort = made.cohort_of(made.names).message
    total = FIELD.add(CODEC.encode(np.full(3, 0.5), 9).vector, CODEC.encode(np.full(3, -1.0), 3).vector)
    found = combine_sums(plan, cohort, total)
    np.testing.assert_allclose(found.average, [0.125] * 3, atol=1e-8)
    with pytest.raises(SumRefused, match=r"^total weight 0 of 4"):
        combine_sums(plan, cohort, np.zeros(4, dtype=np.uint64))
    with pytest.raises(SumRefused, match="a cohort of nobody"):
        combine_sums(plan, made.cohort_of(()).message, total)
