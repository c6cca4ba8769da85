"""One look for all who ask the same at one time: begun after they came, each judged for itself."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from aggregator.service.together import MOST_AT_ONCE, Together, judged
from fgpr.errors import FgprError, Forbidden, Unavailable, UnknownResource


class Looks:
    """A look that waits until it may end, and tells what the world was like when it began."""

    def __init__(self) -> None:
        self.world = 0
        self.asked: list[list[str]] = []
        self.may_end = threading.Event()

    def __call__(self, askers: Sequence[str]) -> Sequence[str | FgprError]:
        seen = self.world
        self.asked.append(list(askers))
        assert self.may_end.wait(10)
        return [Forbidden(asker) if asker.startswith("x") else f"{asker} {seen}" for asker in askers]


async def begun(looks: Looks, count: int) -> None:
    while len(looks.asked) < count:
        await asyncio.sleep(0.001)


def test_who_comes_during_a_look_is_answered_by_a_later_one() -> None:
    async def play() -> None:
        looks, together = Looks(), Together(asyncio.to_thread)
        first = asyncio.create_task(together.ask("q", "a", looks))
        await begun(looks, 1)
        looks.world = 1
        later = [asyncio.create_task(together.ask("q", name, looks)) for name in ("b", "x", "c")]
        await asyncio.sleep(0.01)
        looks.may_end.set()
        assert await first == "a 0"
        answers = await asyncio.gather(*later, return_exceptions=True)
        assert [str(one) for one in answers] == ["b 1", "x", "c 1"]
        assert isinstance(answers[1], Forbidden)
        assert looks.asked == [["a"], ["b", "x", "c"]]
        assert await together.ask("q", "d", looks) == "d 1"

    asyncio.run(play())


def test_another_question_does_not_wait() -> None:
    async def play() -> None:
        slow, quick, together = Looks(), Looks(), Together(asyncio.to_thread)
        quick.may_end.set()
        first = asyncio.create_task(together.ask(("q", 1), "a", slow))
        await begun(slow, 1)
        assert await together.ask(("q", 2), "b", quick) == "b 0"
        slow.may_end.set()
        assert await first == "a 0"

    asyncio.run(play())


def test_a_look_answers_no_more_than_so_many() -> None:
    async def play() -> None:
        looks, together = Looks(), Together(asyncio.to_thread)
        looks.may_end.set()
        names = [f"a{n}" for n in range(2 * MOST_AT_ONCE + 3)]
        answers = await asyncio.gather(*(together.ask("q", name, looks) for name in names))
        assert answers == [f"{name} 0" for name in names]
        assert [len(asked) for asked in looks.asked] == [MOST_AT_ONCE, MOST_AT_ONCE, 3]
        looks.asked.clear()
        await asyncio.gather(*(together.ask("large", name, looks, most=2) for name in names[:5]))
        assert [len(asked) for asked in looks.asked] == [2, 2, 1]

    asyncio.run(play())


def test_a_fault_is_told_to_all_and_the_next_look_works() -> None:
    async def play() -> None:
        def away(_: Sequence[str]) -> Sequence[str]:
            raise Unavailable("away")

        looks, together = Looks(), Together(asyncio.to_thread)
        looks.may_end.set()
        faults = await asyncio.gather(*(together.ask("q", n, away) for n in "ab"), return_exceptions=True)
        assert [type(one) for one in faults] == [Unavailable, Unavailable]
        assert await together.ask("q", "c", looks) == "c 0"

    asyncio.run(play())


def test_one_who_goes_away_does_not_take_the_others_along() -> None:
    async def play() -> None:
        looks, together = Looks(), Together(asyncio.to_thread)
        tasks = [asyncio.create_task(together.ask("q", name, looks)) for name in "ab"]
        await begun(looks, 1)
        tasks[0].cancel()
        looks.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert await tasks[1] == "b 0"

    asyncio.run(play())


def only_good(asker: str) -> None:
    if asker != "good":
        raise Forbidden(asker)


def missing() -> str:
    raise UnknownResource("there is none")


def test_who_may_not_know_is_not_told_what_there_is() -> None:
    refused, found = judged(only_good, ["bad", "good"], missing)
    assert isinstance(refused, Forbidden)
    assert isinstance(found, UnknownResource)
    assert judged(only_good, ["good"], lambda: "it") == ["it"]


def test_nothing_is_looked_for_where_nobody_may_know() -> None:
    def find() -> str:
        raise AssertionError

    assert [type(one) for one in judged(only_good, ["bad", "worse"], find)] == [Forbidden, Forbidden]
