import numpy as np
import pytest

from fgpr.federated.trust_region import overstepped

NAMES = ("signal sd", "noise sd")
BEFORE = np.array([0.0, -1.0])


def test_without_a_limit_every_step_is_inside() -> None:
    assert overstepped(NAMES, BEFORE, np.array([99.0, 99.0]), None) is None


@pytest.mark.parametrize("step", [0.5, -0.5])
def test_the_limit_itself_is_inside_and_the_next_number_is_not(step: float) -> None:
    assert overstepped(NAMES, BEFORE, np.array([step, -1.0]), 0.5) is None
    after = np.array([np.nextafter(step, 2 * step), -1.0])
    assert overstepped(NAMES, BEFORE, after, 0.5) == "the average moves signal sd by 0.5; the largest step is 0.5"


def test_every_number_that_goes_too_far_is_named() -> None:
    told = overstepped(NAMES, BEFORE, np.array([1.0, 2.0]), 0.25)
    assert told == "the average moves signal sd by 1, noise sd by 3; the largest step is 0.25"
