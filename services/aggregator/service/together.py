"""Requests that ask the same thing at the same time, answered by one look at the database.

The same serves what they send: what came while a transaction was under way is stored by the next one.

When a plan comes out, each client of a round asks for the same plan, prior, roster and proofs. A look begins when all
whom it answers have come, so that nobody is told of a time before the own question, and it judges each of them in its
one transaction: whoever may not know is refused, and the others are answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from fgpr.errors import FgprError

MOST_AT_ONCE = 64
"""Askers of one look: their answers are in memory at once, and what they send is under one lock."""

A = TypeVar("A")
T = TypeVar("T")

Look = Callable[[Sequence[A]], Sequence[T | Exception]]
"""Gives each asker its answer or its refusal, in order; what it raises is everybody's."""


class Together:
    """The questions that wait in one process; for one event loop.

    Args:
        in_thread: calls a function with an argument in a thread.
    """

    def __init__(self, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._in_thread = in_thread
        self._waiting: dict[Hashable, list[tuple[Any, asyncio.Future[Any]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, question: Hashable, asker: A, look: Look[A, T], most: int = MOST_AT_ONCE) -> T:
        """The answer to a question.

        Args:
            question: what the answer depends on but for who asks; the same for the same `look`.
            asker: who asks.
            look: answers everybody who asks this.
            most: askers of one look, where their answers are large.

        Raises:
            FgprError: the refusal of this asker, or what the look raised.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(question)
        if waiting is not None:
            waiting.append((asker, future))
        else:
            self._waiting[question] = [(asker, future)]
            task = asyncio.create_task(self._answer(question, look, most))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _answer(self, question: Hashable, look: Look[Any, Any], most: int) -> None:
        taken: list[tuple[Any, asyncio.Future[Any]]] = []
        try:
            # Those who come during a look are for the next one.
            while waiting := self._waiting[question]:
                taken, self._waiting[question] = waiting[:most], waiting[most:]
                _settle(taken, await self._look(look, [asker for asker, _ in taken]))
        finally:
            for _, future in [*taken, *self._waiting.pop(question)]:
                future.cancel()

    async def _look(self, look: Look[Any, Any], askers: Sequence[Any]) -> Sequence[Any]:
        try:
            found: Sequence[Any] = await self._in_thread(look, askers)
        except Exception as error:
            return [error] * len(askers)
        return found


def judged(judge: Callable[[A], object], askers: Sequence[A], find: Callable[[], T]) -> Sequence[T | FgprError]:
    """What everybody gets who may know; a refusal for each of the others.

    Args:
        judge: raises where one may not know.
        askers: who ask.
        find: the answer; not looked for where nobody may know it.
    """
    refusals = [_refusal(judge, asker) for asker in askers]
    if None not in refusals:
        return [refusal for refusal in refusals if refusal is not None]
    found: T | FgprError
    try:
        found = find()
    except FgprError as error:
        found = error
    return [found if refusal is None else refusal for refusal in refusals]


def _refusal(judge: Callable[[A], object], asker: A) -> FgprError | None:
    try:
        judge(asker)
    except FgprError as error:
        return error
    return None


def _settle(taken: Sequence[tuple[Any, asyncio.Future[Any]]], found: Sequence[Any]) -> None:
    for (_, future), one in zip(taken, found, strict=True):
        # One who is gone waits no more.
        if future.done():
            continue
        if isinstance(one, Exception):
            future.set_exception(one)
        else:
            future.set_result(one)
