"""Tells waiting requests that their federation's rounds have changed: one look for all of them.

Requests wait as coroutines. While any does, one thread a federation looks at the database when the bell rings, or when
it is time to look again, and wakes those who have seen something else. Five hundred waiting clients would otherwise
ask the same question five hundred times at each ring, each holding a thread.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from aggregator.service.bell import Bell

LONGEST_SLEEP = 30.0
"""Seconds between two looks at most; the bell makes it less."""


@dataclass(eq=False)
class _Waiter:
    """One request: what it has seen, and how to wake it."""

    seen: str
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self.loop.call_soon_threadsafe(self.woken.set)


@dataclass(eq=False)
class _Watch:
    """Those who wait for one federation, and the state at the last look."""

    waiters: set[_Waiter] = field(default_factory=set)
    state: str | None = None


class Lookout:
    """The waiting requests of one process.

    Args:
        bell: rung at each change.
        look: the present state of a federation; asked in a thread.
    """

    def __init__(self, bell: Bell, look: Callable[[str], str]) -> None:
        self._bell = bell
        self._look = look
        self._lock = threading.Lock()
        self._watches: dict[str, _Watch] = {}

    async def changed(self, federation: str, seen: str, seconds: float) -> None:
        """Until a look shows another state than `seen`, no look is possible, or the time is over."""
        waiter = _Waiter(seen, asyncio.get_running_loop())
        watch = self._join(federation, waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.woken.wait()
        except TimeoutError:
            pass
        finally:
            with self._lock:
                watch.waiters.discard(waiter)

    def _join(self, federation: str, waiter: _Waiter) -> _Watch:
        with self._lock:
            watch = self._watches.get(federation)
            if watch is None:
                watch = self._watches[federation] = _Watch({waiter})
                threading.Thread(
                    target=self._watch, args=(federation, watch), name=f"lookout {federation}", daemon=True
                ).start()
                return watch
            watch.waiters.add(waiter)
            stale = watch.state != waiter.seen
        if stale:
            # One of the two has seen an older state, and only a look tells which.
            self._bell.ring()
        return watch

    def _watch(self, federation: str, watch: _Watch) -> None:
        while self._wanted(federation, watch):
            # Read before the look: a change that comes between the two has rung by then.
            rings = self._bell.rings
            try:
                state = self._look(federation)
            except Exception:
                # Whoever waits asks for itself, and is told why it cannot be answered.
                state = None
            with self._lock:
                watch.state = state
                for waiter in watch.waiters:
                    if waiter.seen != state:
                        waiter.wake()
                if state is None:
                    del self._watches[federation]
                    return
            self._bell.wait(rings, LONGEST_SLEEP)

    def _wanted(self, federation: str, watch: _Watch) -> bool:
        with self._lock:
            if not watch.waiters:
                del self._watches[federation]
            return bool(watch.waiters)
