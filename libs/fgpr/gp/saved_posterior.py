"""A posterior as a file: versioned JSON with theta, the rows and the scaling of the target; never a pickle.

The rows are in it because without them a posterior is the prior. The file is for the client's own disk: what goes to
the aggregator is theta alone, in the messages of a round. Loading conditions anew, in the same order, so that on the
same machine with the same number of BLAS threads predictions are bit-identical; elsewhere they agree to rounding.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from fgpr import canonical
from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.conditioning import AnyPosterior, condition_by_neighbours
from fgpr.gp.kernels.kernel import Kernel, kernel_named
from fgpr.gp.memory import MEMORY_LIMIT
from fgpr.gp.neighbours import MAX_NEIGHBOURS, NeighbourPosterior
from fgpr.gp.posterior import condition
from fgpr.gp.record import Record
from fgpr.gp.scaling import TargetScaling

FORMAT: Final = "fgpr-posterior"
VERSION: Final = 1

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

    def __post_init__(self) -> None:
        d = self._kernel().features(len(self.theta))
        if not self.target_sd > 0:
            raise EncodingError(f"a saved posterior's target_sd is {self.target_sd}: expected a number above 0")
        if min(self.blocks, default=-1) < 0 or sum(self.blocks) != len(self.targets):
            raise EncodingError(f"a saved posterior has blocks {list(self.blocks)} for {len(self.targets)} targets")
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
        if value.get("version") != VERSION:
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
        X = np.array(self.inputs).reshape(len(self.inputs), kernel.features(theta.size))
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


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())
