"""First-order steps on theta, as pure functions of theta, gradient and state."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fgpr.gp.arrays import Array


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
