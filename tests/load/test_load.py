"""A short form of `make load`, in which nothing is timed."""

import numpy as np
import pytest

from load.judged import judge, judge_slow
from load.measured import Measured
from load.offered import Seen
from load.scenes import DATABASES, Pace, Scene, killed, rounds
from support import postgres
from support.postgres import NoPostgres

CLIENTS = 10


@pytest.fixture(scope="module")
def server() -> None:
    try:
        with postgres.running():
            pass
    except NoPostgres as reason:
        pytest.skip(f"no PostgreSQL: {reason}")


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_everything_acknowledged_is_counted_on_both_databases() -> None:
    played = dict(rounds([CLIENTS], DATABASES[:1], slow=[20])) | dict(rounds([CLIENTS], DATABASES[1:], slow=[0]))
    assert set(played) == {
        Scene("sqlite", CLIENTS, Pace.STEADY, 20),
        Scene("postgresql", CLIENTS, Pace.BURST),
        Scene("postgresql", CLIENTS, Pace.STEADY),
        Scene("postgresql", CLIENTS, Pace.BURST, replicas=2),
    }
    for measured in played.values():
        seen = measured.seen
        assert (measured.lost, measured.published, dict(seen.refused)) == (0, True, {})
        assert len(seen.acknowledged) == CLIENTS
        # Openings in excess of t + spare are acknowledged for their keys.
        assert 7 <= len(seen.counted) <= CLIENTS
        assert {len(one) for one in seen.seconds.values()} == {CLIENTS}
        assert min(measured.cpu, measured.memory, seen.wall) > 0


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_nothing_is_lost_where_replicas_are_killed() -> None:
    ((scene, measured),) = killed(CLIENTS, count=1, arrivals=3.0, every=1.5)
    assert scene.kills is not None
    assert scene.kills >= 1
    assert (measured.lost, measured.published, dict(measured.seen.refused)) == (0, True, {})
    assert len(measured.seen.acknowledged) == CLIENTS


def measured_of(
    clients: int, *, lost: int = 0, published: bool = True, wall: float = 1.0, slowest: float = 0.1
) -> Measured:
    seen = Seen(wall=wall)
    seen.seconds["contribution"] = list(np.linspace(0.0, slowest, 101))
    return Measured(clients, seen, lost, published, 1.0, 0.0, 100.0)


def missed(scene: Scene, measured: Measured) -> list[str]:
    return [line.name.rpartition(": ")[2] for line in judge(scene, measured) if line.met is False]


def test_targets_are_those_of_rounds_that_come_at_once_and_of_contributions_one_by_one() -> None:
    at_once, one_by_one = Scene("sqlite", 60, Pace.BURST), Scene("sqlite", 100)
    assert missed(at_once, measured_of(60, wall=2.0, slowest=9.0)) == []
    assert missed(at_once, measured_of(60, wall=2.1)) == ["round"]
    assert missed(Scene("sqlite", 500, Pace.BURST), measured_of(500, wall=15.1)) == ["round"]
    assert missed(Scene("postgresql", 60, Pace.BURST), measured_of(60, wall=2.1)) == []
    assert missed(Scene("postgresql", 60, Pace.BURST, replicas=2), measured_of(60, wall=2.1)) == ["round"]
    assert missed(one_by_one, measured_of(100, wall=9.0, slowest=0.25)) == []
    assert missed(one_by_one, measured_of(100, slowest=0.26)) == ["contribution, p99"]
    assert missed(Scene("sqlite", 100, slow=500), measured_of(100, slowest=9.0)) == []


def test_what_is_lost_wrong_or_refused_misses_in_each_scene() -> None:
    for scene in (Scene("sqlite", 10), Scene("sqlite", 10, slow=500), Scene("postgresql", 10, kills=3)):
        assert missed(scene, measured_of(10, lost=1)) == ["acknowledged contributions lost"]
        assert missed(scene, measured_of(10, published=False)) == ["rounds that ended right"]
        refused = measured_of(10)
        refused.seen.refused["opening 409"] = 1
        assert missed(scene, refused) == ["requests refused"]
    assert missed(Scene("postgresql", 10, kills=0), measured_of(10)) == ["kills"]


def test_slow_sockets_are_judged_by_what_there_is_without_them() -> None:
    plain, slow = Scene("sqlite", 100), Scene("sqlite", 100, slow=500)
    (line,) = judge_slow({plain: measured_of(100, slowest=0.1), slow: measured_of(100, slowest=0.3)})
    assert line.value == pytest.approx(3.0)
    assert line.met is False
    assert judge_slow({slow: measured_of(100)}) == []
