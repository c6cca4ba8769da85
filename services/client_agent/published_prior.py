"""The newest prior, verified against the audit log before anything is predicted with it; kept for times without a net.

What is checked: the service key's signature, the checkpoint's, that the log continues the one that was kept, that the
prior's leaf is in it and says the same, that versions never fall, and where the federation asks for witnesses, that as
many members cosigned a log that holds the leaf.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from client_agent import durable_file, membership
from client_agent.federation_client import Connection, FederationClient
from client_agent.membership import Membership
from client_agent.trail import Trail
from fgpr import merkle
from fgpr.auditlog import checkpoint, cosignature, entries
from fgpr.auditlog.entries import PriorPublished
from fgpr.errors import EncodingError, LocalProtocolError, Unavailable, VerificationError
from fgpr.federated.publication import PriorRecord
from fgpr.rest import PriorView
from fgpr.secagg.messages import LogPosition

FILE_NAME = "prior.json"


@dataclass(frozen=True)
class PublishedPrior:
    """A verified prior.

    Attributes:
        record: what the aggregator signed.
        index: the place of its leaf in the audit log.
        fresh: the aggregator showed it just now; else it is the one that was kept.
        verified_at: when it was last fetched and verified, UTC, by this machine's clock.
    """

    record: PriorRecord
    index: int
    fresh: bool
    verified_at: datetime

    def age(self, now: datetime) -> timedelta:
        """How long ago that was; 0 where the clock has gone back since.

        Args:
            now: the present time, aware.
        """
        return max(timedelta(0), now - self.verified_at)


def fetch(home: Path, connection: Connection) -> PublishedPrior:
    """The newest prior of the federation in `home`, or the kept one where the aggregator cannot be reached.

    Raises:
        VerificationError: a check fails; the prior must not be used.
        Unavailable: no answer, and no prior was kept.
        RequestError: the aggregator refuses.
        LocalProtocolError: the home is enrolled nowhere.
    """
    known = membership.load(home)
    before = kept_view(home, known)
    client = FederationClient(connection, known.federation)
    try:
        view = client.prior()
        _check_signed(view, known)
        trail = Trail(home, client, known.service_key)
        _check_logged(view, client, trail)
        if known.witnesses:
            _check_witnessed(view, client, trail, known)
    except Unavailable:
        if before is None:
            raise
        return _published(home, before, fresh=False)
    _check_successor(view, before)
    durable_file.replace(home / FILE_NAME, view.encode())
    return _published(home, view, fresh=True)


def kept(home: Path) -> PublishedPrior:
    """The prior that was fetched last, without asking anybody; its signature is verified again.

    Raises:
        VerificationError: the file is damaged, or was signed by another key.
        LocalProtocolError: no prior was fetched yet, or the home is enrolled nowhere.
    """
    view = kept_view(home, membership.load(home))
    if view is None:
        raise LocalProtocolError(f"{home} holds no prior yet: fetch one with a net first, as by fgpr-agent prior show")
    return _published(home, view, fresh=False)


def _published(home: Path, view: PriorView, fresh: bool) -> PublishedPrior:
    # Written anew at each fetch, also where it stays the same: its time is that of the last look.
    written = datetime.fromtimestamp((home / FILE_NAME).stat().st_mtime, UTC)
    return PublishedPrior(view.prior.message, view.index, fresh, written)


def kept_view(home: Path, known: Membership) -> PriorView | None:
    """The prior that was verified and kept last; None where there is none.

    Raises:
        VerificationError: the file is damaged.
    """
    path = home / FILE_NAME
    try:
        view = PriorView.decode(path.read_bytes())
        _check_signed(view, known)
    except FileNotFoundError:
        return None
    except (EncodingError, VerificationError) as error:
        raise VerificationError(f"{path} is damaged ({error}): remove it, it is fetched again") from error
    return view


def _check_signed(view: PriorView, known: Membership) -> None:
    view.prior.verify(known.service_key)
    if view.prior.message.federation != known.federation:
        raise VerificationError(f"the prior is of federation {view.prior.message.federation}, not {known.federation}")


def _check_logged(view: PriorView, client: FederationClient, trail: Trail) -> None:
    newest = trail.newest()
    trail.follow(newest)
    leaf = entries.decode(view.leaf)
    if not isinstance(leaf, PriorPublished) or leaf.prior != view.prior:
        raise VerificationError(f"leaf {view.index} of the log does not hold prior {view.prior.message.version}")
    proof = client.inclusion(view.index, newest.size)
    merkle.verify_inclusion(merkle.leaf_hash(view.leaf), view.index, newest.size, proof, newest.root)


def _check_witnessed(view: PriorView, client: FederationClient, trail: Trail, known: Membership) -> None:
    told = f"prior {view.prior.message.version} does not count as published"
    if view.cosigned is None:
        raise VerificationError(
            f"{told}: {known.witnesses} members have to cosign a log that holds it, and none is shown"
        )
    signed = client.roster(view.cosigned.roster_version)
    signed.verify(known.roster_key)
    roster = signed.message
    if roster.federation != known.federation:
        raise VerificationError(f"the roster of the witnesses is of federation {roster.federation}")
    keys = {
        cosignature.name_of(roster.federation, entry.client): entry.identity_key
        for entry in roster.clients
        if entry.may_serve and not entry.revoked
    }
    log = checkpoint.name_of(known.service_key)
    seen, names = cosignature.witnesses(view.cosigned.note, log, known.service_key, keys)
    if len(names) < known.witnesses:
        raise VerificationError(f"{told}: {len(names)} members cosigned a log that holds it, {known.witnesses} have to")
    if seen.size <= view.index:
        raise VerificationError(
            f"{told}: what the members cosigned has {seen.size} leaves, and it is leaf {view.index}"
        )
    # Their log is the one in which the leaf was found, and so holds it, too.
    trail.follow(LogPosition(size=seen.size, root=seen.root))


def _check_successor(view: PriorView, kept: PriorView | None) -> None:
    if kept is None:
        return
    old, new = kept.prior.message, view.prior.message
    if new.version < old.version:
        raise VerificationError(f"the newest prior has version {new.version}, version {old.version} was seen before")
    if new.version == old.version and new != old:
        raise VerificationError(f"prior {new.version} had another content when it was seen before; report this")
