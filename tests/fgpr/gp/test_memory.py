"""Estimates of memory hold what is taken, and are not absurd; what a machine refuses all the same is the same error."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.likelihood import Likelihood, Workspace
from fgpr.gp.memory import DOUBLE_BYTES, check_memory, matrix_bytes, reserved, squares
from fgpr.gp.posterior import condition
from fgpr.gp.residuals import leave_one_out
from fgpr.gp.stacked import StackedLikelihood
from support.kernels import problem

ROWS = 500
SQUARE = matrix_bytes(ROWS)
BLOCKS = 384 * DOUBLE_BYTES * ROWS
"""What blocks of a few columns take beside the matrices that are counted."""

KERNELS = (
    "rbf",
    "matern-1/2",
    "matern-3/2",
    "matern-5/2",
    "matern(nu=0.7)",
    "rational-quadratic",
    "periodic",
    "linear",
    "constant",
    "rbf + periodic",
    "rbf * matern-3/2",
    "rational-quadratic * linear + periodic",
)


def peak(work: Callable[[], object]) -> int:
    """Bytes that a piece of work takes at most beside what there is."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check(estimate: int, work: Callable[[int], object], blocks: int = BLOCKS) -> None:
    """A piece of work is refused with a byte less than its estimate, and keeps to the estimate that allows it."""
    with pytest.raises(DataError, match="over the limit"):
        work(estimate - 1)
    taken = peak(lambda: work(estimate))
    assert taken <= estimate + blocks
    assert estimate <= 1.6 * taken


@pytest.mark.parametrize("text", KERNELS)
def test_a_likelihood_keeps_to_its_estimates(text: str) -> None:
    kernel, X, y, theta = problem(text, 2, ROWS)

    def likelihood(limit: int) -> Likelihood:
        return Likelihood(kernel, X, y, Workspace(limit))

    numbers = kernel.footprint
    check(numbers.value * SQUARE, lambda limit: likelihood(limit).value(theta))
    check(numbers.gradient * SQUARE, lambda limit: likelihood(limit).value_and_gradient(theta))
    with pytest.raises(DataError, match="over the limit"):
        likelihood((numbers.information + theta.size) * SQUARE - 1).information(theta)
    check((numbers.information + theta.size) * SQUARE, lambda limit: likelihood(limit).curvature(theta))


@pytest.mark.parametrize("text", KERNELS)
def test_a_posterior_keeps_to_its_estimates(text: str) -> None:
    kernel, X, y, theta = problem(text, 2, ROWS)
    check(SQUARE, lambda limit: condition(kernel, theta, X, y, memory_limit=limit))
    whole, half = condition(kernel, theta, X, y), condition(kernel, theta, X[:300], y[:300])
    check(2 * SQUARE, lambda limit: leave_one_out(replace(whole, memory_limit=limit)))
    check(
        DOUBLE_BYTES * ROWS * (ROWS + 200),
        lambda limit: replace(half, memory_limit=limit).append(X[300:], y[300:]),
    )
    few, at_once = 200, kernel.footprint.cross
    for posterior, rows in ((whole, ROWS), (condition(kernel, theta, [], []), 0)):
        joint = max(at_once * few * few, few * few + at_once * few * rows)
        check(
            DOUBLE_BYTES * joint,
            lambda limit, asked=posterior: replace(asked, memory_limit=limit).predict_jointly(X[:few]),  # type: ignore[misc]  # a default of a lambda
        )


@pytest.mark.parametrize("text", ["rbf", "matern(nu=0.7)", "rbf + periodic"])
def test_a_long_list_of_new_inputs_takes_no_more_than_a_short_one(text: str) -> None:
    kernel, X, y, theta = problem(text, 2, ROWS)
    posterior = condition(kernel, theta, X[:50], y[:50])
    new = np.tile(X, (40, 1))
    # One block of 2,048 new inputs, by 50 rows; and what is known of each new input.
    assert peak(lambda: posterior.predict(new)) <= DOUBLE_BYTES * (3 * 50 * 2048 + 30 * len(new))


