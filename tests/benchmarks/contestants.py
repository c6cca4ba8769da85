"""Those that run in this process: the project itself, scikit-learn, and LAPACK alone as the limit."""

from time import perf_counter
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from benchmarks.problem import NOISE_SD, SIGNAL_SD, Answer, Problem, seconds
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood
from fgpr.gp.posterior import condition

OURS = "fgpr"
SCIKIT_LEARN = "scikit-learn"
LAPACK = "LAPACK"


class Contestant(Protocol):
    """One implementation on one problem."""

    name: str

    def answer(self) -> Answer | None:
        """Its results, to be compared; None where it computes no likelihood."""

    def step(self, repeats: int) -> float:
        """Seconds of one likelihood with its gradient."""

    def prediction(self, repeats: int) -> float | None:
        """Seconds of mean and variance at 1,000 new inputs, conditioning not counted; None where it has none."""


class Ours:
    """The project's own code."""

    name = OURS

    def __init__(self, problem: Problem) -> None:
        X, y, self._new = problem.data()
        self._theta = problem.theta
        kernel = kernel_named(problem.kernel)
        self._likelihood = Likelihood(kernel, X, y)
        self._posterior = condition(kernel, self._theta, X, y)

    def answer(self) -> Answer:
        """See the protocol."""
        loss = self._likelihood.value_and_gradient(self._theta)
        there = self._posterior.predict(self._new)
        return Answer(loss.nats, loss.gradient.tolist(), there.mean.tolist(), there.latent_variance.tolist())

    def step(self, repeats: int) -> float:
        """See the protocol."""
        return seconds(lambda: self._likelihood.value_and_gradient(self._theta), repeats)

    def prediction(self, repeats: int) -> float:
        """See the protocol."""
        return seconds(lambda: self._posterior.predict(self._new), repeats)


class ScikitLearn:
    """`GaussianProcessRegressor` with a noise kernel."""

    name = SCIKIT_LEARN

    def __init__(self, problem: Problem) -> None:
        X, y, self._new = problem.data()
        shapes = {"rbf": sk.RBF(problem.lengthscales), "matern-3/2": sk.Matern(problem.lengthscales, nu=1.5)}
        kernel = sk.ConstantKernel(SIGNAL_SD**2) * shapes[problem.kernel] + sk.WhiteKernel(NOISE_SD**2)
        self._process = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
        self._theta = self._process.kernel_.theta

    def answer(self) -> Answer:
        """See the protocol; its order is log signal variance, log length-scales, log noise variance."""
        value, gradient = self._likelihood()
        signal, *lengthscales, noise = (-gradient).tolist()
        mean, sd = self._process.predict(self._new, return_std=True)
        ours = [2.0 * signal, 2.0 * noise, *lengthscales]
        return Answer(-float(value), ours, mean.tolist(), (sd**2 - NOISE_SD**2).tolist())

    def step(self, repeats: int) -> float:
        """See the protocol."""
        return seconds(self._likelihood, repeats)

    def prediction(self, repeats: int) -> float:
        """See the protocol."""
        return seconds(lambda: self._process.predict(self._new, return_std=True), repeats)

    def _likelihood(self) -> tuple[float, np.ndarray]:
        value, gradient = self._process.log_marginal_likelihood(self._theta, eval_gradient=True, clone_kernel=False)
        return value, gradient


class Lapack:
    """potrf and potri of the same matrix, nothing else: what no step with an exact gradient can do without."""

    name = LAPACK

    def __init__(self, problem: Problem) -> None:
        X, _, _ = problem.data()
        z = X / problem.lengthscales
        norms = (z * z).sum(axis=1)
        squares = np.maximum(norms[:, np.newaxis] + norms - 2.0 * z @ z.T, 0.0)
        self.matrix = np.asfortranarray(np.exp(-0.5 * squares) + 0.1 * np.eye(problem.rows))
        self.work = self.matrix.copy(order="F")

    def answer(self) -> None:
        """Nothing to compare."""

    def step(self, repeats: int) -> float:
        """Seconds of potrf and potri; laying the matrix anew is not counted."""
        total = 0.0
        for _ in range(repeats):
            np.copyto(self.work, self.matrix)
            start = perf_counter()
            dpotrf(self.work, lower=1, clean=0, overwrite_a=1)
            dpotri(self.work, lower=1, overwrite_c=1)
            total += perf_counter() - start
        return total / repeats

    def prediction(self, repeats: int) -> None:
        """It has none."""
