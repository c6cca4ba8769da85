"""The average of a round under differential privacy, for `fgpr.federated.simulation`.

Encoder, noise and decoder are those of the protocol (`fgpr.secagg.differences`). Only the masks are left out: they
cancel exactly, so that an experiment of many rounds need not pay for them.
"""

from collections.abc import Sequence

import numpy as np

from fgpr.errors import DataError
from fgpr.federated.accounting import rho
from fgpr.federated.fedavg import Contribution
from fgpr.gp.arrays import Array
from fgpr.secagg import committee
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.differences import DifferenceCodec
from fgpr.secagg.discrete_gaussian import RandomBytes
from fgpr.secagg.encoding import Codec
from fgpr.secagg.privacy import PrivacyRules


class NoisedAverage:
    """A uniform average for `simulate`, round after round from where the last one ended.

    Args:
        codec: names and bounds of theta.
        rules: clip and noise.
        origin: theta of the first round, shape (L,).
        min_cohort: fewest contributions; with `gamma` it says how many clients carry the whole noise.
        gamma: assumed share of corrupt clients.
        random_bytes: source of the noise; n -> n bytes.

    Attributes:
        rho: what the rounds so far cost a client, zero-concentrated.
        shrunk: how many differences were shrunk to the clip.
        clamped: how many averages were set to a bound.
    """

    def __init__(
        self,
        codec: Codec,
        rules: PrivacyRules,
        origin: Array,
        min_cohort: int,
        gamma: float,
        random_bytes: RandomBytes,
    ) -> None:
        self._codec, self._rules, self._origin = codec, rules, origin
        self._min_cohort, self._gamma, self._random_bytes = min_cohort, gamma, random_bytes
        self.rho = 0.0
        self.shrunk = 0
        self.clamped = 0

    def __call__(self, contributions: Sequence[Contribution]) -> Array:
        """The next theta, shape (L,).

        Raises:
            DataError: fewer contributions than `min_cohort`, or fewer than one honest client among so many.
            CommitteeError: no contributions.
            CapacityError: more clients than the field takes.
            EncodingError: a theta that is not finite or has another length.
        """
        count = len(contributions)
        carriers = self._min_cohort - committee.max_corrupt(count, count, self._gamma)
        if not 1 <= carriers <= self._min_cohort <= count:
            raise DataError(f"min_cohort {self._min_cohort} of {count} contributions leaves {carriers} honest clients")
        coding = DifferenceCodec(self._codec, self._rules.terms(self._origin.tolist(), carriers))
        coding.check_capacity(count)
        total = np.zeros(coding.length, dtype=np.uint64)
        for contribution in contributions:
            encoded = coding.encode(contribution.theta, self._random_bytes)
            self.shrunk += encoded.shrunk
            total = FIELD.add(total, encoded.vector)
        decoded = coding.decode(total, count)
        self.rho += rho(coding.terms)
        self.clamped += len(decoded.clamped)
        self._origin = decoded.average
        return decoded.average
