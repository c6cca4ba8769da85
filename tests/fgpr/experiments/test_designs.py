"""Designs: what each promises of its points, and names that there are not."""

import numpy as np
import pytest

from fgpr.errors import DataError
from fgpr.experiments.designs import DESIGNS, draw


@pytest.mark.parametrize("design", DESIGNS[:3])
def test_points_are_in_the_cube_and_the_seed_says_all(design: str) -> None:
    one = draw(design, 40, 3, np.random.default_rng(7))
    two = draw(design, 40, 3, np.random.default_rng(7))
    assert one.shape == (40, 3)
    assert one.min() >= 0.0
    assert one.max() <= 1.0
    assert np.array_equal(one, two)


def test_a_latin_hypercube_has_one_point_in_each_slice() -> None:
    points = draw("latin", 25, 4, np.random.default_rng(0))
    slices = np.sort(np.floor(points * 25).astype(int), axis=0)
    assert np.array_equal(slices, np.repeat(np.arange(25)[:, np.newaxis], 4, axis=1))


def test_corners_come_first_and_all_of_them() -> None:
    points = draw("corners", 20, 3, np.random.default_rng(0))
    assert {tuple(corner) for corner in points[:8]} == {(a, b, c) for a in (0.0, 1.0) for b in (0, 1) for c in (0, 1)}
    assert ((points[8:] > 0.0) & (points[8:] < 1.0)).all()


def test_more_corners_than_half_the_rows() -> None:
    points = draw("corners", 50, 8, np.random.default_rng(0))
    at_corners = np.isin(points, (0.0, 1.0)).all(axis=1)
    assert at_corners.sum() == 25
    assert len(np.unique(points, axis=0)) == 50


def test_corners_alone() -> None:
    points = draw("corners-alone", 200, 8, np.random.default_rng(0))
    assert len(np.unique(points, axis=0)) == 200
    assert set(np.unique(points)) == {0.0, 1.0}
    with pytest.raises(DataError, match="20 rows at corners alone: 3 inputs have 8 corners"):
        draw("corners-alone", 20, 3, np.random.default_rng(0))


def test_what_is_no_design_is_refused() -> None:
    with pytest.raises(DataError, match="no design is named 'sobol'; there are corners, uniform, latin, corners-alone"):
        draw("sobol", 5, 2, np.random.default_rng(0))
    with pytest.raises(DataError, match="0 rows"):
        draw("uniform", 0, 2, np.random.default_rng(0))
