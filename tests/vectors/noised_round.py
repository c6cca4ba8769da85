"""One round under differential privacy, for the vectors: each contribution step by step, and what was published."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fgpr import canonical
from fgpr.message import Message
from fgpr.secagg import discrete_gaussian
from fgpr.secagg.contributor import FIELD
from fgpr.secagg.differences import DifferenceCodec, codec_of
from fgpr.secagg.planning import AggregationRules
from fgpr.secagg.privacy import PrivacyRules
from support.federation import Federation

INPUTS = ((0.1, -1.0, 3.1), (0.5, -1.0, 2.0), (-50.0, 0.25, 50.0))
"""What each client has: inside the clip, shrunk to it, and outside the bounds besides."""


class Tape:
    """Random bytes that are remembered."""

    def __init__(self, draw: Callable[[int], bytes]) -> None:
        self._draw = draw
        self.drawn: list[bytes] = []

    def __call__(self, count: int) -> bytes:
        """Draw and remember."""
        self.drawn.append(self._draw(count))
        return self.drawn[-1]

    def again(self) -> Callable[[int], bytes]:
        """What was drawn, once more in the same order."""
        left = iter(self.drawn)
        return lambda _: next(left)


def play(note: Callable[[Federation], None]) -> tuple[Federation, list[Message], list[dict[str, Any]]]:
    """Play the round.

    Args:
        note: is shown the federation while its clients hold the keys of the plan.

    Returns:
        The federation; its plan, contributions and published prior; a derivation for each contribution.
    """
    rules = AggregationRules(weighting="uniform", privacy=PrivacyRules(clip=0.5, noise=2.0))
    made = Federation(3, rules, seed=2033)
    signed = made.plan()
    codec = codec_of(signed.message)
    assert isinstance(codec, DifferenceCodec)
    note(made)
    draw = made.random_bytes
    lines = []
    for name, values in zip(made.names, INPUTS, strict=True):
        made.random_bytes = tape = Tape(draw)
        made.contribute(name, np.array(values))
        lines.append(_derived(codec, name, values, tape, made.now.contributions[name].masked))
    made.random_bytes = draw
    sent = tuple(made.now.contributions.values())
    made.close()
    for name in made.names:
        made.open(name)
    return made, [signed, signed.message, *sent, made.finish()], lines


def _derived(codec: DifferenceCodec, name: str, values: tuple[float, ...], tape: Tape, masked: bytes) -> dict[str, Any]:
    quanta, saturated, shrunk = codec.quanta(values)
    noise = discrete_gaussian.sample(codec.terms.share, len(quanta), tape.again())
    encoded = FIELD.array([*((q + n) % FIELD.modulus for q, n in zip(quanta, noise, strict=True)), 1])
    return {
        "client": name,
        "values": list(values),
        "quanta": quanta,
        "saturated": list(saturated),
        "shrunk": shrunk,
        "noise": noise,
        "encoded": FIELD.to_text(encoded),
        # First the draws of the noise, then the words of the mask, then the coefficients.
        "drawn": [canonical.to_text(drawn) for drawn in tape.drawn],
        "mask": FIELD.to_text(FIELD.sub(FIELD.from_bytes(masked, encoded.size), encoded)),
        "masked": canonical.to_text(masked),
    }
