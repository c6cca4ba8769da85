"""The rows that a process is conditioned on: inputs, targets and the noise of each."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fgpr.gp.arrays import Array, inputs, targets
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
        given = np.asarray(X)
        rows = inputs(given.reshape(0, features) if given.size == 0 else X, features).copy()
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
        return self.X.mean(axis=0) if self.count else np.zeros(self.X.shape[1])

    def noise_of(self, rows: npt.NDArray[np.intp]) -> float | Array:
        """The noise of these rows, counted from 0."""
        return self.noise if isinstance(self.noise, float) else self.noise[rows]

    def joined(self, more: "Observations") -> "Observations":
        """These rows followed by `more`."""
        noise: float | Array = self.noise
        if self.noise_at_new_inputs is None or self.noise_at_new_inputs != more.noise_at_new_inputs:
            noise = np.concatenate([np.broadcast_to(rows.noise, rows.count) for rows in (self, more)])
        return Observations(np.vstack([self.X, more.X]), np.concatenate([self.y, more.y]), noise)
