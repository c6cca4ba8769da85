from pathlib import Path

import pytest

from attacks.attack import Attack
from attacks.table import ATTACKS

CASES = [(attack, channel) for attack in ATTACKS for channel in attack.plays]


@pytest.mark.parametrize(("attack", "channel"), CASES, ids=[f"{a.row}-{a.name}-{channel}" for a, channel in CASES])
def test_each_attack_is_refused(attack: Attack, channel: str, tmp_path: Path) -> None:
    assert attack.outcome(channel, tmp_path) == attack.expected[channel]


def test_every_row_of_the_protocol_is_tried_in_memory_and_over_http() -> None:
    for channel in ("memory", "HTTP"):
        tried = {attack.row for attack in ATTACKS if channel in attack.plays}
        assert tried == {"1", "4", "4a", "4c", "6", "6b", "6c", "7", "8", "8b", "9", "10", "11", "12", "13", "14"}
    assert all(attack.plays or attack.why_not for attack in ATTACKS)
