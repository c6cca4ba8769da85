"""How an age is told; `test_cli.py` and `test_predict_command.py` have the way to the prior."""

from datetime import timedelta

import pytest

from client_agent.prior_at_hand import ago


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (timedelta(0), "0 seconds ago"),
        (timedelta(seconds=119), "119 seconds ago"),
        (timedelta(minutes=2), "2 minutes ago"),
        (timedelta(minutes=119), "119 minutes ago"),
        (timedelta(hours=47), "47 hours ago"),
        (timedelta(days=400), "400 days ago"),
    ],
)
def test_the_largest_unit_of_which_there_are_two(age: timedelta, told: str) -> None:
    assert ago(age) == told
