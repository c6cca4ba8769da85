"""Panels cover a lower triangle, and what is computed by panels is what is computed at once."""

import numpy as np
import pytest

from fgpr.gp.kernels.kernel import kernel_named
from fgpr.gp.kernels.panels import WORTH_IT, buffer_for, panels
from fgpr.gp.likelihood import Likelihood, Workspace


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 300])
def test_panels_cover_the_lower_triangle_once(rows: int) -> None:
    matrix = np.zeros((rows, rows), order="F")
    buffer = buffer_for(rows)
    for panel in panels(rows):
        panel.of(matrix)[...] += 1.0
        assert panel.within(buffer).shape == panel.of(matrix).shape
        assert panel.within(buffer).flags.f_contiguous
    np.testing.assert_array_equal(np.tril(matrix), np.tril(np.ones((rows, rows))))


@pytest.mark.parametrize("name", ["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "matern(nu=1.3)"])
def test_a_gradient_by_panels_is_that_of_a_matrix_made_of_blocks(name: str) -> None:
    """Two groups of rows that do not see each other: value and gradient are the sums of the groups', done at once."""
    rng = np.random.default_rng(3)
    near = rng.uniform(size=(WORTH_IT - 40, 2))
    far = rng.uniform(size=(WORTH_IT - 90, 2)) + 60.0
    y = rng.normal(size=len(near) + len(far))
    kernel = kernel_named(name)
    theta = np.log([1.3, 0.4, 0.5, 0.8])
    workspace = Workspace()
    # Whatever the buffers hold above the diagonal must not matter, and must not warn.
    for square in workspace.squares(len(y)):
        square[...] = 1e300
    both = Likelihood(kernel, np.vstack([near, far]), y, workspace).value_and_gradient(theta)
    one = Likelihood(kernel, near, y[: len(near)]).value_and_gradient(theta)
    other = Likelihood(kernel, far, y[len(near) :]).value_and_gradient(theta)
    assert both.nats == pytest.approx(one.nats + other.nats, rel=1e-9)
    np.testing.assert_allclose(both.gradient, one.gradient + other.gradient, rtol=1e-7, atol=1e-7)
