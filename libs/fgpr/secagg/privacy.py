"""Differential privacy as a federation asks for it and as a plan states it (docs/privacy.md).

Each client sends its difference from the prior in whole *quanta*, inside a ball of radius `clip`, plus its share of
discrete Gaussian noise. The shares of min_cohort - K honest clients, the *carriers*, together have the standard
deviation `sigma`: whoever else adds noise makes the sum only more private.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fgpr.errors import CapacityError, EncodingError
from fgpr.message import Count, Message

Mechanism = Literal["distributed-discrete-gaussian"]

Delta = Annotated[float, Field(gt=0, lt=1)]

LEVELS = 2**20
"""Quanta in a clip unless the rules say otherwise: rounding is then far below any noise."""

TAIL_BITS = 40
"""No number of a sum leaves its room in the field with a probability above 2^-40 a round, all numbers together."""

_LN_2 = Fraction(6_931_471_805_599_453_095, 10**19)
"""Just above ln 2, so that tails are never thought too short."""


class PrivacyRules(Message):
    """What a federation fixes when it is created.

    Attributes:
        clip: longest difference of one client, an L2 norm in theta's units (log space).
        noise: noise multiplier: standard deviation of the whole noise over the clip.
        delta: at which the federation tells its epsilon.
        levels: quanta in a clip.
    """

    clip: Annotated[float, Field(gt=0, le=1e6)]
    noise: Annotated[float, Field(gt=0, le=1e6)]
    delta: Delta = 1e-5
    levels: Annotated[Count, Field(ge=1, le=2**30)] = LEVELS

    def terms(self, origin: Sequence[float], carriers: int) -> "PrivacyTerms":
        """The terms of one plan.

        Args:
            origin: the prior's numbers, shape [L].
            carriers: min_cohort - K of the plan.

        Raises:
            EncodingError: so little noise that a client's share is below half a quantum.
        """
        # Rounded up: never less noise than the rules say.
        above, below = (Fraction(self.noise) * self.levels).as_integer_ratio()
        try:
            return PrivacyTerms(
                mechanism="distributed-discrete-gaussian",
                origin=tuple(float(number) for number in origin),
                quantum=self.clip / self.levels,
                clip=self.levels,
                sigma=-(-above // below),
                carriers=carriers,
                delta=self.delta,
            )
        except ValueError as error:
            raise EncodingError(
                f"noise {self.noise} with {self.levels} levels, shared among {carriers} clients, makes no plan: each "
                "share needs half a quantum at least. Raise noise or levels"
            ) from error


class PrivacyTerms(Message):
    """What the clients of one round agree on; part of the signed plan.

    Attributes:
        mechanism: its name.
        origin: the prior's numbers, from which differences are counted, shape [L].
        quantum: one step of an encoded difference, in theta's units.
        clip: C, radius of the L2 ball of one client's encoded difference, in quanta.
        sigma: standard deviation of the whole noise, in quanta.
        carriers: honest clients that carry the whole noise: min_cohort - K.
        delta: at which the federation tells its epsilon.
    """

    mechanism: Mechanism
    origin: Annotated[tuple[float, ...], Field(min_length=1)]
    quantum: Annotated[float, Field(gt=0)]
    clip: Annotated[Count, Field(ge=1)]
    sigma: Annotated[Count, Field(ge=1)]
    carriers: Annotated[Count, Field(ge=1)]
    delta: Delta

    @model_validator(mode="after")
    def _accountable(self) -> Self:
        # The theorem on sums of discrete Gaussians asks for a standard deviation of 1/2 at least.
        if 4 * self.sigma**2 < self.carriers:
            raise ValueError(f"sigma {self.sigma} among {self.carriers} carriers: a share is below half a quantum")
        return self

    @property
    def share(self) -> Fraction:
        """Variance of the noise that each client adds to each number, in quanta^2: sigma^2 / carriers."""
        return Fraction(self.sigma**2, self.carriers)

    @property
    def multiplier(self) -> float:
        """Standard deviation of the whole noise over the clip."""
        return self.sigma / self.clip

    def same_mechanism(self, other: "PrivacyTerms") -> bool:
        """Whether both come from the same rules: what may differ is the prior and who carries the noise."""
        return self.model_copy(update={"origin": other.origin, "carriers": other.carriers}) == other


def noise_tail(clients: int, terms: PrivacyTerms) -> int:
    """What the noise of so many clients, in any number of a sum, exceeds with a probability of at most 2^-40.

    A sum of n discrete Gaussians of parameter s^2 is sub-Gaussian with variance n s^2 (Canonne, Kamath and Steinke
    2020), so that 2 L exp(-T^2 / (2 n s^2)) bounds the probability for L numbers and both signs.

    Returns:
        T in quanta, rounded up.
    """
    numbers = len(terms.origin)
    # ln(2^40 2 L), with L rounded up to a power of two.
    bits = TAIL_BITS + 1 + (numbers - 1).bit_length()
    square = 2 * clients * terms.share * bits * _LN_2
    return isqrt(-(-square.numerator // square.denominator) - 1) + 1


def check_signed_capacity(clients: int, terms: PrivacyTerms, modulus: int) -> None:
    """Check that sums of signed numbers, noise and all, are told apart modulo the modulus.

    Raises:
        CapacityError: clients * clip + tail is above (modulus - 1) / 2; carries the numbers.
        EncodingError: fewer than one client.
    """
    if clients < 1:
        raise EncodingError(f"{clients} clients: at least one is needed")
    tail = noise_tail(clients, terms)
    worst = clients * terms.clip + tail
    if worst > (modulus - 1) // 2:
        raise CapacityError(
            f"{clients} clients * clip {terms.clip} + noise of up to {tail} = {worst} quanta is above half the modulus "
            f"{modulus}: invite fewer, or lower levels or noise"
        )
