"""Steps on theta: first-order ones as pure functions of theta, gradient and state, and L-BFGS as a whole descent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fgpr.errors import NumericalError
from fgpr.gp.arrays import Array

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What an optimiser remembers between steps.

    Attributes:
        step: number of steps taken.
        mean: running mean of the gradient (Adam), shape (L,).
        square: running mean of the squared gradient (Adam), shape (L,).
    """

    step: int
    mean: Array
    square: Array


class Optimiser(Protocol):
    """A rule that moves theta against a gradient."""

    def step(self, theta: Array, gradient: Array, state: State) -> tuple[Array, State]:
        """Theta and state after one step; neither argument is changed."""


@dataclass(frozen=True, slots=True)
class Sgd:
    """Gradient descent with the decaying rate of the FGPR paper: eta_t = learning_rate / (1 + decay t).

    Attributes:
        learning_rate: eta_0, above 0.
        decay: 0 for a constant rate.
        first_step: t of the first step here; with it a schedule runs on over rounds.
    """

    learning_rate: float
    decay: float = 0.0
    first_step: int = 0

    def step(self, theta: Array, gradient: Array, state: State) -> tuple[Array, State]:
        """One step of plain descent."""
        rate = decayed(self.learning_rate, self.decay, self.first_step + state.step)
        return theta - rate * gradient, State(state.step + 1, state.mean, state.square)


@dataclass(frozen=True, slots=True)
class Adam:
    """Adam: Kingma & Ba (2015), Algorithm 1, with the decaying rate of `Sgd`.

    Attributes:
        learning_rate: alpha at t = 0, above 0.
        decay: 0 for a constant rate.
        first_step: t of the first step here, for the rate alone; the moments start anew.
        beta1: decay of the mean.
        beta2: decay of the square.
        epsilon: keeps a step finite where the gradient is 0.
    """

    learning_rate: float
    decay: float = 0.0
    first_step: int = 0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def step(self, theta: Array, gradient: Array, state: State) -> tuple[Array, State]:
        """One step along the bias-corrected mean, by the bias-corrected square."""
        count = state.step + 1
        mean = self.beta1 * state.mean + (1.0 - self.beta1) * gradient
        square = self.beta2 * state.square + (1.0 - self.beta2) * gradient * gradient
        direction = mean / (1.0 - self.beta1**count)
        direction /= np.sqrt(square / (1.0 - self.beta2**count)) + self.epsilon
        rate = decayed(self.learning_rate, self.decay, self.first_step + state.step)
        return theta - rate * direction, State(count, mean, square)


def start(length: int) -> State:
    """The state before the first step, for a theta of that length."""
    return State(0, np.zeros(length), np.zeros(length))


def decayed(learning_rate: float, decay: float, step: int) -> float:
    """The rate at a step counted from 0: learning_rate / (1 + decay * step)."""
    return learning_rate / (1.0 + decay * step)


def limited(gradient: Array, norm: float | None) -> Array:
    """The gradient, shortened to this Euclidean norm where it is longer; None limits nothing."""
    length = float(np.linalg.norm(gradient))
    return gradient if norm is None or length <= norm else gradient * (norm / length)


class Minimum(NamedTuple):
    """Where a descent ended.

    Attributes:
        theta: the best point found, shape (L,).
        value: the objective there.
        path: values of the objective, from the start to the end of each iteration.
        converged: the tolerance was reached.
        message: why it ended.
        evaluations: how often the objective was computed.
    """

    theta: Array
    value: float
    path: tuple[float, ...]
    converged: bool
    message: str
    evaluations: int


def minimise(
    objective: Callable[[Array], tuple[float, Array]],
    theta: Array,
    lower: Array,
    upper: Array,
    iterations: int,
    tolerance: float = 1e-6,
) -> Minimum:
    """Minimise by L-BFGS-B (SciPy's; Byrd, Lu, Nocedal and Zhu 1995), within a box.

    Args:
        objective: value and gradient; may raise `NumericalError`, which ends the descent at the best point so far.
        theta: where to start, inside the box.
        lower: least values, shape (L,).
        upper: largest values; where they equal the least ones, an entry stays.
        iterations: at most so many.
        tolerance: on the projected gradient.

    Raises:
        NumericalError: the objective has no finite value at the start.
    """
    # Where it is used: a prediction from a served theta optimises nothing, and loading it takes a tenth of a second.
    from scipy.optimize import minimize

    best_value, best = np.inf, theta
    evaluations = 0
    path: list[float] = []

    def seen(point: Array) -> tuple[float, Array]:
        nonlocal best_value, best, evaluations
        value, gradient = objective(point)
        evaluations += 1
        if value < best_value:
            best_value, best = value, point.copy()
        if not path:
            path.append(value)
        return value, gradient

    def follow(intermediate_result: "OptimizeResult") -> None:
        path.append(float(intermediate_result.fun))

    try:
        result = minimize(
            seen,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([lower, upper]),
            callback=follow,
            options={"maxiter": iterations, "gtol": tolerance, "ftol": 1e-12},
        )
    except NumericalError as error:
        if not path:
            raise
        return Minimum(best, best_value, tuple(path), False, str(error), evaluations)
    return Minimum(best, best_value, tuple(path), bool(result.success), str(result.message), evaluations)
