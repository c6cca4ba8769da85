import numpy as np
import pytest

from fgpr.gp.triangle import layout, pack, unpack


@pytest.mark.parametrize("rows", [1, 2, 7, 8])
def test_a_triangle_packed_and_unpacked_is_the_symmetric_matrix(rows: int) -> None:
    lower = np.arange(1.0, rows * rows + 1).reshape((rows, rows))
    packed = pack(np.asfortranarray(np.tril(lower) + np.triu(np.full((rows, rows), np.nan), 1)))
    assert sorted(packed) == sorted(lower[np.tril_indices(rows)])
    whole = np.full((rows, rows), np.nan, order="F")
    unpack(packed, whole)
    assert whole.tolist() == (np.tril(lower) + np.tril(lower, -1).T).tolist()


@pytest.mark.parametrize("rows", [1, 2, 7, 8])
def test_the_layout_says_where_each_entry_is(rows: int) -> None:
    matrix = np.asfortranarray(np.random.default_rng(rows).normal(size=(rows, rows)))
    packed, where = pack(matrix), layout(rows)
    assert packed.tolist() == matrix[where.first, where.second].tolist()
    assert sorted(packed[where.diagonal]) == sorted(np.diagonal(matrix))
    assert not any(places.flags.writeable for places in where)


def test_a_layout_is_made_once() -> None:
    assert layout(5) is layout(5)
