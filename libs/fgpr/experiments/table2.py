"""Table 2: sensors of aircraft engines (C-MAPSS FD001); new engines predict the hidden half of their cycles.

`Polynomial` gets the degree that is best on the test rows of each seed, as in the paper, which is an advantage. An
engine alone, by a GP or a polynomial of its own rows, is what sharing has to be held against.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from fgpr.experiments import federations
from fgpr.experiments.engines import NEW, SENSORS, TRAINING, Engines, draw_engines
from fgpr.experiments.experiment import Experiment, System, Values
from fgpr.experiments.federations import Settings
from fgpr.experiments.folder import data_folder
from fgpr.experiments.models import LEAST_NOISE, MODEL, model, predicted
from fgpr.experiments.neural import Networks, NeuralSettings
from fgpr.experiments.polynomial import (
    DEGREES,
    LOCAL_STEPS,
    OWN_DEGREES,
    RATE,
    ROUNDS,
    least_squares,
    own_polynomial,
    train_polynomial,
)
from fgpr.experiments.records import Cell
from fgpr.experiments.separate import separate
from fgpr.experiments.table1 import described
from fgpr.federated.kernel_choice import Learned
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import NOISE
from fgpr.gp.training_settings import TrainingSettings

FEDERATION = Settings(TrainingSettings("adam", 0.1, decay=0.05, steps=5, batch_size=64), 40)
NETWORK = NeuralSettings(layers=2, width=32, rounds=60, steps=5, batch_size=64, rate=1e-2)
LOCAL_STARTS = 3

_DEAL = {"training engines": TRAINING, "new engines": NEW}

SYSTEMS = (
    System("fgpr", "FGPR, RBF", described(FEDERATION) | _DEAL),
    System("fgpr-optimum", "FGPR, exact optimum", {"kernel": "rbf", **MODEL, **_DEAL}),
    System(
        "separate",
        "GP of each engine alone",
        {"kernel": "rbf", "starts": LOCAL_STARTS, "least noise sd": LEAST_NOISE, **_DEAL},
    ),
    System(
        "polynomial",
        "Polynomial, FedAvg",
        {"degrees": list(DEGREES), "rounds": ROUNDS, "local steps": LOCAL_STEPS, "rate": RATE, **_DEAL},
    ),
    System(
        "own-polynomial",
        "Polynomial of each engine alone",
        {"degrees": list(OWN_DEGREES), "degree by": "leave-one-out", **_DEAL},
    ),
    System("neural", "Neural, FedAvg", asdict(NETWORK) | _DEAL, needs_torch=True),
)


def run(cell: Cell) -> Values:
    """One sensor of one deal of engines.

    Raises:
        DataError: the data are not there.
    """
    engines = draw_engines(data_folder(), int(cell.item), cell.seed)
    return _RUNS[cell.system](engines, cell.seed)


def _errors(engines: Engines, means: Sequence[Array]) -> Values:
    """Mean and standard deviation over the new engines of their RMSE."""
    each = [float(np.sqrt(np.mean((mean - new.y) ** 2))) for mean, new in zip(means, engines.new, strict=True)]
    return {"rmse": float(np.mean(each)), "sd": float(np.std(each))}


def _scored(engines: Engines, learned: Learned) -> Values:
    means = [predicted(learned.spec, learned.theta, new.known, new.X) for new in engines.new]
    return {**_errors(engines, means), "noise sd": float(np.exp(learned.theta[NOISE])), "loss": learned.loss}


def _fgpr(engines: Engines, seed: int) -> Values:
    rng = np.random.default_rng(seed)
    return _scored(engines, federations.averaged(model(1, "rbf"), engines.training, FEDERATION, rng))


def _optimum(engines: Engines, _seed: int) -> Values:
    return _scored(engines, federations.optimum(model(1, "rbf"), engines.training))


def _separate(engines: Engines, seed: int) -> Values:
    rng, spec = np.random.default_rng(seed), model(1, "rbf")
    means = [
        predicted(spec, separate(spec, new.known, rng, LOCAL_STARTS).theta, new.known, new.X) for new in engines.new
    ]
    return _errors(engines, means)


def _polynomial(engines: Engines, _seed: int) -> Values:
    found, exact = {}, []
    for degree in DEGREES:
        trained, least = train_polynomial(engines.training, degree), least_squares(engines.training, degree)
        found[degree] = _errors(engines, [trained.predict(new.X) for new in engines.new])
        exact.append(_errors(engines, [least.predict(new.X) for new in engines.new])["rmse"])
    best = min(found, key=lambda degree: float(found[degree]["rmse"]))
    return {**found[best], "degree": best, "rmse by least squares": min(exact)}


def _own_polynomial(engines: Engines, _seed: int) -> Values:
    return _errors(engines, [own_polynomial(new.known).predict(new.X) for new in engines.new])


def _neural(engines: Engines, seed: int) -> Values:
    trained = Networks(engines.training, NETWORK, seed)
    return _errors(engines, [trained.predict(new.X) for new in engines.new])


_RUNS: Mapping[str, Callable[[Engines, int], Values]] = {
    "fgpr": _fgpr,
    "fgpr-optimum": _optimum,
    "separate": _separate,
    "polynomial": _polynomial,
    "own-polynomial": _own_polynomial,
    "neural": _neural,
}

TABLE2 = Experiment(
    "table2",
    "Table 2: RMSE on new engines, by sensor",
    SYSTEMS,
    tuple(str(sensor) for sensor in SENSORS),
    ("",),
    first_seed=100,
    repeats=30,
    run=run,
)
