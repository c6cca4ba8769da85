import math
from typing import Any

import numpy as np
import pytest

from fgpr.errors import EncodingError, SumRefused
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.weighting import check_unit, weight_of
from support.federation import Federation


@pytest.mark.parametrize(
    ("observations", "weight"),
    # Borders between classes at 300 sqrt(2) 2^k: 424.26, 848.5, 1697.06, 3394.1.
    [
        (1, 1),
        (300, 1),
        (424, 1),
        (425, 2),
        (848, 2),
        (849, 4),
        (1697, 4),
        (1698, 8),
        (3394, 8),
        (3395, 16),
        (10**9, 16),
    ],
)
def test_the_nearest_power_of_two_within_1_and_16(observations: int, weight: int) -> None:
    assert weight_of("classes", 300, observations) == weight


def test_classes_are_what_logarithms_say() -> None:
    for unit in (1, 7, 300):
        for observations in range(1, 40 * unit, max(1, unit // 3)):
            wanted = 2 ** min(4, max(0, round(math.log2(observations / unit))))
            assert weight_of("classes", unit, observations) == wanted, (unit, observations)


def test_exact_and_uniform() -> None:
    assert weight_of("exact", None, 123) == 123
    assert weight_of("uniform", None, 123) == 1


@pytest.mark.parametrize("rule", [("exact", None), ("uniform", None), ("classes", 5)])
def test_without_observations_nothing_is_sent(rule: Any) -> None:
    with pytest.raises(EncodingError, match="sends nothing"):
        weight_of(*rule, 0)


@pytest.mark.parametrize("rule", [("exact", 5), ("uniform", 5), ("classes", None), ("classes", 0), ("classes", -1)])
def test_a_unit_belongs_to_classes_alone(rule: Any) -> None:
    with pytest.raises(EncodingError, match="belongs to 'classes' alone"):
        check_unit(*rule)
    with pytest.raises(EncodingError, match="belongs to 'classes' alone"):
        weight_of(*rule, 100)


CLASSES = AggregationRules(weighting="classes", weight_unit=100)


def test_a_round_of_classes() -> None:
    made = Federation(4, CLASSES)
    observations = {"client-00": 40, "client-01": 210, "client-02": 390, "client-03": 5000}
    made.plan()
    weights = [
        made.contribute(name, np.full(3, float(number) / 4), count).weight
        for number, (name, count) in enumerate(observations.items())
    ]
    assert weights == [1, 2, 4, 16]
    made.close()
    for name in made.names:
        made.open(name)
    record = made.finish()
    assert record.opened is not None
    assert record.opened.total_weight == 23
    np.testing.assert_allclose(record.theta, (0 * 1 + 0.25 * 2 + 0.5 * 4 + 0.75 * 16) / 23, atol=1e-8)


def test_a_client_that_weighs_more_than_the_largest_class_is_refused_as_a_sum() -> None:
    # Every client counts 17, which no class gives: 4 * 16 is the most that four clients weigh.
    heavy = Federation(4, AggregationRules(weighting="exact"))
    codec = heavy.plan().message.codec | {"weight_cap": 17}
    heavy.rounds.clear()
    heavy.plan(codec=codec)
    for name in heavy.names:
        heavy.contribute(name, np.zeros(3), 17)
    heavy.close()
    for name in heavy.names:
        heavy.open(name)
    heavy.now.plan = heavy.signed(heavy.now.plan.message.model_copy(update={"codec": codec | {"weight_cap": 16}}))
    with pytest.raises(SumRefused, match="total weight 68 of 4 clients"):
        heavy.finish()
