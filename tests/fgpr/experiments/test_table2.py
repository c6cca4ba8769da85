"""Table 2 on engines made up: which degree counts, and what the error is a mean of."""

from pathlib import Path

import numpy as np
import pytest

from fgpr.experiments import table2
from fgpr.experiments.engines import Engines, NewEngine
from fgpr.experiments.records import Cell
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array

DEGREES = (1, 2, 5)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Two that train, on the same inputs so that FedAvg comes to their least squares; new ones of 3, 12 and 40 rows."""
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 1.0, 12)[:, np.newaxis]

    def y(X: Array, noise: float) -> Array:
        return 4.0 * (X[:, 0] - 0.4) ** 2 + noise * rng.normal(size=len(X))

    training = tuple(LocalData(name, X, y(X, 0.3)) for name in ("one", "other"))
    new = []
    for rows, noise in ((3, 1.0), (12, 0.1), (40, 0.3)):
        known, hidden = rng.random((5, 1)), rng.random((rows, 1))
        new.append(NewEngine(LocalData(f"{rows}", known, y(known, 0.3)), hidden, y(hidden, noise)))
    made = Engines(training, tuple(new), 100.0)
    monkeypatch.setattr(table2, "data_folder", Path)
    monkeypatch.setattr(table2, "draw_engines", lambda _folder, _sensor, _seed: made)
    monkeypatch.setattr(table2, "DEGREES", DEGREES)
    return made


def test_the_polynomial_has_its_best_degree_and_its_error_is_the_mean_over_engines(engines: Engines) -> None:
    x, y = (np.concatenate([getattr(one, name) for one in engines.training]) for name in ("X", "y"))
    each = {}
    for degree in DEGREES:
        fitted = np.polyfit(x[:, 0], y, degree)
        each[degree] = [np.sqrt(np.mean((np.polyval(fitted, new.X[:, 0]) - new.y) ** 2)) for new in engines.new]
    means = {degree: np.mean(errors) for degree, errors in each.items()}
    best = min(means, key=means.__getitem__)
    assert best == 2
    values = table2.run(Cell("table2", "2", "", "polynomial", 1))
    assert values["degree"] == best
    assert values["rmse"] == pytest.approx(means[best], rel=1e-6)
    assert values["sd"] == pytest.approx(np.std(each[best]), rel=1e-6)
    assert values["rmse by least squares"] == pytest.approx(means[best], rel=1e-6)


def test_an_engine_alone_fits_its_own_known_rows(engines: Engines) -> None:
    errors = []
    for new in engines.new:
        x, y = new.known.X[:, 0], new.known.y
        left_out = {
            degree: sum(
                (np.polyval(np.polyfit(np.delete(x, row), np.delete(y, row), degree), x[row]) - y[row]) ** 2
                for row in range(5)
            )
            for degree in range(4)
        }
        fitted = np.polyfit(x, y, min(left_out, key=left_out.__getitem__))
        errors.append(np.sqrt(np.mean((np.polyval(fitted, new.X[:, 0]) - new.y) ** 2)))
    values = table2.run(Cell("table2", "2", "", "own-polynomial", 1))
    assert values["rmse"] == pytest.approx(np.mean(errors), rel=1e-6)
    assert values["sd"] == pytest.approx(np.std(errors), rel=1e-6)
