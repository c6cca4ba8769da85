from itertools import islice

import numpy as np
import pytest

from fgpr.gp.batches import batches_per_epoch, draw, epochs


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


X = np.column_stack([np.linspace(0, 1, 23), np.zeros(23)])


@pytest.mark.parametrize("size", [None, 23, 50])
def test_all_rows_are_one_batch(size: int | None) -> None:
    assert list(islice(draw(X, size, "uniform", rng()), 3)) == [None] * 3
    assert list(islice(epochs(X, size, "nearest", rng()), 3)) == [None] * 3


def test_uniform_batches_are_drawn_without_replacement() -> None:
    for batch in islice(draw(X, 8, "uniform", rng()), 20):
        assert batch is not None
        assert len(set(batch.tolist())) == 8


def test_an_epoch_of_uniform_batches_holds_every_row_once() -> None:
    assert batches_per_epoch(23, 8) == 2
    source = epochs(X, 8, "uniform", rng())
    first, second = (np.concatenate([batch for batch in islice(source, 2) if batch is not None]) for _ in range(2))
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(23))
    assert first.tolist() != second.tolist()
    assert min(len(batch) for batch in islice(epochs(X, 8, "uniform", rng()), 2) if batch is not None) >= 8


def test_nearest_batches_are_a_row_and_its_neighbours() -> None:
    for batch in islice(draw(X, 5, "nearest", rng()), 20):
        assert batch is not None
        assert np.ptp(batch) == 4, "neighbours on a line are consecutive"


def test_nearness_does_not_depend_on_units() -> None:
    there = np.random.default_rng(1).uniform(size=(40, 2))
    plain = [batch for batch in islice(draw(there, 7, "nearest", rng()), 9) if batch is not None]
    other = [batch for batch in islice(draw(there * [1e-8, 1e8] + 3.0, 7, "nearest", rng()), 9) if batch is not None]
    assert [batch.tolist() for batch in plain] == [batch.tolist() for batch in other]


def test_repeated_rows_are_neighbours_of_each_other() -> None:
    batch = next(draw(np.zeros((6, 1)), 4, "nearest", rng()))
    assert batch is not None
    assert len(set(batch.tolist())) == 4
