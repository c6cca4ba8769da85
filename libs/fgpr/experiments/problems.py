"""The multi-fidelity problems of the paper: domains, fidelities, and how many rows each client has."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fgpr.errors import DataError
from fgpr.experiments import functions
from fgpr.experiments.designs import draw
from fgpr.federated.simulation import LocalData
from fgpr.gp.arrays import Array
from fgpr.gp.scaling import TargetScaling

TEST_POINTS = 1_000


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One client of a problem.

    Attributes:
        name: "high", "medium" or "low".
        rows: of its design.
        function: of inputs of shape (n, d) in the problem's units.
    """

    name: str
    rows: int
    function: Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Problem:
    """A function in two or three fidelities.

    Attributes:
        name: as the paper has it.
        lower: of the domain, shape (d,).
        upper: of the domain.
        fidelities: the high one first, each lower one after it.
    """

    name: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    fidelities: tuple[Fidelity, ...]

    @property
    def dimensions(self) -> int:
        """Number of inputs, d."""
        return len(self.lower)

    def inputs(self, unit: Array) -> Array:
        """Points of the unit cube, shape (n, d), in the units of the domain."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        stretched: Array = lower + unit * (upper - lower)
        return stretched


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A problem's data for one seed; inputs in the unit cube, targets scaled by each client for itself.

    Attributes:
        problem: that was drawn.
        clients: the high fidelity first.
        X: test points, uniform, shape (1000, d).
        y: the high fidelity there, without noise, in the scale of the high-fidelity client.
    """

    problem: Problem
    clients: tuple[LocalData, ...]
    X: Array
    y: Array

    def rmse(self, mean: Array) -> float:
        """Root mean square error of predictions at the test points."""
        return float(np.sqrt(np.mean((mean - self.y) ** 2)))


def draw_problem(problem: Problem, design: str, seed: int) -> Drawn:
    """The clients' designs and the test points of one seed."""
    rng = np.random.default_rng(seed)
    clients, scalings = [], []
    for fidelity in problem.fidelities:
        unit = draw(design, fidelity.rows, problem.dimensions, rng)
        values = fidelity.function(problem.inputs(unit))
        scaling = TargetScaling.fit(values, "standardise")
        scalings.append(scaling)
        clients.append(LocalData(fidelity.name, unit, scaling.to_scaled(values)))
    X = rng.random((TEST_POINTS, problem.dimensions))
    truth = problem.fidelities[0].function(problem.inputs(X))
    return Drawn(problem, tuple(clients), X, scalings[0].to_scaled(truth))


def problem_named(name: str) -> Problem:
    """One of `PROBLEMS` or `EXAMPLES`, in any case of letters.

    Raises:
        DataError: there is none of that name.
    """
    for problem in (*PROBLEMS, *EXAMPLES):
        if problem.name.casefold() == name.casefold():
            return problem
    known = ", ".join(problem.name for problem in (*PROBLEMS, *EXAMPLES))
    raise DataError(f"no problem is named {name!r}; there are {known}")


PROBLEMS = (
    Problem(
        "CURRIN",
        (0.0,) * 2,
        (1.0,) * 2,
        (Fidelity("high", 40, functions.currin), Fidelity("low", 200, functions.currin_low)),
    ),
    Problem(
        "PARK",
        (0.0,) * 4,
        (1.0,) * 4,
        (Fidelity("high", 50, functions.park), Fidelity("low", 300, functions.park_low)),
    ),
    Problem(
        "BRANIN",
        (-5.0, 0.0),
        (10.0, 15.0),
        (
            Fidelity("high", 20, functions.branin),
            Fidelity("medium", 40, functions.branin_medium),
            Fidelity("low", 200, functions.branin_low),
        ),
    ),
    Problem(
        "Hartmann-3D",
        (0.0,) * 3,
        (1.0,) * 3,
        (
            Fidelity("high", 50, functions.hartmann),
            Fidelity("medium", 100, lambda X: functions.hartmann(X, 2)),
            Fidelity("low", 200, lambda X: functions.hartmann(X, 1)),
        ),
    ),
    Problem(
        "Borehole",
        (0.05, 100.0, 63070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0),
        (0.15, 50000.0, 115600.0, 1110.0, 115.0, 820.0, 1680.0, 12045.0),
        (Fidelity("high", 50, functions.borehole), Fidelity("low", 200, functions.borehole_low)),
    ),
)
"""Those of Table 1, in its order."""

EXAMPLES = (
    Problem(
        "linear",
        (0.0,),
        (1.0,),
        (Fidelity("high", 20, functions.linear), Fidelity("low", 100, functions.linear_low)),
    ),
    Problem(
        "nonlinear",
        (0.0,),
        (2.0,),
        (Fidelity("high", 20, functions.nonlinear), Fidelity("low", 100, functions.nonlinear_low)),
    ),
)
"""The paper's two examples of one input."""
