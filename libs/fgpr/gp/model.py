"""What a federation models: features with units and ranges, the target, the kernel, the bounds of theta; and a prior.

A `ModelSpec` is a frozen value with one canonical JSON form (`fgpr.gp.record`), so that it can be signed and digested.
Data columns are matched to features by name, never by position.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fgpr.errors import DataError, EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, Hyperparameters, theta_names
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.record import Record
from fgpr.gp.scaling import Scaling

MAX_FEATURES = 298
"""More would make theta longer than the 300 numbers that a contribution is meant for."""

MAX_NAME = 64

DEFAULT_SIGNAL_SD = (1e-2, 1e2)
DEFAULT_NOISE_SD = (1e-2, 10.0)
DEFAULT_LENGTHSCALE = (1e-3, 1e2)
"""In units of the feature's range."""

START_SIGNAL_SD = 1.0
START_NOISE_SD = 0.5
START_LENGTHSCALE = 0.25
"""In units of the feature's range."""


@dataclass(frozen=True, slots=True)
class Feature(Record):
    """One input.

    Attributes:
        name: of the data column.
        unit: of its values, and of its length-scale.
        lower: least value that the model is meant for.
        upper: largest value.
    """

    name: str
    unit: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        _check_name("feature", self.name)
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and math.isfinite(self.range)):
            raise EncodingError(f"feature {self.name}: its range {self.lower} to {self.upper} is not finite")
        if self.lower >= self.upper:
            raise EncodingError(f"feature {self.name}: lower limit {self.lower} is not below upper limit {self.upper}")

    @property
    def range(self) -> float:
        """Upper minus lower limit."""
        return self.upper - self.lower


@dataclass(frozen=True, slots=True)
class Target(Record):
    """What is predicted.

    Attributes:
        name: of the data column.
        unit: of its values.
        scaling: "standardise" (each client by its own mean and standard deviation) or "none".
    """

    name: str
    unit: str
    scaling: Scaling

    def __post_init__(self) -> None:
        _check_name("target", self.name)
        if self.scaling not in ("standardise", "none"):
            raise EncodingError(f"target {self.name}: scaling is {self.scaling!r}, not 'standardise' or 'none'")


@dataclass(frozen=True, slots=True)
class _Draft(Record):
    """A `ModelSpec` without bounds."""

    features: tuple[Feature, ...]
    target: Target
    kernel: str


