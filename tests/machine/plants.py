"""Defences of the service that can be taken out, one at a time, to see whether the machine misses them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from sqlalchemy import delete

from aggregator import main
from aggregator.service import admission, audit, contributing, schedule
from aggregator.storage import clients, contributions, installation, tables
from aggregator.storage.contributions import ContributionRow
from fgpr.auditlog.entries import Revoked


@dataclass(frozen=True)
class Plant:
    """One defence taken out.

    Attributes:
        name: what is missing.
        take_out: takes it out for a while.
        found_as: numbers of the invariants by which it may be noticed.
        seed: with which it is found soon; with any other it is found too, later.
    """

    name: str
    take_out: Callable[[], AbstractContextManager[object]]
    found_as: frozenset[int]
    seed: int = 1


def _instead(owner: object, name: str, other: Callable[..., Any]) -> Callable[[], AbstractContextManager[object]]:
    return lambda: mock.patch.object(owner, name, other)


@contextmanager
def _any_body() -> Any:
    real = contributions.add

    def store(connection: Any, federation: str, number: int, row: ContributionRow) -> None:
        table = tables.contributions
        connection.execute(
            delete(table).where(table.c.federation == federation, table.c.round == number, table.c.client == row.client)
        )
        real(connection, federation, number, row)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(contributions, "read_body_digests", side_effect=lambda *_: {}))
        stack.enter_context(mock.patch.object(contributions, "add", store))
        yield


def _unlogged(context: Any, connection: Any, leaves: Any) -> int:
    return _record(context, connection, [leaf for leaf in leaves if not isinstance(leaf, Revoked)])


_record = audit.record


def _same_epoch(connection: Any, _epoch: str, now: Any) -> None:
    _begin_epoch(connection, installation.read_epoch(connection), now)


_begin_epoch = installation.begin_epoch


def _never_overdue(connection: Any, row: Any, now: Any) -> bool:
    return _all_in(connection, row, min(now, row.contribute_until - (row.open_until - row.contribute_until)))


_all_in = schedule._all_in

PLANTS = (
    Plant("a nonce may be spent twice", _instead(clients, "spend_nonce", lambda *_: None), frozenset({10}), 8),
    Plant("a client's second body takes the first one's place", _any_body, frozenset({5, 13})),
    Plant(
        "a contribution is acknowledged and not stored",
        _instead(contributions, "add", lambda *_: None),
        frozenset({13}),
    ),
    Plant("masked vectors outlive their round", _instead(contributions, "erase", lambda *_: None), frozenset({15})),
    Plant("revoked keys may act", _instead(admission, "_check_current", lambda *_: None), frozenset({8, 13, 5, 9}), 3),
    Plant(
        "contributions are taken after the deadline",
        _instead(contributing, "_takes_contributions", lambda *_: True),
        frozenset({5, 13}),
        2,
    ),
    Plant("a revocation has no leaf", _instead(audit, "record", _unlogged), frozenset({4, 7, 8, 12}), 5),
    Plant("the first deadline passes unnoticed", _instead(schedule, "_all_in", _never_overdue), frozenset({17}), 5),
    Plant(
        "a restored backup goes on in its epoch", _instead(installation, "begin_epoch", _same_epoch), frozenset({10})
    ),
    Plant("a log that lost entries is served", _instead(main, "check_known", lambda *_: None), frozenset({11})),
)

SOON_FOUND = 4
"""So many from the beginning are found within seconds."""
