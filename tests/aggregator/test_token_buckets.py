import re

import pytest

from aggregator.token_buckets import TokenBuckets
from fgpr.errors import TooMany


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


def taken(buckets: TokenBuckets, key: str, most: int = 1000) -> int:
    """How many tokens it gives at once."""
    for count in range(most):
        try:
            buckets.take(key)
        except TooMany:
            return count
    return most


def test_a_full_bucket_gives_its_burst_and_then_its_rate(clock: Seconds) -> None:
    buckets = TokenBuckets("key", 2.0, 5, clock)
    assert taken(buckets, "a") == 5
    clock.now += 0.5
    assert taken(buckets, "a") == 1
    clock.now += 1.25
    assert taken(buckets, "a") == 2
    # Half a token was left over.
    clock.now += 0.25
    assert taken(buckets, "a") == 1
    clock.now += 1e9
    assert taken(buckets, "a") == 5


def test_keys_do_not_share(clock: Seconds) -> None:
    buckets = TokenBuckets("key", 1.0, 3, clock)
    assert taken(buckets, "a") == 3
    assert taken(buckets, "b") == 3


@pytest.mark.parametrize(("rate", "seconds"), [(2.0, 1), (1.0, 1), (0.25, 4), (0.3, 4), (1e6, 1)])
def test_a_refusal_says_when_it_would_be_granted(clock: Seconds, rate: float, seconds: int) -> None:
    buckets = TokenBuckets("address", rate, 1, clock)
    buckets.take("a")
    with pytest.raises(TooMany, match=re.escape(f"from this address; try again in {seconds} s")) as refused:
        buckets.take("a")
    assert refused.value.details == {"retry_after": seconds}
    clock.now += seconds
    buckets.take("a")


def test_the_names_of_a_flood_do_not_fill_the_memory(clock: Seconds) -> None:
    buckets = TokenBuckets("address", 1.0, 2, clock, most=10)
    assert taken(buckets, "steady") == 2
    for number in range(9):
        buckets.take(f"10.0.0.{number}")
    with pytest.raises(TooMany):
        buckets.take("steady")
    for number in range(1000):
        buckets.take(f"10.1.0.{number}")
        assert len(buckets) <= 10
