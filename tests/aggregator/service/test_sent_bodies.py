"""One transaction for many bodies; one for each where it fails."""

from collections.abc import Sequence

import pytest

from aggregator.service.sent_bodies import only, stored, tried
from fgpr.errors import Conflict, Forbidden, Unavailable


class Store:
    """Stores all or nothing; refuses some, and is away where it is told so."""

    def __init__(self, *refused: str, away: bool = False) -> None:
        self.refused, self.away = refused, away
        self.kept: list[list[str]] = []

    def __call__(self, bodies: Sequence[str]) -> Sequence[str]:
        if self.away:
            raise Unavailable("away")
        if bad := [one for one in bodies if one in self.refused]:
            raise Conflict(bad[0])
        self.kept.append(list(bodies))
        return [one.upper() for one in bodies]


def test_all_are_stored_by_one_transaction() -> None:
    store = Store()
    assert stored(store, ["a", "b", "c"]) == ["A", "B", "C"]
    assert store.kept == [["a", "b", "c"]]


def test_one_refusal_is_that_of_one() -> None:
    store = Store("b")
    first, second, third = stored(store, ["a", "b", "c"])
    assert (first, third) == ("A", "C")
    assert isinstance(second, Conflict)
    assert store.kept == [["a"], ["c"]]


def test_what_was_refused_before_is_not_stored_and_keeps_its_place() -> None:
    store, refusal = Store(), Forbidden("no")
    assert stored(store, [refusal, "a", refusal, "b"]) == [refusal, "A", refusal, "B"]
    assert store.kept == [["a", "b"]]
    assert stored(store, [refusal]) == [refusal]
    assert stored(store, []) == []
    assert store.kept == [["a", "b"]]


def test_a_database_that_is_away_is_asked_once() -> None:
    with pytest.raises(Unavailable):
        stored(Store(away=True), ["a", "b"])
    (alone,) = stored(Store(away=True), ["a"])
    assert isinstance(alone, Unavailable)


def test_tried_goes_on_after_a_refusal() -> None:
    refusal = Forbidden("no")
    first, second, third = tried(int, ["1", "x", refusal])
    assert (first, third) == (1, refusal)
    assert isinstance(second, ValueError)


def test_only() -> None:
    assert only(["A"]) == "A"
    with pytest.raises(Forbidden):
        only([Forbidden("no")])
