"""A client's own rows as the model takes them: columns by name, the target scaled by these rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy.typing as npt

from fgpr.errors import DataError
from fgpr.gp.arrays import Array, targets
from fgpr.gp.model import ModelSpec
from fgpr.gp.scaling import TargetScaling

Columns = Mapping[str, npt.ArrayLike]
"""Columns by name, each of shape (rows,), in the units of the federation."""

Source = Columns | Callable[[ModelSpec], Columns]
"""Columns, or what reads them anew for the model of each round."""


@dataclass(frozen=True)
class LocalRows:
    """Rows of one client; they never leave it.

    Attributes:
        X: inputs, shape (n, d), in the features' units.
        y: scaled targets, shape (n,).
        scaling: from and to the target's units.
    """

    X: Array
    y: Array
    scaling: TargetScaling


def read(source: Source, spec: ModelSpec) -> Columns:
    """The columns of a source for a model.

    Raises:
        DataError: they cannot be read, or not be used.
    """
    if not callable(source):
        return source
    try:
        return source(spec)
    except OSError as error:
        raise DataError(f"cannot read the data: {error}") from error


def arrange(spec: ModelSpec, columns: Columns, target: str | None = None) -> LocalRows:
    """Match columns to the features and the target of a model by their names.

    Args:
        spec: the model.
        columns: by name; others than the named ones are left out.
        target: the column of the target, where it has another name than in the model.

    Raises:
        DataError: a column is missing, or a value is not finite or outside its feature's range; names the row.
        NumericalError: the targets cannot be scaled.
    """
    X = spec.arrange(columns)
    name = spec.target.name if target is None else target
    if name not in columns:
        raise DataError(f"no column for the target {name}; there are {', '.join(columns)}")
    y = targets(columns[name], len(X))
    scaling = TargetScaling.fit(y, spec.target.scaling)
    return LocalRows(X, scaling.to_scaled(y), scaling)
