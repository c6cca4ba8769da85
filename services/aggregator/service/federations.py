"""Creating federations, and their rosters."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from aggregator.service import audit
from aggregator.service.admission import authorise
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.storage import clients, federations
from aggregator.storage.engine import Connection
from aggregator.storage.federations import FederationRow
from fgpr import signatures
from fgpr.auditlog.entries import PriorPublished, RosterSigned
from fgpr.errors import UnknownResource
from fgpr.federated import publication
from fgpr.federated.federation import Federation
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import PriorView
from fgpr.secagg.roster import NONCE_BYTES, Roster, RosterEntry


def create(context: Context, settings: Federation, roster_key: Ed25519PrivateKey) -> None:
    """Create a federation and sign its initial prior.

    Raises:
        Conflict: the name is taken.
    """
    record = publication.initial(settings.name, settings.spec())
    prior = Signed[PriorRecord].make(context.keys.service(), record)
    with context.database.write() as connection:
        federations.create(connection, settings, signatures.public_bytes(roster_key), context.clock())
        digest = hashlib.sha256(settings.encode()).digest()
        publish_prior(context, connection, PriorPublished(federation=settings.name, prior=prior, settings=digest))


def publish_prior(context: Context, connection: Connection, leaf: PriorPublished) -> None:
    """Store a prior together with its leaf."""
    index = audit.record(context, connection, [leaf])
    federations.add_prior(connection, leaf.prior, index)


def current_roster(
    context: Context, connection: Connection, row: FederationRow, *, keep: bool
) -> Signed[Roster] | None:
    """The roster that the next round uses: a new version where the membership changed.

    Args:
        context: this process.
        connection: a writing transaction.
        row: the federation.
        keep: keep the present one, because its theta is carried and so must be its seats.

    Returns:
        None where nobody was ever admitted.
    """
    name = row.settings.name
    present = federations.read_roster(connection, name)
    if present is not None and (keep or not row.roster_stale):
        return present
    admitted = clients.read_admitted(connection, name)
    if not admitted:
        return None
    # The nonce comes after the membership is read: nobody can choose members to steer the draws.
    roster = Roster(
        federation=name,
        version=1 if present is None else present.message.version + 1,
        clients=tuple(
            RosterEntry(
                client=client.client,
                identity_key=client.identity_key,
                may_serve=True,
                revoked=client.revoked_at is not None,
            )
            for client in admitted
        ),
        nonce=context.random_bytes(NONCE_BYTES),
        # Read in the transaction that read the flags: no revocation can stand before it that they do not show.
        checkpoint=audit.position(connection),
    )
    signed = Signed[Roster].make(context.keys.roster(name), roster)
    federations.add_roster(connection, signed)
    federations.mark_roster(connection, name, stale=False)
    audit.record(context, connection, [RosterSigned(federation=name, roster=signed)])
    return signed


def is_carried(record: PriorRecord) -> bool:
    """Whether this prior carries an older theta, for which roster and seats must stay."""
    return record.theta_version != record.version


def roster(context: Context, federation: str, version: int) -> Signed[Roster]:
    """A roster version.

    Raises:
        UnknownResource: there is none.
    """
    with context.database.read() as connection:
        found = federations.read_roster(connection, federation, version)
    if found is None:
        raise UnknownResource(f"federation {federation} has no roster version {version}")
    return found


def prior(context: Context, caller: Caller, federation: str, version: int | None) -> PriorView:
    """A prior, by default the newest, with its leaf.

    Raises:
        Unauthenticated, Forbidden: the caller does not belong to the federation.
        UnknownResource: there is none.
    """
    with context.database.read() as connection:
        authorise(connection, caller, federation)
        signed, index = federations.read_prior(connection, federation, version)
        leaf = audit.leaf(connection, index)
    return PriorView(prior=signed, leaf=leaf, index=index)
