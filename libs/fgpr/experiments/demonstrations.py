"""Small demonstrations of the paper: a bad start, opposite sines, the weight of the high fidelity, one input.

Where there is one input, the first seed keeps what it fitted, to be drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from fgpr.experiments import federations, table1
from fgpr.experiments.experiment import Experiment, System, Values
from fgpr.experiments.federations import MINI_BATCHES, Settings
from fgpr.experiments.generators import noisy_sine, opposite_sines
from fgpr.experiments.models import MENU, MODEL, model, predicted
from fgpr.experiments.neural import Networks, NeuralSettings
from fgpr.experiments.posteriors import FIRST_SEED, Curve, fitted, posterior
from fgpr.experiments.problems import draw_problem, problem_named
from fgpr.experiments.records import Cell, rounded
from fgpr.experiments.separate import separate
from fgpr.experiments.table1 import SYSTEMS, TABLE1, described
from fgpr.federated.fedavg import Contribution
from fgpr.federated.kernel_choice import Clients, Learned, chosen
from fgpr.federated.simulation import simulate
from fgpr.gp.arrays import Array
from fgpr.gp.training_settings import TrainingSettings

BAD_START = (1.0, 10.0, 1.0)
"""Signal sd, noise sd, length-scale: all is noise, and the fitted curve is flat (the paper's Example 3)."""

RECOVERY = Settings(TrainingSettings("sgd", 0.5, decay=0.01, steps=5, batch_size=32, max_gradient=1.0), 60)
SINE_NETWORK = NeuralSettings(layers=2, width=32, rounds=100, steps=10, batch_size=64)
_SINES_END = 10.0
SHARES = ("0.17", "0.3", "0.5", "0.7", "0.8", "0.9", "0.95", "0.99", "1")
"""p_1, the weight of the high fidelity; 40 of 240 rows are 0.17."""


def bad_start(cell: Cell) -> Values:
    """Example 3: RMSE against sin x, over both clients, at the start and after each round."""
    rng = np.random.default_rng(cell.seed)
    clients, spec = noisy_sine(rng), model(1, "rbf")
    start = np.log(BAD_START)
    history = simulate(spec.correlation, clients, start, RECOVERY.training, spec.bounds, RECOVERY.rounds, rng)
    X = np.linspace(0.0, 1.0, 200)[:, np.newaxis]
    errors = []
    for theta in (start, *(one.theta for one in history)):
        off = [predicted(spec, theta, client, X) - np.sin(X[:, 0]) for client in clients]
        errors.append(float(np.sqrt(np.mean(np.square(off)))))
    return {"rmse": errors[-1], "curve": rounded(errors)}


def sines(cell: Cell) -> Values:
    """One model for sin x and -sin x: the mean RMSE over both clients on points between theirs."""
    clients = opposite_sines()
    X = np.linspace(0.0, _SINES_END, 333)[:, np.newaxis]
    curves: tuple[Curve, Curve] = (lambda X: np.sin(X[:, 0]), lambda X: -np.sin(X[:, 0]))
    both = list(zip(("sin x", "-sin x"), clients, curves, strict=True))
    if cell.system == "neural":
        network = Networks(clients, SINE_NETWORK, cell.seed)
        means: Sequence[Array] = [network.predict(X)] * len(clients)
        drawn = [fitted(f"Neural, {name}", network.predict, client, truth, _SINES_END) for name, client, truth in both]
    else:
        spec = model(1, "rbf", 0.0, _SINES_END)
        learned = federations.averaged(spec, clients, MINI_BATCHES, np.random.default_rng(cell.seed))
        means = [predicted(spec, learned.theta, client, X) for client in clients]
        drawn = [posterior(f"FGPR, {name}", learned, client, truth, _SINES_END) for name, client, truth in both]
    errors = [float(np.sqrt(np.mean((mean - truth(X)) ** 2))) for mean, truth in zip(means, curves, strict=True)]
    return {"rmse": float(np.mean(errors))} | ({"posteriors": drawn} if cell.seed == FIRST_SEED else {})


def one_input(cell: Cell) -> Values:
    """As in Table 1; the first seed keeps the posteriors of FGPR and of the high fidelity alone."""
    values = table1.run(cell)
    if cell.seed != FIRST_SEED or cell.system not in _DRAWN:
        return values
    drawn = draw_problem(problem_named(cell.item), cell.variant, cell.seed)
    high, order = drawn.clients[0], np.argsort(drawn.X[:, 0])

    def truth(X: Array) -> Array:
        return np.interp(X[:, 0], drawn.X[order, 0], drawn.y[order])

    learned = _DRAWN[cell.system](drawn.clients, np.random.default_rng(cell.seed))
    title = f"{cell.item}: {TABLE1.system(cell.system).title}"
    return {**values, "posteriors": [posterior(title, learned, high, truth)]}


_DRAWN: Mapping[str, Callable[[Clients, np.random.Generator], Learned]] = {
    table1.HEADLINE: lambda clients, _rng: chosen([model(1, name) for name in MENU], clients, federations.optimum),
    "fgpr": lambda clients, rng: federations.averaged(model(1, "rbf"), clients, MINI_BATCHES, rng),
    "separate": lambda clients, rng: separate(model(1, "rbf"), clients[0], rng),
}
"""How the systems of Table 1 that are drawn learn."""


def ablation(cell: Cell) -> Values:
    """CURRIN with another weight of the high fidelity."""
    drawn = draw_problem(problem_named("CURRIN"), "corners", cell.seed)
    spec = model(2, "rbf")
    shares = np.array([float(cell.item), 1.0 - float(cell.item)])
    if cell.system == "fgpr-optimum":
        theta = federations.weighted_optimum(spec, drawn.clients, shares.tolist())
    else:

        def shared(contributions: Sequence[Contribution]) -> Array:
            average: Array = shares @ np.stack([np.asarray(one.theta) for one in contributions])
            return average

        history = simulate(
            spec.correlation,
            drawn.clients,
            spec.initial_theta,
            MINI_BATCHES.training,
            spec.bounds,
            MINI_BATCHES.rounds,
            np.random.default_rng(cell.seed),
            aggregate=shared,
        )
        theta = history[-1].theta
    return {"rmse": drawn.rmse(predicted(spec, theta, drawn.clients[0], drawn.X))}


EXAMPLE3 = Experiment(
    "example3",
    "Example 3: RMSE round by round, from a bad start",
    (System("fgpr", "FGPR, SGD", described(RECOVERY) | {"start": list(BAD_START)}),),
    ("sine",),
    ("",),
    first_seed=100,
    repeats=20,
    run=bad_start,
)
SINES = Experiment(
    "sines",
    "One model for sin x and -sin x",
    (
        System("fgpr", "FGPR, RBF", described(MINI_BATCHES)),
        System("neural", "Neural, FedAvg", asdict(SINE_NETWORK), needs_torch=True),
    ),
    ("sines",),
    ("",),
    first_seed=FIRST_SEED,
    repeats=20,
    run=sines,
)
ABLATION = Experiment(
    "ablation",
    "CURRIN by the weight p_1 of the high fidelity",
    (
        System("fgpr", "FGPR, FedAvg with Adam", described(MINI_BATCHES)),
        System("fgpr-optimum", "FGPR, exact optimum", {"kernel": "rbf", **MODEL}),
    ),
    SHARES,
    ("",),
    first_seed=100,
    repeats=20,
    run=ablation,
)
ONE_INPUT = replace(
    TABLE1,
    name="one-input",
    title="The two examples of one input",
    systems=tuple(system for system in SYSTEMS if system.name in ("fgpr-evidence", "fgpr", "separate", "ar", "deep")),
    items=("linear", "nonlinear"),
    variants=("uniform",),
    first_seed=FIRST_SEED,
    repeats=20,
    run=one_input,
)
