"""Bounded floats and a weight as field elements, and their sum as a weighted average.

A number x inside its bounds becomes u = round((x - lower) / (upper - lower) * (2^f - 1)); a client of weight w sends
[w u_1, ..., w u_L, w]. The sum over a cohort gives sum w u / sum w, which differs from the exact weighted average of
the clipped numbers by at most (upper - lower) / (2^f - 1) / 2. Both directions are computed in rational numbers, so
that every machine gets the same bits. Range and cap bind honest clients only.
"""

import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fgpr.errors import CapacityError, EncodingError, LocalProtocolError, SumRefused
from fgpr.secagg.field import MERSENNE_61, Elements

MAX_BITS = 60
"""Most bits of one client's largest element, fraction and weight together: it must stay below 2^61 - 1."""


def check_capacity(clients: int, largest_value: int, largest_weight: int, modulus: int) -> None:
    """Check that the largest possible sum of a round stays below the modulus.

    Raises:
        CapacityError: clients * largest_value * largest_weight >= modulus; carries the numbers.
        EncodingError: one of them is not at least 1.
    """
    if min(clients, largest_value, largest_weight, modulus) < 1:
        raise EncodingError(
            f"{clients} clients, largest value {largest_value}, largest weight {largest_weight}, modulus {modulus}: "
            "each must be at least 1"
        )
    worst = clients * largest_value * largest_weight
    if worst >= modulus:
        fitting = (modulus - 1) // (largest_value * largest_weight)
        raise CapacityError(
            f"{clients} clients * largest value {largest_value} * largest weight {largest_weight} = {worst} reaches "
            f"the modulus {modulus}; at most {fitting} clients fit: invite fewer, or lower fraction or weight bits"
        )


@dataclass(frozen=True)
class Encoded:
    """What a client masks, and what was done to its numbers on the way.

    Attributes:
        vector: [L + 1], w u_1..w u_L and w; secret.
        weight: the weight that was used; secret.
        saturated: names of the numbers that were outside their bounds and were clipped.
        weight_capped: whether the weight was above the cap.
        shrunk: whether the difference was longer than the clip; only under differential privacy.
    """

    vector: Elements = field(repr=False, compare=False)
    weight: int = field(repr=False)
    saturated: tuple[str, ...]
    weight_capped: bool
    shrunk: bool = False


