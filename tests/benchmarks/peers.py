"""GPyTorch and JAX, in an environment and a process of their own (`make setup-peers`).

Run as `python -m benchmarks.peers`: it reads one JSON object a line and answers each with one, so that whoever asks
decides whose turn it is.
"""

import json
import math
import sys
from typing import Any

import gpytorch
import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax.scipy.linalg import cho_solve, solve_triangular

from benchmarks.problem import Answer, Floats, Problem, seconds


class GPyTorch:
    """An exact GP by Cholesky in double precision: what GPyTorch's documentation says for small data."""

    def __init__(self, problem: Problem) -> None:
        X, y, new = (torch.from_numpy(values) for values in problem.data())
        shapes = {
            "rbf": lambda d: gpytorch.kernels.RBFKernel(ard_num_dims=d),
            "matern-3/2": lambda d: gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=d),
        }
        self._new, self._y, self._X, self._rows = new, y, X, problem.rows
        self._likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        self._model = _Exact(X, y, self._likelihood, shapes[problem.kernel](problem.features)).double()
        # Tensors, because a Python number would go through single precision.
        natural = torch.from_numpy(problem.theta).exp()
        self._model.covar_module.outputscale = natural[0] ** 2
        self._likelihood.noise = natural[1] ** 2
        self._model.covar_module.base_kernel.lengthscale = natural[2:]
        self._objective = gpytorch.mlls.ExactMarginalLogLikelihood(self._likelihood, self._model)

    def answer(self) -> Answer:
        """Value and gradient by theta: from the raw parameters, whose transform is softplus, by the chain rule."""
        value = self._step() * self._rows
        covariance = self._model.covar_module
        raw = (
            covariance.raw_outputscale,
            self._likelihood.noise_covar.raw_noise,
            covariance.base_kernel.raw_lengthscale,
        )
        natural = (covariance.outputscale, self._likelihood.noise, covariance.base_kernel.lengthscale)
        factors = (2.0, 2.0, 1.0)
        gradient: list[float] = []
        for parameter, given, factor in zip(raw, natural, factors, strict=True):
            by_log = factor * parameter.grad * given / torch.sigmoid(parameter) * self._rows
            gradient += by_log.detach().flatten().tolist()
        mean, variance = self._predict()
        return Answer(value, gradient, mean.tolist(), variance.tolist())

    def step(self, repeats: int) -> float:
        """Seconds of one forward and backward pass."""
        return seconds(self._step, repeats)

    def prediction(self, repeats: int) -> float:
        """Seconds of mean and variance; what it caches is cached before."""
        self._predict()
        return seconds(self._predict, repeats)

    def _step(self) -> float:
        self._model.train()
        self._likelihood.train()
        self._model.zero_grad()
        with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.max_cholesky_size(10**6):
            loss = -self._objective(self._model(self._X), self._y)
            loss.backward()
        return float(loss)

    def _predict(self) -> tuple[torch.Tensor, torch.Tensor]:
        self._model.eval()
        self._likelihood.eval()
        with (
            torch.no_grad(),
            gpytorch.settings.fast_computations(False, False, False),
            gpytorch.settings.max_cholesky_size(10**6),
        ):
            there = self._model(self._new)
            return there.mean, there.variance


class _Exact(gpytorch.models.ExactGP):  # type: ignore[misc]  # untyped
    def __init__(self, X: torch.Tensor, y: torch.Tensor, likelihood: Any, kernel: Any) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, X: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


class Jax:
    """The likelihood as one would write it in JAX: one gemm for the distances, Cholesky, autodiff, jit.

    A step takes theta and gives value and gradient as NumPy does, like ours and as an optimiser of SciPy wants them.
    """

    def __init__(self, problem: Problem) -> None:
        X, y, new = (jnp.asarray(values) for values in problem.data())
        self._theta = problem.theta
        correlate = _rbf if problem.kernel == "rbf" else _matern32

        def factor(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
            z = X / jnp.exp(theta[2:])
            covariance = jnp.exp(2.0 * theta[0]) * correlate(_squares(z, z))
            lower = jnp.linalg.cholesky(covariance + jnp.exp(2.0 * theta[1]) * jnp.eye(len(y)))
            return lower, cho_solve((lower, True), y)

        def loss(theta: jax.Array) -> jax.Array:
            lower, solution = factor(theta)
            half_log_determinant = jnp.log(jnp.diagonal(lower)).sum()
            return 0.5 * y @ solution + half_log_determinant + 0.5 * len(y) * math.log(2.0 * math.pi)

        def predict(theta: jax.Array, lower: jax.Array, solution: jax.Array) -> tuple[jax.Array, jax.Array]:
            signal, lengthscales = jnp.exp(2.0 * theta[0]), jnp.exp(theta[2:])
            cross = signal * correlate(_squares(X / lengthscales, new / lengthscales))
            reduced = solve_triangular(lower, cross, lower=True)
            return cross.T @ solution, signal - (reduced * reduced).sum(axis=0)

        self._loss = jax.jit(jax.value_and_grad(loss))
        self._conditioned = jax.jit(factor)(self._theta)
        self._predictor = jax.jit(predict)

    def answer(self) -> Answer:
        """Compiles on the way."""
        value, gradient = self._step()
        mean, variance = self._predict()
        return Answer(value, gradient.tolist(), mean.tolist(), variance.tolist())

    def step(self, repeats: int) -> float:
        """Seconds of value and gradient."""
        return seconds(self._step, repeats)

    def prediction(self, repeats: int) -> float:
        """Seconds of mean and variance."""
        return seconds(self._predict, repeats)

    def _step(self) -> tuple[float, Floats]:
        value, gradient = self._loss(self._theta)
        return float(value), np.asarray(gradient)

    def _predict(self) -> tuple[Floats, Floats]:
        mean, variance = self._predictor(self._theta, *self._conditioned)
        return np.asarray(mean), np.asarray(variance)


def _squares(left: jax.Array, right: jax.Array) -> jax.Array:
    norms = (left * left).sum(axis=1)[:, jnp.newaxis] + (right * right).sum(axis=1)
    return jnp.maximum(norms - 2.0 * left @ right.T, 0.0)


def _rbf(squares: jax.Array) -> jax.Array:
    return jnp.exp(-0.5 * squares)


def _matern32(squares: jax.Array) -> jax.Array:
    # A square root of 0 has no derivative; the limit of the product is 0.
    apart = squares > 1e-15
    u = jnp.sqrt(3.0 * jnp.where(apart, squares, 1.0))
    return jnp.where(apart, (1.0 + u) * jnp.exp(-u), 1.0)


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    peers: dict[str, Any] = {}
    print(json.dumps({"GPyTorch": gpytorch.__version__, "JAX": jax.__version__}), flush=True)  # noqa: T201 - the wire
    for line in sys.stdin:
        asked = json.loads(line)
        reply: Any
        if asked["what"] == "prepare":
            problem = Problem(**asked["problem"])
            peers = {"GPyTorch": GPyTorch(problem), "JAX": Jax(problem)}
            reply = {name: peer.answer() for name, peer in peers.items()}
        else:
            reply = getattr(peers[asked["peer"]], asked["what"])(asked["repeats"])
        print(json.dumps(reply), flush=True)  # noqa: T201 - the wire


if __name__ == "__main__":
    main()
