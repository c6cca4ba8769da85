import numpy as np
import pytest

from fgpr.gp.kernels.pairs import Pairs
from fgpr.gp.kernels.scaled_inputs import PAIRS_LIMIT, ScaledInputs
from fgpr.gp.triangle import pack, unpack


@pytest.mark.parametrize(("rows", "features"), [(1, 2), (2, 1), (8, 21), (29, 3)])
def test_sums_over_pairs(rows: int, features: int) -> None:
    rng = np.random.default_rng(rows)
    X, weights = rng.normal(size=(rows, features)), rng.uniform(size=features)
    square = (X[:, np.newaxis, :] - X) ** 2
    out = np.full((rows, rows), np.nan, order="F")
    unpack(Pairs(X).weighted_sum(-3.0, weights), out)
    np.testing.assert_allclose(out, -3.0 * square @ weights, rtol=1e-13, atol=0)
    by_pair = rng.normal(size=(rows, rows))
    by_pair += by_pair.T
    lower = np.asfortranarray(np.tril(by_pair) + np.triu(np.full((rows, rows), np.nan), 1))
    expected = 0.5 * np.einsum("ij,ijd->d", by_pair, square)
    np.testing.assert_allclose(Pairs(X).sums(2.0, pack(lower)), 2.0 * expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_few_and_many_inputs_give_the_same(exact: bool) -> None:
    """On either side of the limit another way is taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(129, 1))
    weights = rng.normal(size=(129, 129))
    weights = np.asfortranarray(weights + weights.T)
    assert PAIRS_LIMIT == 128 * 128
    matrices, spreads = [], []
    for rows in (128, 129):
        scaled = ScaledInputs(X[:rows], np.zeros(1), exact)
        scaled.rescale(np.array([0.7]))
        matrix = np.empty((rows, rows), order="F")
        scaled.squared_distances(3.0, matrix)
        part = np.zeros((129, 129), order="F")
        part[:128, :128] = weights[:128, :128]
        matrices.append(matrix[:128, :128])
        spreads.append(scaled.weighted_spread(np.asfortranarray(part[:rows, :rows])))
    np.testing.assert_allclose(matrices[0], matrices[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=1e-11)
