"""What a federation models: features with units and ranges, the target, the kernel, the bounds of theta; and a prior.

A `ModelSpec` is a frozen value with one canonical JSON form (`fgpr.gp.record`), so that it can be signed and digested.
Data columns are matched to features by name, never by position.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fgpr.errors import DataError, EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.hyperparameters import Bounds, Hyperparameters, theta_names
from fgpr.gp.hyperprior import LogNormal, LogPrior
from fgpr.gp.kernels import parameters
from fgpr.gp.kernels.kernel import MAX_FEATURES, MAX_THETA, Kernel, kernel_named
from fgpr.gp.kernels.parameters import Parameter
from fgpr.gp.kernels.parsing import parse
from fgpr.gp.record import Record
from fgpr.gp.scaling import Scaling

MAX_NAME = 64

DOUBTFUL_SIGMAS = 3.0
"""A prior whose median is so many of its sigmas from the start value is doubted."""


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
    priors: tuple[LogNormal, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSpec(Record):
    """The model of a federation, the same for every client.

    Attributes:
        features: in the order of the length-scales in theta.
        target: what is predicted.
        kernel: a covariance in its text form, in the canonical spelling (`fgpr.gp.kernels.parsing`).
        bounds: of theta, in log space.
        priors: of hyper-parameters; none of them is flat. Left out of the JSON form where there are none.
    """

    features: tuple[Feature, ...]
    target: Target
    kernel: str
    bounds: Bounds
    priors: Annotated[tuple[LogNormal, ...], Field(exclude_if=lambda priors: not priors)] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.features) <= MAX_FEATURES:
            raise EncodingError(f"{len(self.features)} features: expected 1 to {MAX_FEATURES}")
        names = [*self.feature_names, self.target.name]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise EncodingError(f"the name {repeated[0]!r} is repeated among features and target")
        canonical = self.correlation.name
        if self.kernel != canonical:
            raise EncodingError(f"kernel {self.kernel!r} is not in its canonical spelling, {canonical!r}")
        if len(self.theta_names) > MAX_THETA:
            raise EncodingError(f"kernel {canonical}: {len(self.theta_names)} hyper-parameters, at most {MAX_THETA}")
        if self.bounds.names != self.theta_names:
            raise EncodingError(f"bounds are named {list(self.bounds.names)}: expected {list(self.theta_names)}")
        self._check_starts()
        LogPrior(self.priors, self.theta_names)

    @classmethod
    def with_default_bounds(
        cls, features: Sequence[Feature], target: Target, kernel: str, priors: Sequence[LogNormal] = ()
    ) -> Self:
        """A spec whose bounds follow from the kernel and the features' ranges.

        Signal sds 0.01 to 100 and noise sd 0.01 to 10, in units of the scaled target; length-scales 0.001 to 100 times
        the range of their feature; for the others see `fgpr.gp.kernels.catalogue`.

        Args:
            features: in order.
            target: what is predicted.
            kernel: in any spelling.
            priors: of hyper-parameters.
        """
        expression = parse(kernel)
        found = parameters.parameters(expression, features)
        bounds = Bounds.from_natural(
            tuple(parameter.name for parameter in found),
            [parameter.lower for parameter in found],
            [parameter.upper for parameter in found],
        )
        return cls(tuple(features), target, expression.text, bounds, tuple(priors))

    @classmethod
    def from_settings(cls, value: Any) -> Self:
        """The spec as a person writes it: the JSON object, whose "bounds" may be missing for the default ones.

        The kernel may be in any spelling. What is signed is always the full form that `to_json` gives.

        Raises:
            EncodingError: not of this form; names the field.
        """
        if not isinstance(value, dict) or "bounds" in value:
            if isinstance(value, dict) and isinstance(value.get("kernel"), str):
                value = value | {"kernel": parse(value["kernel"]).text}
            return cls.from_json(value)
        draft = _Draft.from_json(value)
        return cls.with_default_bounds(draft.features, draft.target, draft.kernel, draft.priors)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def theta_names(self) -> tuple[str, ...]:
        """Names of the entries of theta, in the wire order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Hyper-parameters with start values and default bounds, in natural units and in the wire order."""
        return parameters.parameters(parse(self.kernel), self.features)

    @property
    def correlation(self) -> Kernel:
        """The kernel that `kernel` says, for these features."""
        return kernel_named(self.kernel, self.features)

    @property
    def initial_theta(self) -> Array:
        """Where training starts: the values that the kernel's text gives, else the defaults.

        Those are signal sd 1, noise sd 0.5, length-scales a quarter of the ranges; for the others see
        `fgpr.gp.kernels.catalogue`. Where the bounds exclude a default, the nearest value inside.
        """
        return self.bounds.clip(np.log([parameter.start for parameter in self.parameters])).theta

    @property
    def doubtful_priors(self) -> tuple[str, ...]:
        """What looks like a mistake about units: for each prior far from its start value, a sentence."""
        starts = {parameter.name: parameter.start for parameter in self.parameters}
        doubts = []
        for prior in self.priors:
            away = abs(math.log(prior.median / starts[prior.name])) / prior.sigma
            if away > DOUBTFUL_SIGMAS:
                doubts.append(
                    f"prior of {prior.name}: its median {prior.median:g} is {away:.1f} sigmas from the start value"
                    f" {starts[prior.name]:g}; is it in the feature's unit?"
                )
        return tuple(doubts)

    def _check_starts(self) -> None:
        given = parameters.parameters(parse(self.kernel), self.features, given_only=True)
        for parameter in given:
            place = self.theta_names.index(parameter.name)
            low, high = math.exp(self.bounds.lower[place]), math.exp(self.bounds.upper[place])
            if not low <= parameter.start <= high:
                raise EncodingError(
                    f"kernel {self.kernel}: {parameter.name} starts at {parameter.start:g}, outside its bounds"
                    f" {low:g} to {high:g}"
                )

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
        theta: in the wire order, shape (L,), inside the spec's bounds; a read-only copy.
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
        """Theta in natural units, for a kernel whose theta is signal, noise and length-scales.

        Raises:
            EncodingError: the kernel has other hyper-parameters; `natural` has them by name.
        """
        if self.spec.theta_names != theta_names(self.spec.feature_names):
            raise EncodingError(f"{self.spec.kernel} has more than signal, noise and length-scales: take them by name")
        return Hyperparameters.from_theta(self.theta)

    @property
    def natural(self) -> dict[str, float]:
        """The hyper-parameters in natural units, by name, in the wire order."""
        return dict(zip(self.spec.theta_names, np.exp(self.theta).tolist(), strict=True))


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