@pytest.mark.parametrize(
    ("text", "count", "rows", "features"),
    [
        ("rbf", 2000, 4, 21),
        ("matern-3/2", 500, 16, 1),
        ("matern(nu=0.7)", 300, 16, 2),
        ("rbf", 100, 17, 2),
        ("rbf", 50, 100, 8),
        ("rbf", 20, 200, 21),
        ("rbf + periodic", 100, 4, 2),
        ("rbf + periodic", 20, 60, 2),
    ],
)
def test_many_problems_keep_to_their_estimate(text: str, count: int, rows: int, features: int) -> None:
    kernel, X, y, theta = problem(text, features, count * rows)
    X, y = X.reshape(count, rows, features), y.reshape(count, rows)
    with pytest.raises(DataError, match=f"{count} problems need .* over the limit of 0.00 GB"):
        StackedLikelihood(kernel, X, y, memory_limit=1000)
    low, high = 1000, 10**9
    while high - low > 1000:
        middle = (low + high) // 2
        try:
            StackedLikelihood(kernel, X, y, memory_limit=middle)
        except DataError:
            low = middle
        else:
            high = middle
    taken = peak(lambda: StackedLikelihood(kernel, X, y).value_and_gradient(theta))
    # The buffers of a step are shared by all problems of a loop.
    assert taken <= high + matrix_bytes(rows, 4) + 20_000
    assert high <= 1.6 * taken


def test_what_the_machine_has_not_got_is_a_typed_error_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, X, y, theta = problem("rbf", 2, 300)
    posterior, likelihood = condition(kernel, theta, X, y), Likelihood(kernel, X, y)
    few = Likelihood(kernel, X[:20], y[:20])
    joint = posterior.predict_jointly(X)
    stacked = StackedLikelihood(kernel, X[:, np.newaxis], y[:, np.newaxis])

    def none_left(*_: object, **__: object) -> None:
        raise MemoryError

    for place in (
        "covariance.factorise",
        "posterior.dtrsm",
        "posterior.mirror",
        "residuals.invert_triangle",
        "likelihood.factorise_covariance",
        "likelihood.PackedLikelihood",
        "stacked.StackedLikelihood._at_once",
        "prediction.JointPrediction._root",
    ):
        monkeypatch.setattr(f"fgpr.gp.{place}", none_left)
    for rows, work in (
        (300, lambda: condition(kernel, theta, X, y)),
        (301, lambda: posterior.append(X[:1], y[:1])),
        (300, lambda: posterior.predict(X)),
        (300, lambda: posterior.predict_jointly(X)),
        (300, lambda: joint.sample(1, np.random.default_rng(0))),
        (300, lambda: leave_one_out(posterior)),
        (300, lambda: likelihood.value(theta)),
        (300, lambda: likelihood.value_and_gradient(theta)),
        (300, lambda: likelihood.curvature(theta)),
        (300, lambda: likelihood.information(theta)),
        (20, lambda: few.value(theta)),
        (20, lambda: few.value_and_gradient(theta)),
        (300, lambda: stacked.value_and_gradient(theta)),
    ):
        with pytest.raises(DataError, match=r"GB for .* this machine does not have as much free") as refused:
            work()
        assert f"{rows} " in str(refused.value)


def test_samples_keep_to_their_estimate() -> None:
    kernel, X, y, theta = problem("rbf", 2, 300)
    joint = condition(kernel, theta, X[:20], y[:20]).predict_jointly(X)
    estimate = DOUBLE_BYTES * 300 * (4 * 300 + 3 * 50)
    with pytest.raises(DataError, match=r"samples at 300 inputs need .* over the limit"):
        replace(joint, memory_limit=estimate - 1).sample(50, np.random.default_rng(0))
    limited = replace(joint, memory_limit=estimate)
    assert peak(lambda: limited.sample(50, np.random.default_rng(0), observation=True)) <= estimate


def test_an_error_within_is_left_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), reserved(squares(3), 1000):
        _ = 1 / 0
    with pytest.raises(DataError, match=r"3 rows need 0\.00 GB for 2 matrices of 3 x 3, over the limit of 0\.00 GB"):
        check_memory(3, 2, limit=143)
    check_memory(3, 2, limit=144)


def test_footprints_of_sums_and_products() -> None:
    # matrix, weight, three correlations, two weights (a constant has no parameters), and the product that is derived.
    assert kernel_named("rbf * periodic + constant").footprint.gradient == 2 + 3 + 2 + 1
    assert kernel_named("rbf").footprint.gradient == 3
