"""Where a client measures: designs in the unit cube."""

from itertools import product

import numpy as np
from scipy.stats import qmc

from fgpr.errors import DataError
from fgpr.gp.arrays import Array

DESIGNS = ("corners", "uniform", "latin", "corners-alone")
"""Corners of the cube and then uniform points, as the authors' designs have them; uniform points; a Latin hypercube;
corners and nothing else."""


def draw(design: str, rows: int, dimensions: int, rng: np.random.Generator) -> Array:
    """Points of shape (rows, dimensions).

    A design of corners has all of them where they are no more than half of its rows; of more, half as many as rows,
    drawn without replacement. Eight inputs have 256 corners, more than a client of Borehole has rows.

    Raises:
        DataError: no such design, no rows or dimensions, or fewer corners than a design of corners alone needs.
    """
    if rows < 1 or dimensions < 1:
        raise DataError(f"a design of {rows} rows and {dimensions} inputs: both have to be 1 or more")
    if design == "uniform":
        return rng.random((rows, dimensions))
    if design == "latin":
        points: Array = qmc.LatinHypercube(dimensions, rng=rng).random(rows)
        return points
    if design in ("corners", "corners-alone"):
        corners = np.array(list(product((0.0, 1.0), repeat=dimensions)))
        most = rows // 2 if design == "corners" else rows
        if len(corners) > most:
            corners = corners[rng.choice(len(corners), most, replace=False)]
        elif design == "corners-alone" and len(corners) < rows:
            raise DataError(f"{rows} rows at corners alone: {dimensions} inputs have {len(corners)} corners")
        return np.vstack([corners, rng.random((rows - len(corners), dimensions))])
    raise DataError(f"no design is named {design!r}; there are {', '.join(DESIGNS)}")
