"""The rows that a process is conditioned on: inputs, targets and the noise of each."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.gp.arrays import Array, floats, inputs, targets
from fgpr.gp.prediction import noise_variances


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """n checked rows; made by `Observations.of`. Its arrays are its own, and read-only.

    Attributes:
        X: inputs, shape (n, d), in the features' units.
        y: targets, shape (n,), scaled as the model says.
        noise: variance of the noise, one number for all rows, or shape (n,).
    """

    X: Array
    y: Array
    noise: float | Array

    def __post_init__(self) -> None:
        for values in (self.X, self.y, self.noise):
            if not isinstance(values, float):
                values.flags.writeable = False

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        noise: float | npt.ArrayLike | None,
        features: int,
        model_noise: float,
    ) -> "Observations":
        """The rows, copied, so that a caller's later change cannot reach a posterior.

        Args:
            X: as in the class; an empty sequence is no row.
            y: as in the class.
            noise: as in the class, or None for the model's.
            features: d.
            model_noise: variance that theta says.

        Raises:
            DataError: shapes that do not fit, a value that is not finite, or a noise that is no variance.
        """
        given = floats(X, "inputs")
        rows = inputs(given.reshape(0, features) if given.size == 0 else given, features).copy()
        values = targets(y, len(rows)).copy()
        return cls(rows, values, model_noise if noise is None else noise_variances(noise, len(rows), "rows"))

    @property
    def count(self) -> int:
        """The number of rows, n."""
        return self.y.size

    @property
    def noise_at_new_inputs(self) -> float | None:
        """The one variance of all rows; None where each row has its own."""
        return self.noise if isinstance(self.noise, float) else None

    @property
    def centre(self) -> Array:
        """Mean of the inputs, shape (d,); 0 without rows."""
        return centre_of(self.X)

    def noise_of(self, rows: npt.NDArray[np.intp]) -> float | Array:
        """The noise of these rows, counted from 0."""
        return self.noise if isinstance(self.noise, float) else self.noise[rows]

    def joined(self, more: "Observations") -> "Observations":
        """These rows followed by `more`."""
        noise: float | Array = self.noise
        if self.noise_at_new_inputs is None or self.noise_at_new_inputs != more.noise_at_new_inputs:
            noise = np.concatenate([np.broadcast_to(rows.noise, rows.count) for rows in (self, more)])
        return Observations(np.vstack([self.X, more.X]), np.concatenate([self.y, more.y]), noise)

    def merged(self) -> "Observations":
        """Rows that say the same: of equal inputs with noise one row, the mean of the targets with the mean's noise.

        Independent measurements y_j of one value with noises q_j say as much of it as one measurement
        sum_j (y_j / q_j) / sum_j (1 / q_j) of noise 1 / sum_j (1 / q_j): the posterior is the same, exactly. Rows stay
        in the order of the first of each input; where one of an input has no noise, they stay as they are.
        """
        order = np.lexsort(self.X.T)
        rising = self.X[order]
        begins = np.ones(self.count, dtype=bool)
        begins[1:] = (rising[1:] != rising[:-1]).any(axis=1)
        if begins.all():
            return self
        noise = np.broadcast_to(self.noise, self.count)
        least = np.minimum.reduceat(noise[order], np.flatnonzero(begins))
        begins |= (least <= 0.0)[np.cumsum(begins) - 1]
        starts = np.flatnonzero(begins)
        group = np.cumsum(begins) - 1
        # Over the least noise of each group: no quotient overflows.
        least = np.minimum.reduceat(noise[order], starts)
        weights = np.divide(least[group], noise[order], out=np.ones(self.count), where=noise[order] > 0.0)
        totals = np.add.reduceat(weights, starts)
        means = np.add.reduceat(self.y[order] * (weights / totals[group]), starts)
        # The order of the rows, by the first of each group: `lexsort` keeps equal ones as they came.
        first = order[starts]
        places = np.argsort(first)
        return Observations(self.X[first[places]], means[places], (least / totals)[places])


def centre_of(X: Array) -> Array:
    """Mean of inputs of shape (n, d), shape (d,); 0 without rows. Of inputs beyond 1e307 it may not be finite."""
    with np.errstate(over="ignore"):
        return X.mean(axis=0) if len(X) else np.zeros(X.shape[1])
