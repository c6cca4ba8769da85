"""Whom a roster has to name: everybody that the log admits at the roster's checkpoint, as it knows them there.

Whoever holds the roster key could otherwise leave honest clients out, call one revoked that is not, or bring a key back
that its owner replaced because it was stolen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fgpr import canonical
from fgpr.auditlog import entries
from fgpr.auditlog.entries import Convicted, Enrolled, KeyReplaced, Revoked
from fgpr.errors import VerificationError
from fgpr.secagg.roster import RosterDraft

_KINDS = ("enrolled", "rotated", "revoked", "convicted")


@dataclass(frozen=True)
class Admitted:
    """A client as the log knows it at one size.

    Attributes:
        identity_key: the one it has there, 32 bytes.
        revoked: whether it left, was revoked or convicted.
    """

    identity_key: bytes
    revoked: bool


def admitted_by(leaves: Iterable[bytes], federation: str) -> dict[str, Admitted]:
    """The clients of a federation after these leaves, the first ones of a log that is known to hold.

    Raises:
        EncodingError: a leaf about members does not have its form.
    """
    found: dict[str, Admitted] = {}
    for raw in leaves:
        fields = canonical.parse(raw)
        if not isinstance(fields, dict) or fields.get("kind") not in _KINDS or fields["federation"] != federation:
            continue
        match entries.decode(raw):
            case Enrolled(client=client, role="client", identity_key=key):
                found[client] = Admitted(key, revoked=False)
            case KeyReplaced(client=client, rotation=rotation) if client in found:
                found[client] = replace(found[client], identity_key=rotation.change.new_key)
            case Revoked(client=client) | Convicted(client=client) if client in found:
                found[client] = replace(found[client], revoked=True)
    return found


def check_members(roster: RosterDraft, admitted: Mapping[str, Admitted]) -> None:
    """Check that a roster names exactly these clients, as they are: none of them is kept from serving.

    Args:
        roster: the roster.
        admitted: clients at its checkpoint, by id.

    Raises:
        VerificationError: it does not; says of whom.
    """
    told = f"roster {roster.version}"
    named = {entry.client for entry in roster.clients}
    missing = sorted(admitted.keys() - named)
    if missing:
        raise VerificationError(f"{told} leaves out {', '.join(missing[:3])}, enrolled before its checkpoint")
    for entry in roster.clients:
        known = admitted.get(entry.client)
        if known is None:
            raise VerificationError(f"{told} names {entry.client}, who is not enrolled as a client at its checkpoint")
        if entry.identity_key != known.identity_key:
            raise VerificationError(f"{told} names a key that {entry.client} does not have at its checkpoint")
        if entry.revoked != known.revoked:
            hides = f"hides that {entry.client} is revoked"
            raise VerificationError(f"{told} {hides if known.revoked else f'calls {entry.client} revoked, who is not'}")
        if not entry.may_serve:
            raise VerificationError(f"{told} keeps {entry.client} from serving, and every client may serve")
