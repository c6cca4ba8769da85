import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aggregator.service import bell
from aggregator.service.bell import Bell


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not woken waits for longer than a test may take."""
    monkeypatch.setattr(bell, "LOOK_AGAIN", 3600.0)
    monkeypatch.setattr(bell, "LOOK_AGAIN_LISTENING", 3600.0)


def test_everybody_who_waits_is_woken() -> None:
    made, begun = Bell(), threading.Semaphore(0)

    def wait() -> bool:
        rings = made.rings
        begun.release()
        return made.wait(rings, 3600.0)

    with ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(wait) for _ in range(5)]
        for _ in waiting:
            begun.acquire()
        made.ring()
        assert [one.result() for one in waiting] == [True] * 5


def test_a_ring_between_the_look_and_the_wait_is_not_missed() -> None:
    made = Bell()
    rings = made.rings
    made.ring()
    assert made.wait(rings, 3600.0)
    assert not made.wait(made.rings, 0.0)


def test_where_nobody_tells_of_other_processes_it_looks_again_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Bell()
    monkeypatch.setattr(bell, "LOOK_AGAIN", 0.0)
    assert not made.wait(made.rings, 3600.0)
    made.listen(True)
    rings = made.rings
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(made.wait, rings, 3600.0)
        # Nobody tells any more: whoever waits for the long time looks again.
        made.listen(False)
        assert waiting.result()
    assert not made.wait(made.rings, 3600.0)