@dataclass(frozen=True)
class Decoded:
    """The weighted average of a cohort.

    Attributes:
        average: [L], float64, each inside its bounds.
        total_weight: sum of the weights.
        clamped: names of averages that noise carried out of their bounds; they are at the bound.
    """

    average: NDArray[np.float64] = field(compare=False)
    total_weight: int
    clamped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Codec:
    """How the numbers of a round are encoded; part of the signed plan.

    Attributes:
        names: of the L numbers, for messages to people.
        lower: bound of each number, included.
        upper: bound of each number, included.
        fraction_bits: f; a number has 2^f levels.
        weight_bits: a weight is below 2^weight_bits.
        weight_cap: larger weights count as this one.

    Raises:
        EncodingError: at construction, for values that cannot work together.
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    fraction_bits: int = 30
    weight_bits: int = 16
    weight_cap: int = 65_535

    def __post_init__(self) -> None:
        """Check the values together."""
        if not self.names or not len(self.names) == len(self.lower) == len(self.upper):
            raise EncodingError(
                f"{len(self.names)} names, {len(self.lower)} lower and {len(self.upper)} upper bounds: as many of "
                "each are needed, at least one"
            )
        if not all(self.names) or len(set(self.names)) < len(self.names):
            raise EncodingError("names of encoded numbers must be there and differ")
        for name, lower, upper in zip(self.names, self.lower, self.upper, strict=True):
            if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
                raise EncodingError(f"{name}: bounds {lower} and {upper} are not finite with the lower one below")
        if self.fraction_bits < 1 or self.weight_bits < 1 or self.fraction_bits + self.weight_bits > MAX_BITS:
            raise EncodingError(
                f"{self.fraction_bits} fraction bits and {self.weight_bits} weight bits: each at least 1, together at "
                f"most {MAX_BITS}"
            )
        if not 1 <= self.weight_cap < 2**self.weight_bits:
            raise EncodingError(f"weight cap {self.weight_cap} is not in 1..{2**self.weight_bits - 1}")

    @property
    def length(self) -> int:
        """Field elements of a client: L + 1."""
        return len(self.names) + 1

    @property
    def largest_value(self) -> int:
        """2^f - 1, what the upper bound becomes."""
        return int(2**self.fraction_bits - 1)

    def check_capacity(self, clients: int, modulus: int = MERSENNE_61) -> None:
        """Check that the sums of so many clients fit the field; raises as the function of this name."""
        check_capacity(clients, self.largest_value, 2**self.weight_bits - 1, modulus)

    def encode(self, x: ArrayLike, weight: SupportsIndex) -> Encoded:
        """A client's numbers and weight as field elements.

        Args:
            x: [L], in the order of `names`.
            weight: at least 1.

        Raises:
            EncodingError: another shape, a number that is not finite, or a weight that is not an integer from 1.
        """
        values = np.asarray(x, dtype=np.float64)
        if values.shape != (len(self.names),):
            raise EncodingError(f"{len(self.names)} numbers are encoded, got an array of shape {values.shape}")
        w = min(_whole(weight), self.weight_cap)
        encoded: list[int] = []
        saturated: list[str] = []
        for name, lower, upper, value in zip(self.names, self.lower, self.upper, values.tolist(), strict=True):
            if not math.isfinite(value):
                raise EncodingError(f"{name} is {value}; only finite numbers are encoded, nothing was sent")
            if not lower <= value <= upper:
                saturated.append(name)
            encoded.append(w * _level(min(max(value, lower), upper), lower, upper, self.largest_value))
        return Encoded(
            vector=np.array([*encoded, w], dtype=np.uint64),
            weight=w,
            saturated=tuple(saturated),
            weight_capped=w < _whole(weight),
        )

    def decode(self, total: Elements, cohort_size: int) -> Decoded:
        """The weighted average in a sum of encoded vectors.

        Args:
            total: [L + 1], the sum over the cohort.
            cohort_size: |S|, clients in it.

        Raises:
            SumRefused: total weight outside |S|..|S| * cap, or an average outside its bounds: some client's vector is
                not what it should be, or the sum was opened wrongly.
            EncodingError: another shape.
            LocalProtocolError: an empty cohort.
        """
        if total.shape != (self.length,):
            raise EncodingError(f"a sum of {self.length} elements is needed, got shape {total.shape}")
        if cohort_size < 1:
            raise LocalProtocolError(f"a cohort of {cohort_size} clients has no average")
        *sums, weight = (int(value) for value in total)
        if not cohort_size <= weight <= cohort_size * self.weight_cap:
            raise SumRefused(
                f"total weight {weight} of {cohort_size} clients is outside "
                f"{cohort_size}..{cohort_size * self.weight_cap}"
            )
        average: list[float] = []
        for name, lower, upper, value in zip(self.names, self.lower, self.upper, sums, strict=True):
            share = Fraction(value, weight * self.largest_value)
            if share > 1:
                raise SumRefused(f"the average of {name} is outside its bounds {lower}..{upper}")
            average.append(float(Fraction(lower) + _width(lower, upper) * share))
        return Decoded(average=np.array(average), total_weight=weight)

    def to_json(self) -> dict[str, Any]:
        """The JSON object that `from_json` reads."""
        return {
            "names": list(self.names),
            "lower": list(self.lower),
            "upper": list(self.upper),
            "fraction_bits": self.fraction_bits,
            "weight_bits": self.weight_bits,
            "weight_cap": self.weight_cap,
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The inverse of `to_json`, for a parsed JSON value.

        Raises:
            EncodingError: other fields or types than `to_json` writes, or values that cannot work together.
        """
        fields = {"names", "lower", "upper", "fraction_bits", "weight_bits", "weight_cap"}
        if not isinstance(value, dict) or value.keys() != fields:
            raise EncodingError(f"a codec is a JSON object with exactly the fields {sorted(fields)}")
        for key in ("fraction_bits", "weight_bits", "weight_cap"):
            if type(value[key]) is not int:
                raise EncodingError(f"{key} of a codec is {value[key]!r}, not an integer")
        if not isinstance(value["names"], list) or not all(isinstance(name, str) for name in value["names"]):
            raise EncodingError("names of a codec are not an array of strings")
        return cls(
            names=tuple(value["names"]),
            lower=_floats("lower", value["lower"]),
            upper=_floats("upper", value["upper"]),
            fraction_bits=value["fraction_bits"],
            weight_bits=value["weight_bits"],
            weight_cap=value["weight_cap"],
        )


def _width(lower: float, upper: float) -> Fraction:
    return Fraction(upper) - Fraction(lower)


def _level(value: float, lower: float, upper: float, largest: int) -> int:
    """round((value - lower) / (upper - lower) * largest), half to even, without a rounding before the last."""
    (a, b), (c, d), (e, f) = value.as_integer_ratio(), lower.as_integer_ratio(), upper.as_integer_ratio()
    # value - lower = (a d - c b) / (b d) and upper - lower = (e d - c f) / (f d)
    above, below = (a * d - c * b) * f * largest, (e * d - c * f) * b
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2 == 1))


def _whole(weight: SupportsIndex) -> int:
    try:
        whole = operator.index(weight)
    except TypeError:
        whole = 0
    if whole < 1 or isinstance(weight, bool):
        raise EncodingError(f"weight {weight!r} is not an integer from 1; a client without observations sends nothing")
    return whole


def _floats(key: str, values: Any) -> tuple[float, ...]:
    # Canonical JSON writes whole floats as integers.
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise EncodingError(f"{key} of a codec is not an array of numbers")
    try:
        return tuple(float(value) for value in values)
    except OverflowError as error:
        raise EncodingError(f"{key} of a codec has a number beyond the range of floats") from error
