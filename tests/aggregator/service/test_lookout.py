"""Waiting requests that share one look."""

import asyncio
import threading

from aggregator.service.bell import Bell
from aggregator.service.lookout import Lookout

LONG = 60.0


class Looked:
    """A state that changes when it is told to, and how often it was looked at."""

    def __init__(self) -> None:
        self.state, self.looks, self.fails = "1", 0, False
        self.looked = threading.Condition()

    def __call__(self, federation: str) -> str:
        with self.looked:
            self.looks += 1
            self.looked.notify_all()
        if self.fails:
            raise RuntimeError(federation)
        return self.state

    async def until(self, looks: int) -> None:
        """Until it was looked at so often."""

        def wait() -> None:
            with self.looked:
                assert self.looked.wait_for(lambda: self.looks >= looks, LONG)

        await asyncio.to_thread(wait)


def quiet(bell: Bell) -> Bell:
    """A bell whose listeners look only when it rings."""
    bell.listen(True)
    return bell


def test_one_look_wakes_all_who_wait() -> None:
    bell, looked = quiet(Bell()), Looked()
    lookout = Lookout(bell, looked)

    async def play() -> None:
        waiting = [asyncio.create_task(lookout.changed("f", "1", LONG)) for _ in range(100)]
        await looked.until(1)
        looked.state = "2"
        before = looked.looks
        bell.ring()
        await asyncio.gather(*waiting)
        # One for the ring; those who came while nobody had looked yet may have asked for a few more.
        assert looked.looks - before <= 3

    asyncio.run(play())


def test_who_has_seen_an_old_state_is_woken_by_a_look_that_begins_after_it_came() -> None:
    bell, looked = quiet(Bell()), Looked()
    lookout = Lookout(bell, looked)

    async def play() -> None:
        first = asyncio.create_task(lookout.changed("f", "1", LONG))
        await looked.until(1)
        # It saw what was true before the last look: nothing rings for it any more.
        await lookout.changed("f", "0", LONG)
        assert not first.done()
        # It saw what came after the last look; a look shows that nothing has changed since, and it waits on.
        looked.state = "2"
        late = asyncio.create_task(lookout.changed("f", "2", LONG))
        await first
        await asyncio.sleep(0.05)
        assert not late.done()
        looked.state = "3"
        bell.ring()
        await late

    asyncio.run(play())


def test_time_ends_a_wait_and_the_last_one_ends_the_looks() -> None:
    bell, looked = quiet(Bell()), Looked()
    lookout = Lookout(bell, looked)

    async def play() -> None:
        await lookout.changed("f", "1", 0.05)
        looks = looked.looks
        bell.ring()
        await asyncio.sleep(0.05)
        assert looked.looks == looks

    asyncio.run(play())


def test_where_no_look_is_possible_everybody_asks_for_itself() -> None:
    bell, looked = quiet(Bell()), Looked()
    lookout = Lookout(bell, looked)

    async def play() -> None:
        waiting = [asyncio.create_task(lookout.changed("f", "1", LONG)) for _ in range(3)]
        await looked.until(1)
        looked.fails = True
        bell.ring()
        await asyncio.gather(*waiting)
        # Whoever comes later is looked for anew.
        looked.fails = False
        looked.state = "2"
        await lookout.changed("f", "1", LONG)

    asyncio.run(play())


def test_federations_are_looked_at_apart() -> None:
    bell, looked = quiet(Bell()), Looked()
    lookout = Lookout(bell, looked)

    async def play() -> None:
        one = asyncio.create_task(lookout.changed("a", "1", LONG))
        other = asyncio.create_task(lookout.changed("b", "2", LONG))
        await other
        assert not one.done()
        looked.state = "2"
        bell.ring()
        await one

    asyncio.run(play())
