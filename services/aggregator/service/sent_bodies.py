"""Bodies that clients send, many of them stored by one transaction.

A commit waits for the disk, and on PostgreSQL each statement waits for the server. The clients of a round come at the
same time, and those who come last would wait for the commits of all before them. So whatever came while a transaction
was under way is stored by the next one, and acknowledged when that is committed. One client's refusal is never
another's: where anything is refused, nothing of that transaction stands, and each body is taken by one of its own.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from aggregator.service.caller import Caller
from fgpr.errors import Unavailable
from fgpr.rest import Receipt

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True)
class Sent:
    """A body as it came.

    Attributes:
        caller: who signed the request.
        client: whose body it is said to be.
        body: its bytes.
    """

    caller: Caller
    client: str
    body: bytes = field(repr=False)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the body."""
        return hashlib.sha256(self.body).digest()


@dataclass(frozen=True)
class Taken:
    """What came of a body.

    Attributes:
        receipt: the answer.
        due: whether the round may have to move now.
    """

    receipt: Receipt
    due: bool


def only(taken: Sequence[T | Exception]) -> T:
    """What came of a body that was sent alone; raises its refusal."""
    (one,) = taken
    if isinstance(one, Exception):
        raise one
    return one


def tried(act: Callable[[A], T], arguments: Sequence[A | Exception]) -> list[T | Exception]:
    """What `act` makes of each argument, or raises; what was refused before stays refused."""
    return [one if isinstance(one, Exception) else _tried(act, one) for one in arguments]


def stored(store: Callable[[Sequence[A]], Sequence[T]], checked: Sequence[A | Exception]) -> list[T | Exception]:
    """What one transaction makes of all that were not refused before; where it fails, one for each of them.

    Args:
        store: makes a transaction and stores what it is given, all or nothing; tells in order what came of each.
        checked: what is to be stored, and refusals.

    Raises:
        Unavailable: the database does not answer, or the round is locked: asking for each alone would take as long.
    """
    good = [one for one in checked if not isinstance(one, Exception)]
    found: Iterator[T | Exception] = iter(_all_or_each(store, good))
    return [one if isinstance(one, Exception) else next(found) for one in checked]


def _all_or_each(store: Callable[[Sequence[A]], Sequence[T]], good: Sequence[A]) -> Sequence[T | Exception]:
    if len(good) > 1:
        try:
            return store(good)
        except Unavailable:
            raise
        except Exception:
            # Whose fault it is shows when each is taken alone.
            return _each(store, good)
    return _each(store, good)


def _each(store: Callable[[Sequence[A]], Sequence[T]], good: Sequence[A]) -> list[T | Exception]:
    return tried(lambda one: store([one])[0], good)


def _tried(act: Callable[[A], T], argument: A) -> T | Exception:
    try:
        return act(argument)
    except Exception as error:
        return error
