"""A client's contribution: encode, mask, share the mask among the seats, sign.

The body that comes out is written to disk before it is first sent, and only those bytes are ever sent again; the mask
does not outlive this call (docs/protocol.md, One round, step 2).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr import canonical, merkle, signatures
from fgpr.errors import CryptographicError, LocalProtocolError, PlanRefused
from fgpr.message import Signed
from fgpr.secagg import envelope, shamir
from fgpr.secagg.checked_plan import CheckedPlan
from fgpr.secagg.differences import DifferenceCodec
from fgpr.secagg.encoding import Encoded
from fgpr.secagg.field import MERSENNE_61, Field
from fgpr.secagg.messages import Contribution, Header
from fgpr.secagg.weighting import weight_of

MASKED_LABEL = "fgpr-v1/masked"
FIELD = Field(MERSENNE_61)


@dataclass(frozen=True)
class Contributed:
    """A contribution, and what its owner is told about the encoding.

    Attributes:
        contribution: the body to write and send.
        weight: the weight that went in; secret.
        weight_capped: whether the weight was above the codec's cap.
        saturated: names of the numbers that were clipped to the codec's bounds.
        shrunk: whether the difference from the prior was shrunk to the clip; only under differential privacy.
    """

    contribution: Contribution
    weight: int = field(repr=False)
    weight_capped: bool
    saturated: tuple[str, ...]
    shrunk: bool = False


def contribute(
    checked: CheckedPlan,
    client: str,
    identity_key: Ed25519PrivateKey,
    values: np.ndarray,
    observations: int,
    random_bytes: Callable[[int], bytes],
) -> Contributed:
    """Make the one contribution of `client` to a round.

    Args:
        checked: the plan.
        client: the contributor, one of the invited.
        identity_key: its identity key.
        values: its update, shape [L], finite.
        observations: its number of observations, at least 1; what they weigh is the plan's rule
            (`fgpr.secagg.weighting`).
        random_bytes: the system's generator of secret bytes.

    Raises:
        LocalProtocolError: the client is not invited.
        PlanRefused: an opening key of the plan takes no box.
        EncodingError: a value is not finite, or the weight is not a positive whole number.
    """
    plan = checked.plan
    if client not in plan.invited:
        raise LocalProtocolError(f"{client} is not invited to round {plan.round}")
    encoded = _encode(checked, values, observations, random_bytes)
    mask = FIELD.uniform((encoded.vector.size,), random_bytes)
    masked = FIELD.to_bytes(FIELD.add(encoded.vector, mask))
    shares = shamir.share(FIELD, mask, plan.threshold, len(plan.seats), random_bytes)
    boxes = _seal(checked, client, signatures.public_bytes(identity_key), shares)
    # Best effort: numpy may have copied it, and the process may have been paged out.
    mask[:] = 0
    shares[:] = 0
    header = Header(
        federation=plan.federation,
        round=plan.round,
        plan=checked.digest,
        client=client,
        masked=masked_digest(masked),
        boxes=boxes_root(boxes),
    )
    contribution = Contribution(header=Signed[Header].make(identity_key, header), masked=masked, boxes=boxes)
    return Contributed(contribution, encoded.weight, encoded.weight_capped, encoded.saturated, encoded.shrunk)


def masked_digest(masked: bytes) -> bytes:
    """H(y) as a header names it, 32 bytes."""
    return canonical.digest(MASKED_LABEL, canonical.to_text(masked))


def boxes_root(boxes: tuple[bytes, ...]) -> bytes:
    """Merkle root over the boxes in seat order, as a header names it (RFC 6962), 32 bytes."""
    return merkle.root(merkle.leaf_hashes(boxes))


def _encode(
    checked: CheckedPlan, values: np.ndarray, observations: int, random_bytes: Callable[[int], bytes]
) -> Encoded:
    plan = checked.plan
    weight = weight_of(plan.weighting, plan.weight_unit, observations)
    if plan.differential_privacy is None:
        return checked.codec.encode(values, weight)
    return DifferenceCodec(checked.codec, plan.differential_privacy).encode(values, random_bytes)


def _seal(checked: CheckedPlan, client: str, sender_key: bytes, shares: np.ndarray) -> tuple[bytes, ...]:
    # All words are checked at once: 60 rows of 33 are little work and many calls.
    packed, row_bytes = FIELD.to_bytes(shares.reshape(-1)), shares.shape[1] * shares.itemsize
    boxes = []
    for number, seat in enumerate(checked.plan.seats, start=1):
        if seat.key is None:
            boxes.append(b"")
            continue
        info = envelope.box_info(checked.digest, client, sender_key, number)
        share = packed[(number - 1) * row_bytes : number * row_bytes]
        try:
            boxes.append(envelope.seal(share, seat.key.message.key, info, checked.plan.suite))
        except CryptographicError as error:
            raise PlanRefused(12, f"{seat.client}'s opening key: {error}") from error
    return tuple(boxes)