@dataclass(frozen=True, slots=True)
class ModelSpec(Record):
    """The model of a federation, the same for every client.

    Attributes:
        features: in the order of the length-scales in theta.
        target: what is predicted.
        kernel: a name in `fgpr.gp.kernels.kernel.KERNEL_NAMES`.
        bounds: of theta, in log space.
    """

    features: tuple[Feature, ...]
    target: Target
    kernel: str
    bounds: Bounds

    def __post_init__(self) -> None:
        if not 1 <= len(self.features) <= MAX_FEATURES:
            raise EncodingError(f"{len(self.features)} features: expected 1 to {MAX_FEATURES}")
        names = [*self.feature_names, self.target.name]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise EncodingError(f"the name {repeated[0]!r} is repeated among features and target")
        kernel_named(self.kernel)
        if self.bounds.names != self.theta_names:
            raise EncodingError(f"bounds are named {list(self.bounds.names)}: expected {list(self.theta_names)}")

    @classmethod
    def with_default_bounds(cls, features: Sequence[Feature], target: Target, kernel: str) -> Self:
        """A spec whose bounds follow from the features' ranges.

        Signal sd 0.01 to 100 and noise sd 0.01 to 10, in units of the scaled target; length-scales 0.001 to 100 times
        the range of their feature.
        """
        ranges = [feature.range for feature in features]
        lower = [DEFAULT_SIGNAL_SD[0], DEFAULT_NOISE_SD[0], *(DEFAULT_LENGTHSCALE[0] * r for r in ranges)]
        upper = [DEFAULT_SIGNAL_SD[1], DEFAULT_NOISE_SD[1], *(DEFAULT_LENGTHSCALE[1] * r for r in ranges)]
        names = theta_names([feature.name for feature in features])
        return cls(tuple(features), target, kernel, Bounds.from_natural(names, lower, upper))

    @classmethod
    def from_settings(cls, value: Any) -> Self:
        """The spec as a person writes it: the JSON object, whose "bounds" may be missing for the default ones.

        What is signed is always the full form that `to_json` gives.

        Raises:
            EncodingError: not of this form; names the field.
        """
        if not isinstance(value, dict) or "bounds" in value:
            return cls.from_json(value)
        draft = _Draft.from_json(value)
        return cls.with_default_bounds(draft.features, draft.target, draft.kernel)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def theta_names(self) -> tuple[str, ...]:
        """Names of the entries of theta, in the wire order."""
        return theta_names(self.feature_names)

    @property
    def correlation(self) -> Kernel:
        """The kernel that `kernel` names."""
        return kernel_named(self.kernel)

    @property
    def initial_theta(self) -> Array:
        """Where training starts: signal sd 1, noise sd 0.5, length-scales a quarter of the ranges.

        Where the bounds exclude such a value, the nearest one inside.
        """
        lengthscales = tuple(START_LENGTHSCALE * feature.range for feature in self.features)
        return self.bounds.clip(Hyperparameters(START_SIGNAL_SD, START_NOISE_SD, lengthscales).theta).theta

    def arrange(self, columns: Mapping[str, npt.ArrayLike]) -> Array:
        """Data columns as inputs of shape (n, d), in the order of the features.

        Args:
            columns: by name, each of shape (n,), in the feature's unit; others than the features are left out.

        Raises:
            DataError: a feature has no column, columns differ in length, or a value is not a finite number within the
                feature's range; names row (counted from 1), value and range.
        """
        missing = [name for name in self.feature_names if name not in columns]
        if missing:
            raise DataError(f"no column for feature {', '.join(missing)}; there are {', '.join(columns) or 'none'}")
        arranged = [_within(feature, columns[feature.name]) for feature in self.features]
        lengths = {name: column.size for name, column in zip(self.feature_names, arranged, strict=True)}
        if len(set(lengths.values())) > 1:
            raise DataError(f"columns differ in length: {lengths}")
        return np.column_stack(arranged)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A theta that a federation published; a device conditions it on its own data.

    Attributes:
        spec: the model.
        theta: in the wire order, shape (d + 2,), inside the spec's bounds; a read-only copy.
        version: 0 for the one that a federation starts with.
    """

    spec: ModelSpec
    theta: Array
    version: int

    def __post_init__(self) -> None:
        if self.version < 0:
            raise EncodingError(f"a prior's version is {self.version}: expected 0 or more")
        self.spec.bounds.check(self.theta)
        theta = np.array(self.theta, dtype=np.float64)
        theta.flags.writeable = False
        object.__setattr__(self, "theta", theta)

    @property
    def hyperparameters(self) -> Hyperparameters:
        """Theta in natural units."""
        return Hyperparameters.from_theta(self.theta)


def _check_name(what: str, name: str) -> None:
    if not (0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()):
        raise EncodingError(f"a {what} is named {name!r}: expected 1 to {MAX_NAME} printable characters")


def _within(feature: Feature, column: npt.ArrayLike) -> Array:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"column {feature.name} does not hold numbers: {error}") from error
    if values.ndim != 1:
        raise DataError(f"column {feature.name} has shape {values.shape}: expected one number a row")
    inside = (values >= feature.lower) & (values <= feature.upper)
    if not inside.all():
        row = int(np.argmin(inside))
        raise DataError(
            f"row {row + 1}: {feature.name} is {values[row]} {feature.unit}, not a finite number within"
            f" {feature.lower} to {feature.upper} {feature.unit}"
        )
    return values
