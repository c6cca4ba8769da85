"""A posterior as a file: versioned JSON with theta, the rows and the scaling of the target; never a pickle.

The rows are in it because without them a posterior is the prior. The file is for the client's own disk: what goes to
the aggregator is theta alone, in the messages of a round. Loading conditions anew, in the same order, so that on the
same machine with the same number of BLAS threads predictions are bit-identical; elsewhere they agree to rounding.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from fgpr import canonical
from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_by_neighbours
from fgpr.gp.kernels.kernel import MAX_FEATURES, Kernel, kernel_named
from fgpr.gp.memory import MEMORY_LIMIT
from fgpr.gp.neighbours import MAX_NEIGHBOURS, NeighbourPosterior
from fgpr.gp.posterior import condition
from fgpr.gp.record import Record
from fgpr.gp.scaling import TargetScaling

FORMAT: Final = "fgpr-posterior"
VERSION: Final = 1

_TOLD = 8
_WHOLE, _EXPONENT = 2.0**53, 1e21

_UNSCALED = TargetScaling(0.0, 1.0, constant=False)


class Restored(NamedTuple):
    """What a file gives back: the posterior, in scaled units, and the scaling of its target."""

    posterior: AnyPosterior
    scaling: TargetScaling


@dataclass(frozen=True, slots=True)
class SavedAxis(Record):
    """A feature as the kernel was given it.

    Attributes:
        name: of the feature.
        lower: least value that the model is meant for.
        upper: largest value.
    """

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not (self.lower < self.upper and math.isfinite(self.upper - self.lower)):
            raise EncodingError(
                f"a saved posterior's axis {self.name!r} goes from {self.lower} to {self.upper}: expected a range"
            )


@dataclass(frozen=True, slots=True)
class SavedPosterior(Record):
    """Everything that predictions depend on; `encode` and `load` give and take the file.

    Attributes:
        format: "fgpr-posterior".
        version: of this form; another one is refused.
        kernel: as `fgpr.gp.kernels.kernel.kernel_named` takes it.
        theta: in the wire order.
        features: names of the d inputs in order, or none.
        target_mean: of the scaling, in the target's units.
        target_sd: of the scaling, in the target's units.
        target_constant: every target was the same.
        inputs: n rows of d numbers.
        targets: n numbers, scaled.
        noise: variance, one number or one a row.
        blocks: how many rows were conditioned on at a time.
        neighbours: of a posterior by nearest neighbours; None for the exact one.
        jitter_limit: see `fgpr.gp.cholesky`.
        axes: the features of the kernel, or None where it was made without.
        dimensions: d, where neither axes nor the length of theta say it; else left out.
    """

    format: Literal["fgpr-posterior"]
    version: Literal[1]
    kernel: str
    theta: tuple[float, ...]
    features: tuple[str, ...]
    target_mean: float
    target_sd: float
    target_constant: bool
    inputs: tuple[tuple[float, ...], ...]
    targets: tuple[float, ...]
    noise: float | tuple[float, ...]
    blocks: tuple[int, ...]
    neighbours: int | None
    jitter_limit: float
    axes: tuple[SavedAxis, ...] | None = None
    dimensions: Annotated[int | None, Field(exclude_if=lambda value: value is None)] = None

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes or ()]
        if len(set(names)) != len(names):
            raise EncodingError(f"a saved posterior has an axis twice: {names}")
        d = self._features()
        if not self.target_sd > 0:
            raise EncodingError(f"a saved posterior's target_sd is {self.target_sd}: expected a number above 0")
        # Only the last rows of none are none: `append` leaves nothing where there is nothing to append.
        least = 0 if len(self.blocks) == 1 else 1
        if min(self.blocks, default=-1) < least or sum(self.blocks) != len(self.targets):
            told = f"{list(self.blocks[:_TOLD])}{' and so on' if len(self.blocks) > _TOLD else ''}"
            raise EncodingError(f"a saved posterior has blocks {told} for {len(self.targets)} targets")
        if self.neighbours is not None and not 1 <= self.neighbours <= MAX_NEIGHBOURS:
            raise EncodingError(
                f"a saved posterior has {self.neighbours} neighbours: expected 1 to {MAX_NEIGHBOURS}, or null"
            )
        if self.features and len(self.features) != d:
            raise EncodingError(f"a saved posterior names {len(self.features)} features, theta has {d}")
        widths = {len(row) for row in self.inputs}
        if len(self.inputs) != len(self.targets) or not widths <= {d}:
            raise EncodingError(
                f"a saved posterior has {len(self.inputs)} rows of {sorted(widths)} inputs for {len(self.targets)}"
                f" targets and {d} features"
            )
        noise = self.noise if isinstance(self.noise, tuple) else (self.noise,)
        if isinstance(self.noise, tuple) and len(noise) != len(self.targets):
            raise EncodingError(f"a saved posterior has {len(noise)} noises for {len(self.targets)} targets")
        if min(noise, default=0.0) < 0:
            raise EncodingError(f"a saved posterior has the noise {min(noise)}: expected variances of 0 and more")
        if not 0.0 <= self.jitter_limit <= 1.0:
            raise EncodingError(f"a saved posterior's jitter_limit is {self.jitter_limit}: expected 0 to 1")
        self._check_numbers(noise)

    @classmethod
    def of(
        cls,
        posterior: AnyPosterior,
        scaling: TargetScaling = _UNSCALED,
        features: tuple[str, ...] = (),
    ) -> Self:
        """The file of a posterior.

        Args:
            posterior: exact or by nearest neighbours.
            scaling: of its target.
            features: names of its inputs.
        """
        rows, kernel = posterior.observations, posterior.covariance.kernel
        return cls(
            FORMAT,
            VERSION,
            kernel.name,
            _numbers(posterior.covariance.theta),
            features,
            scaling.mean,
            scaling.sd,
            scaling.constant,
            tuple(map(tuple, rows.X.tolist())),
            _numbers(rows.y),
            rows.noise if isinstance(rows.noise, float) else _numbers(rows.noise),
            (rows.count,) if isinstance(posterior, NeighbourPosterior) else posterior.blocks,
            posterior.neighbours if isinstance(posterior, NeighbourPosterior) else None,
            posterior.jitter_limit,
            None
            if kernel.axes is None
            else tuple(SavedAxis(axis.name, axis.lower, axis.upper) for axis in kernel.axes),
            None if kernel.tells_features else posterior.covariance.features,
        )

    @classmethod
    def load(cls, raw: bytes) -> Self:
        """The saved posterior in a file: `decode` with a word on other versions.

        Raises:
            EncodingError: not such a file, or of an unknown version (names both); see `Record.decode`.
        """
        value = canonical.parse(raw)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise EncodingError(f"not a saved posterior: its format is not {FORMAT!r}")
        # Not `!=` alone: true and 1.0 are equal to 1, and no version.
        if type(value.get("version")) is not int or value["version"] != VERSION:
            raise EncodingError(
                f"a saved posterior of version {value.get('version')!r}: this release reads version {VERSION};"
                " condition anew from theta and data, or use the release that wrote it"
            )
        return cls.decode(raw)

    def without_rows(self) -> Self:
        """Theta and scaling alone: what is restored from it is the prior, and says so."""
        noise = self.noise if isinstance(self.noise, float) else float(np.exp(2.0 * self.theta[1]))
        return replace(self, inputs=(), targets=(), noise=noise, blocks=(0,))

    def restore(self, memory_limit: int = MEMORY_LIMIT) -> Restored:
        """Condition again on what was saved.

        Raises:
            DataError: as `fgpr.gp.posterior.condition`.
            NumericalError: as `fgpr.gp.posterior.condition`.
        """
        kernel, theta = self._kernel(), np.array(self.theta)
        X = np.array(self.inputs).reshape(len(self.inputs), self._features())
        y, noise = np.array(self.targets), self.noise
        scaling = TargetScaling(self.target_mean, self.target_sd, self.target_constant)
        if self.neighbours is not None:
            by_neighbours = condition_by_neighbours(
                kernel, theta, X, y, noise, self.jitter_limit, memory_limit, self.neighbours
            )
            return Restored(by_neighbours, scaling)
        ends = np.cumsum(self.blocks).tolist()
        parts = [slice(end - size, end) for end, size in zip(ends, self.blocks, strict=True)]
        first, *others = parts

        def of(part: slice) -> float | tuple[float, ...]:
            return noise[part] if isinstance(noise, tuple) else noise

        posterior = condition(kernel, theta, X[first], y[first], of(first), self.jitter_limit, memory_limit)
        for part in others:
            posterior = posterior.append(X[part], y[part], of(part))
        return Restored(posterior, scaling)

    def _kernel(self) -> Kernel:
        return kernel_named(self.kernel, self.axes)

    def _features(self) -> int:
        """d, checked against the length of theta."""
        kernel = self._kernel()
        if kernel.tells_features:
            if self.dimensions is not None:
                raise EncodingError("a saved posterior has dimensions, and a kernel that says them itself")
            return kernel.features(len(self.theta))
        # Files of releases that had no `dimensions` are of one feature, or their rows or features tell.
        known = len(self.inputs[0]) if self.inputs else len(self.features) or 1
        d = known if self.dimensions is None else self.dimensions
        if not 1 <= d <= MAX_FEATURES:
            raise EncodingError(f"a saved posterior has {d} dimensions: expected 1 to {MAX_FEATURES}")
        if len(self.theta) != kernel.size(d):
            raise EncodingError(f"theta has {len(self.theta)} entries, {kernel.name} has {kernel.size(d)}")
        return d

    def _check_numbers(self, noise: tuple[float, ...]) -> None:
        """Nothing, if the file can be written: canonical JSON has no whole number beyond 2^53 - 1."""
        columns = {
            "theta": self.theta,
            "target_mean and target_sd": (self.target_mean, self.target_sd),
            "inputs": tuple(number for row in self.inputs for number in row),
            "targets": self.targets,
            "noise": noise,
        }
        for name, numbers in columns.items():
            sizes = np.abs(np.array(numbers, dtype=np.float64))
            # From 1e21 on they are written with an exponent.
            beyond = (sizes >= _WHOLE) & (sizes < _EXPONENT) & (sizes == np.floor(sizes))
            if beyond.any():
                raise EncodingError(
                    f"a saved posterior's {name} hold {numbers[int(np.argmax(beyond))]:.17g}, a whole number beyond"
                    " 2^53 - 1, which its JSON cannot write: scale the target (standardise) or the inputs"
                )


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())
