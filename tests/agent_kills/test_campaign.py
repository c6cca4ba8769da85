"""The short form of `make agent-kills`."""

import hashlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_kills.__main__ import lines
from agent_kills.campaign import Outcome, judge, play, schedule
from fgpr.secagg.stages import Stage


@pytest.mark.slow
def test_an_agent_that_is_killed_four_times_sends_the_same_bytes_and_loses_no_round(tmp_path: Path) -> None:
    outcome = play(tmp_path, 4)
    assert outcome.kills.total() + outcome.survived == 4
    assert outcome.kills.total() >= 3
    assert (outcome.failed, outcome.other_bytes, outcome.second, outcome.differing) == ([], 0, 0, 0)
    assert outcome.rounds == outcome.published >= 4
    kinds = {step.split()[0] for step in outcome.steps}
    assert {"open", "half", "fsync", "link", "replace", "unlink", "mkdir", "before", "answered"} <= kinds


def test_every_step_comes_once_before_any_second_kill() -> None:
    assert [first for first, _ in schedule(5, 5)] == [1, 2, 3, 4, 5]
    assert [first for first, _ in schedule(100, 4)] == [1, 26, 51, 76]
    more = schedule(5, 8)
    assert [first for first, _ in more] == [1, 2, 3, 4, 5]
    assert sum(second is not None for _, second in more) == 3


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ({"other_bytes": 1}, "bodies sent again with other bytes"),
        ({"second": 1}, "second contributions"),
        ({"differing": 1}, "stored contributions that differ from those written"),
        ({"rounds": 9}, "rounds lost"),
        ({"failed": ["x"]}, "lives that ended otherwise"),
        ({"kills": Counter()}, "lives that were to be killed"),
    ],
)
def test_each_fault_misses_a_target(fault: dict[str, object], name: str) -> None:
    good: dict[str, object] = {"kills": Counter({"fsync x": 4}), "rounds": 8, "published": 8}
    assert all(line.met is not False for line in lines(Outcome(**good), 4, 1.0))  # type: ignore[arg-type]
    missed = [line.name for line in lines(Outcome(**(good | fault)), 4, 1.0) if line.met is False]  # type: ignore[arg-type]
    assert missed == [name]


BODY, OTHER = b"body", b"another"


@pytest.mark.parametrize(
    ("sent", "stored", "cohorts", "wrong"),
    [
        ([(1, BODY), (1, BODY), (2, BODY)], [(1, BODY), (2, BODY)], {1: "me", 2: "me"}, (0, 0, 0, 0)),
        ([(1, BODY), (1, OTHER), (2, BODY)], [(1, BODY), (2, BODY)], {1: "me", 2: "me"}, (1, 0, 0, 0)),
        ([(1, BODY), (2, BODY)], [(1, BODY), (1, BODY), (2, BODY)], {1: "me", 2: "me"}, (0, 2, 0, 0)),
        ([(1, BODY), (3, BODY)], [(1, BODY), (3, BODY)], {1: "me", 2: "you", 3: "me"}, (0, 1, 0, 1)),
        ([(1, OTHER), (2, BODY)], [(1, OTHER), (2, BODY)], {1: "me", 2: "me"}, (0, 0, 1, 0)),
        ([(1, BODY), (2, BODY)], [(1, OTHER), (2, BODY)], {1: "me", 2: "me"}, (0, 0, 1, 0)),
    ],
    ids=["fine", "other bytes", "twice in a round", "twice from a prior, one round lost", "not on disk", "not sent"],
)
def test_what_is_wrong_is_counted(
    tmp_path: Path,
    sent: list[tuple[int, bytes]],
    stored: list[tuple[int, bytes]],
    cohorts: dict[int, str],
    wrong: tuple[int, int, int, int],
) -> None:
    lines = [f"rounds/{number}/contributions/me {hashlib.sha256(body).hexdigest()}\n" for number, body in sent]
    (tmp_path / "sent").write_text("".join(lines))
    folder = tmp_path / "rounds" / "000001"
    folder.mkdir(parents=True)
    (folder / "contribution.json").write_bytes(BODY)
    aggregator = SimpleNamespace(
        rounds=lambda limit: [SimpleNamespace(round=number, stage=Stage.PUBLISHED) for number in cohorts][:limit],
        published=lambda number: (None, [cohorts[number]]),
        # Round 2 published nothing where it is missing: the next one starts from the same prior.
        plan=lambda number: SimpleNamespace(prior_version=number - 1 if cohorts[2] == "me" else 0),
    )
    federation = SimpleNamespace(
        aggregator=aggregator,
        query=lambda _: [(number, hashlib.sha256(body).digest()) for number, body in stored],
        home=lambda _: tmp_path,
    )
    outcome = Outcome()
    judge(federation, "me", tmp_path, outcome)  # type: ignore[arg-type]
    lost = outcome.rounds - outcome.published
    assert (outcome.other_bytes, outcome.second, outcome.differing, lost) == wrong
