"""Where a client measures: designs in the unit cube."""

from itertools import product
from typing import Literal, get_args

import numpy as np
from scipy.stats import qmc

from fgpr.errors import DataError
from fgpr.gp.arrays import Array

Design = Literal["corners", "uniform", "latin"]
"""All corners of the cube and then uniform points, as in the authors' own code; uniform points; a Latin hypercube."""

DESIGNS: tuple[Design, ...] = get_args(Design)


def draw(design: Design, rows: int, dimensions: int, rng: np.random.Generator) -> Array:
    """Points of shape (rows, dimensions).

    Where the cube has as many corners as there are rows, or more, a design of corners has as many of them, drawn
    without replacement, and no other point.

    Raises:
        DataError: no such design, or no rows or dimensions.
    """
    if rows < 1 or dimensions < 1:
        raise DataError(f"a design of {rows} rows and {dimensions} inputs: both have to be 1 or more")
    if design == "uniform":
        return rng.random((rows, dimensions))
    if design == "latin":
        points: Array = qmc.LatinHypercube(dimensions, rng=rng).random(rows)
        return points
    if design == "corners":
        corners = np.array(list(product((0.0, 1.0), repeat=dimensions)))
        if len(corners) >= rows:
            return corners[rng.choice(len(corners), rows, replace=False)]
        return np.vstack([corners, rng.random((rows - len(corners), dimensions))])
    raise DataError(f"no design is named {design!r}; there are {', '.join(DESIGNS)}")
