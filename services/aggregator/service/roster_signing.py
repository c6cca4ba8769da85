"""Signing a roster away from the aggregator: each version once, with a nonce that the signer draws.

An operator that could have one version signed twice could pick the nonce, and with it the seats, that suits it.
"""

from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fgpr.errors import LocalProtocolError
from fgpr.message import Signed
from fgpr.secagg.roster import NONCE_BYTES, Roster, RosterDraft


def sign_draft(
    draft: RosterDraft,
    last: Signed[Roster] | None,
    key: Ed25519PrivateKey,
    random_bytes: Callable[[int], bytes],
) -> Signed[Roster]:
    """The signed roster; the last one again where the draft is its own.

    Args:
        draft: what the aggregator exported.
        last: the roster that was signed last; None before the first.
        key: the roster key.
        random_bytes: the system's generator.

    Raises:
        LocalProtocolError: the draft is of another federation, older than what was signed, or of a version that was
            signed with another content; or versions are left out.
        VerificationError: the last roster is not signed by this key, or a client did not sign its declared weight.
    """
    draft.verify_declared()
    signed = 0
    if last is not None:
        last.verify(key.public_key().public_bytes_raw())
        if last.message.federation != draft.federation:
            raise LocalProtocolError(f"this key signed rosters of {last.message.federation}, not of {draft.federation}")
        signed = last.message.version
        if draft.with_nonce(last.message.nonce) == last.message:
            return last
    if draft.version != signed + 1:
        raise LocalProtocolError(
            f"roster {draft.version}: {signed} was signed last, so {signed + 1} comes next and nothing else"
        )
    if last is not None and draft.checkpoint.size <= last.message.checkpoint.size:
        raise LocalProtocolError(
            f"its checkpoint of {draft.checkpoint.size} leaves does not come after the last one's of "
            f"{last.message.checkpoint.size}"
        )
    return Signed[Roster].make(key, draft.with_nonce(random_bytes(NONCE_BYTES)))
