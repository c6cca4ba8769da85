"""Rosters: signed here when a round opens, or elsewhere and brought in by the operator.

Where the roster key is held elsewhere, a changed membership waits for its signature. Until then the last roster serves
on: whoever enrolled since is not in it yet; whoever was revoked since is not counted, and its seat stays empty, which
lowers neither c nor t.
"""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import audit
from aggregator.service.context import Context
from aggregator.storage import clients, federations, log, rounds
from aggregator.storage.engine import Connection
from aggregator.storage.federations import FederationRow
from fgpr import merkle, signatures
from fgpr.auditlog.entries import RosterSigned
from fgpr.auditlog.rostered import admitted_by, check_members
from fgpr.errors import (
    CommitteeError,
    Conflict,
    CryptographicError,
    UnknownResource,
    VerificationError,
)
from fgpr.message import Signed
from fgpr.secagg.declared_weight import DeclaredWeight
from fgpr.secagg.messages import LogPosition
from fgpr.secagg.roster import NONCE_BYTES, Roster, RosterDraft, RosterEntry


def roster(connection: Connection, federation: str, version: int | None = None) -> Signed[Roster]:
    """A roster version, by default the newest.

    Raises:
        UnknownResource: there is none.
    """
    found = federations.read_roster(connection, federation, version)
    if found is None:
        raise UnknownResource(f"federation {federation} has no roster {'yet' if version is None else version}")
    return found


def serving(connection: Connection, name: str, *, keep: bool) -> Signed[Roster] | None:
    """The roster that serves now; None before the first.

    Args:
        connection: a transaction.
        name: the federation.
        keep: the one of the last round, whatever was brought in since: its theta is carried, so its seats must stay.
    """
    last = rounds.read_last(connection, name) if keep else None
    return federations.read_roster(connection, name, None if last is None else last.plan.message.roster_version)


def unheard(connection: Connection, roster: Roster) -> set[str]:
    """Clients of a roster that it cannot speak of any more: revoked since, or with another key since.

    What they sent before stays; of what comes later nothing would hold against the key in the roster.
    """
    present = {
        row.client: row.identity_key
        for row in clients.read_admitted(connection, roster.federation)
        if row.revoked_at is None
    }
    return {entry.client for entry in roster.clients if present.get(entry.client) != entry.identity_key}


def current_roster(context: Context, connection: Connection, row: FederationRow, *, keep: bool) -> Signed[Roster]:
    """The roster that the next round uses: a new version where the membership changed and the key is here.

    Args:
        context: this process.
        connection: a writing transaction.
        row: the federation.
        keep: keep the present one, because its theta is carried and so must be its seats.

    Raises:
        CommitteeError: nobody was ever admitted, or nobody signed a roster yet.
        CryptographicError: the roster key cannot be used on this machine, or is not that of the federation.
    """
    name = row.settings.name
    present = serving(connection, name, keep=keep)
    if present is not None and (keep or row.roster_offline or not row.roster_stale):
        return present
    if row.roster_offline:
        raise CommitteeError(
            f"federation {name} has no signed roster yet: `fgpr-aggregator roster export`, have it signed, import it"
        )
    found = draft(connection, name)
    # The nonce comes after the membership is read: nobody can choose members to steer the draws.
    signed = Signed[Roster].make(_roster_key(context, row), found.with_nonce(context.random_bytes(NONCE_BYTES)))
    _put_in_force(context, connection, signed, stale=False)
    return signed


def _roster_key(context: Context, row: FederationRow) -> Ed25519PrivateKey:
    name = row.settings.name
    key = context.keys.roster(name)
    if signatures.public_bytes(key) != row.roster_key:
        raise CryptographicError(
            f"roster-{name}.pem here is not the key with which federation {name} was created, and no client would "
            "believe it: copy that one from the replica or machine on which it was made"
        )
    return key


def draft(connection: Connection, name: str) -> RosterDraft:
    """The present membership as the next roster version, unsigned.

    Raises:
        CommitteeError: nobody was ever admitted.
    """
    newest, admitted = federations.read_roster(connection, name), clients.read_admitted(connection, name)
    if not admitted:
        raise CommitteeError(f"federation {name} has no clients; invite some")
    return RosterDraft(
        federation=name,
        version=1 if newest is None else newest.message.version + 1,
        clients=tuple(
            RosterEntry(
                client=client.client,
                identity_key=client.identity_key,
                may_serve=True,
                revoked=client.revoked_at is not None,
                declared=None if client.declared is None else Signed[DeclaredWeight].decode(client.declared),
            )
            for client in admitted
        ),
        # Read in the transaction that read the flags: no revocation can stand before it that they do not show.
        checkpoint=audit.position(connection),
    )


def export(context: Context, name: str) -> RosterDraft:
    """The next roster, for whoever holds its key.

    Raises:
        UnknownResource: there is no such federation.
        CommitteeError: nobody was ever admitted.
    """
    with context.database.read() as connection:
        federations.read(connection, name)
        return draft(connection, name)


def bring_in(context: Context, signed: Signed[Roster]) -> bool:
    """Put a roster in force that was signed elsewhere; whether the membership has changed again since it was exported.

    The same roster again changes nothing.

    Raises:
        UnknownResource: there is no such federation.
        Conflict: it is not the version that comes next.
        VerificationError: the roster key did not sign it, or it contradicts this log or the enrolments.
    """
    message = signed.message
    name = message.federation
    with context.database.write() as connection:
        row = federations.read(connection, name, lock=True)
        signed.verify(row.roster_key)
        newest = federations.read_roster(connection, name)
        if newest == signed:
            return row.roster_stale
        following = 1 if newest is None else newest.message.version + 1
        if message.version != following:
            raise Conflict(f"roster {message.version} of {name}: version {following} comes next; export it again")
        _check_position(connection, message.checkpoint, 0 if newest is None else newest.message.checkpoint.size)
        _check_members(connection, message)
        stale = draft(connection, name).clients != message.clients
        _put_in_force(context, connection, signed, stale=stale)
    return stale


def _put_in_force(context: Context, connection: Connection, signed: Signed[Roster], *, stale: bool) -> None:
    name = signed.message.federation
    federations.add_roster(connection, signed)
    federations.mark_roster(connection, name, stale=stale)
    audit.record(context, connection, [RosterSigned(federation=name, roster=signed)])


def _check_position(connection: Connection, named: LogPosition, before: int) -> None:
    size = log.read_head(connection)[0].size
    if named.size < before:
        raise VerificationError(f"its checkpoint of {named.size} leaves is older than that of the roster before")
    if named.size > size or merkle.frontier(named.size, log.node_reader(connection)).root() != named.root:
        raise VerificationError(f"its checkpoint of {named.size} leaves is not one of this log of {size}")


def _check_members(connection: Connection, message: Roster) -> None:
    known = {client.client: client for client in clients.read_admitted(connection, message.federation)}
    # As of its checkpoint: a key that was replaced meanwhile is no fault of the roster, which its signer signs only
    # once; that client sits out until the next version.
    leaves = log.read_leaves(connection, 0, message.checkpoint.size)
    check_members(message, admitted_by(leaves, message.federation))
    for entry in message.clients:
        declared, weight = known[entry.client].declared, None if entry.declared is None else entry.declared.message
        if weight != (None if declared is None else Signed[DeclaredWeight].decode(declared).message):
            raise VerificationError(f"{entry.client} did not declare the weight that the roster names when it enrolled")
    message.verify_declared()
