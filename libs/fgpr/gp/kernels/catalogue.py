"""Every kernel of the text form: its name, its hyper-parameters with start values and default bounds, how it is made.

This is the one place where a new kernel is entered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fgpr.errors import EncodingError
from fgpr.gp.arrays import Array
from fgpr.gp.kernels.constant import PlacedConstant
from fgpr.gp.kernels.factor import Place
from fgpr.gp.kernels.linear import PlacedLinear
from fgpr.gp.kernels.matern import NU_LIMITS, Matern
from fgpr.gp.kernels.matern12 import Matern12
from fgpr.gp.kernels.matern32 import Matern32
from fgpr.gp.kernels.matern52 import Matern52
from fgpr.gp.kernels.periodic import PlacedPeriodic
from fgpr.gp.kernels.radial import PlaceRadial, Profile
from fgpr.gp.kernels.rational_quadratic import PlacedRationalQuadratic
from fgpr.gp.kernels.rbf import RBF

SIGNAL_KEY = "signal sd"


class ParameterKind(NamedTuple):
    """A kind of hyper-parameter, in natural units.

    Attributes:
        key: its name in the text form and in the names of theta.
        start: where training starts unless the text says otherwise.
        lower: default lower bound.
        upper: default upper bound.
        in_ranges: the three numbers are in units of the feature's range.
    """

    key: str
    start: float
    lower: float
    upper: float
    in_ranges: bool = False


class Ranges(NamedTuple):
    """Where the features of a kernel lie: middles and widths of their ranges, each of shape (d,)."""

    middles: Array
    widths: Array


@dataclass(frozen=True, slots=True)
class KernelKind:
    """What there is to say of all kernels of one name.

    Attributes:
        name: in the text form.
        make: from the fixed numbers and the ranges of the features (None where they are not known) to what places it.
        per_feature: hyper-parameters that it has for each feature.
        shared: hyper-parameters that it has once.
        fixed: numbers that have to be given and are not trained, with their limits.
        on_features: it takes names of features.
    """

    name: str
    make: Callable[[Mapping[str, float], Ranges | None], Place]
    per_feature: tuple[ParameterKind, ...] = ()
    shared: tuple[ParameterKind, ...] = ()
    fixed: Mapping[str, tuple[float, float]] | None = None
    on_features: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of all numbers that the text may give."""
        return (*(kind.key for kind in (*self.per_feature, *self.shared)), *(self.fixed or {}))

    def size(self, features: int) -> int:
        """Hyper-parameters of a kernel on that many features."""
        return features * len(self.per_feature) + len(self.shared)

    def check(self, numbers: Mapping[str, float]) -> None:
        """Nothing, if the fixed numbers are within their limits.

        Raises:
            EncodingError: one is not; names it and the limits.
        """
        for key, (low, high) in (self.fixed or {}).items():
            if not low <= numbers[key] <= high:
                raise EncodingError(f"{key} is {numbers[key]:g}: expected {low:g} to {high:g}")


LENGTHSCALE = ParameterKind("length-scale", 0.25, 1e-3, 1e2, in_ranges=True)
CIRCLE_LENGTHSCALE = ParameterKind("length-scale", 1.0, 1e-2, 1e2)
PERIOD = ParameterKind("period", 0.5, 1e-2, 2.0, in_ranges=True)
ALPHA = ParameterKind("alpha", 1.0, 1e-2, 1e3)


def _radial(profile: Profile) -> Callable[[Mapping[str, float], Ranges | None], Place]:
    return lambda _numbers, _ranges: PlaceRadial(profile)


def _linear(_numbers: Mapping[str, float], ranges: Ranges | None) -> Place:
    middles, widths = (0.0, 1.0) if ranges is None else ranges
    return lambda X, _centre: PlacedLinear(X, middles, widths)


_ALL = (
    KernelKind("rbf", _radial(RBF()), (LENGTHSCALE,)),
    KernelKind("matern-1/2", _radial(Matern12()), (LENGTHSCALE,)),
    KernelKind("matern-3/2", _radial(Matern32()), (LENGTHSCALE,)),
    KernelKind("matern-5/2", _radial(Matern52()), (LENGTHSCALE,)),
    KernelKind(
        "matern",
        lambda numbers, _ranges: PlaceRadial(Matern(numbers["nu"])),
        (LENGTHSCALE,),
        fixed={"nu": NU_LIMITS},
    ),
    KernelKind("rational-quadratic", lambda _n, _r: PlacedRationalQuadratic, (LENGTHSCALE,), (ALPHA,)),
    KernelKind("periodic", lambda _n, _r: PlacedPeriodic, (CIRCLE_LENGTHSCALE, PERIOD)),
    KernelKind("linear", _linear),
    KernelKind("constant", lambda _n, _r: PlacedConstant, on_features=False),
)

KINDS = {kind.name: kind for kind in _ALL}
