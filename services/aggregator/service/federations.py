"""Creating federations, and their priors."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from aggregator.service import audit, witnessing
from aggregator.service.admission import authorise, holders_of
from aggregator.service.caller import Caller
from aggregator.service.context import Context
from aggregator.service.together import judged
from aggregator.service.witnessing import Witnessed
from aggregator.storage import federations
from aggregator.storage.engine import Connection
from aggregator.storage.federations import FederationRow
from fgpr.auditlog.entries import FederationCreated, PriorPublished
from fgpr.errors import FgprError, UnknownResource
from fgpr.federated import publication
from fgpr.federated.federation import Federation
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import PriorView


def check_free(context: Context, name: str) -> None:
    """Check that a federation of that name can be created, before a roster key is made for it.

    Raises:
        Conflict: the name is taken.
    """
    with context.database.read() as connection:
        federations.check_free(connection, name)


def roster_keys(context: Context) -> dict[str, bytes]:
    """The public roster key of each federation, 32 bytes, by name."""
    with context.database.read() as connection:
        return federations.roster_keys(connection)


def create(context: Context, settings: Federation, roster_key: Ed25519PrivateKey | Ed25519PublicKey) -> None:
    """Create a federation and sign its initial prior.

    Args:
        context: this process.
        settings: what is fixed from now on.
        roster_key: its roster key; only the public half where the private one is held elsewhere.

    Raises:
        Conflict: the name is taken.
    """
    with context.database.write() as connection:
        create_in(context, connection, settings, roster_key)


def create_in(
    context: Context,
    connection: Connection,
    settings: Federation,
    roster_key: Ed25519PrivateKey | Ed25519PublicKey,
) -> None:
    """As `create`, in the caller's transaction."""
    record = publication.initial(settings.name, settings.spec())
    prior = Signed[PriorRecord].make(context.keys.service(), record)
    offline = isinstance(roster_key, Ed25519PublicKey)
    public = roster_key if isinstance(roster_key, Ed25519PublicKey) else roster_key.public_key()
    key = public.public_bytes_raw()
    federations.create(connection, settings, key, context.clock(), offline=offline)
    created = FederationCreated(federation=settings.name, settings=settings, roster_key=key)
    publish_prior(context, connection, PriorPublished(federation=settings.name, prior=prior), created)


def publish_prior(context: Context, connection: Connection, leaf: PriorPublished, *before: FederationCreated) -> None:
    """Store a prior together with its leaf; `before` goes into the log right before it."""
    index = audit.record(context, connection, [*before, leaf]) + len(before)
    federations.add_prior(connection, leaf.prior, index)


def is_carried(record: PriorRecord) -> bool:
    """Whether this prior carries an older theta, for which roster and seats must stay."""
    return record.theta_version != record.version


def keeps_roster(row: FederationRow, record: PriorRecord) -> bool:
    """Whether the next plan has to keep roster and seats: its theta is carried, and the operator did not release it."""
    return is_carried(record) and row.released != record.version


def prior(
    context: Context, callers: Sequence[Caller], federation: str, version: int | None
) -> Sequence[tuple[bytes, bool] | FgprError]:
    """A prior, by default the newest that counts as published, with its leaf; and whether that is all it will ever say.

    One that waits for cosignatures will say more.

    Returns:
        For each caller a `PriorView` as JSON, and whether it is final; or its refusal: Unauthenticated or Forbidden
        where it does not belong to the federation, UnknownResource where there is no prior, or none yet that enough
        members cosigned.
    """
    with context.database.read() as connection:
        holders = holders_of(connection, callers)
        return judged(
            lambda caller: authorise(connection, caller, federation, holders),
            callers,
            lambda: _prior(context, connection, federation, version),
        )


def _prior(context: Context, connection: Connection, federation: str, version: int | None) -> tuple[bytes, bool]:
    witnesses = federations.read(connection, federation).settings.witnesses
    seen = witnessing.newest(context, connection, federation, witnesses) if witnesses else None
    if version is None and witnesses:
        signed, index = _newest_counted(connection, federation, witnesses, seen)
    else:
        signed, index = federations.read_prior(connection, federation, version)
    leaf = audit.leaf(connection, index)
    cosigned = seen.cosigned if seen is not None and index < seen.size else None
    view = PriorView(prior=signed, leaf=leaf, index=index, cosigned=cosigned)
    return view.model_dump_json().encode(), cosigned is not None or not witnesses


def _newest_counted(
    connection: Connection, federation: str, witnesses: int, seen: Witnessed | None
) -> tuple[Signed[PriorRecord], int]:
    counted = None if seen is None else federations.read_prior_before(connection, federation, seen.size)
    if counted is None:
        raise UnknownResource(
            f"no prior of {federation} counts as published yet: {witnesses} members have to cosign a log that holds "
            "it, which they do when they open the next round"
        )
    return counted
