"""Rows of federations, their rosters and their priors."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from aggregator.storage.announcements import announce
from aggregator.storage.tables import federations, priors, rosters
from fgpr.errors import Conflict, UnknownResource
from fgpr.federated.federation import Federation
from fgpr.federated.publication import PriorRecord
from fgpr.message import Signed
from fgpr.rest import State
from fgpr.secagg.roster import Roster

# Every contribution and opening is checked against its roster. Documents never change.
_roster = lru_cache(maxsize=64)(Signed[Roster].decode)
_settings = lru_cache(maxsize=64)(Federation.decode)
_prior = lru_cache(maxsize=64)(Signed[PriorRecord].decode)

# Written down once, as in storage.rounds.
_FEDERATION = select(federations).where(federations.c.name == bindparam("federation"))
_LOCKED = _FEDERATION.with_for_update()
_LOCK = _FEDERATION.with_only_columns(federations.c.name).with_for_update()
_ALL_SETTINGS = select(federations.c.settings)
_ROSTER_KEYS = select(federations.c.name, federations.c.roster_key)
_STATE = select(federations.c.state).where(federations.c.name == bindparam("federation"))
_ROSTERS = select(rosters.c.document).where(rosters.c.federation == bindparam("federation"))
_ROSTER = _ROSTERS.where(rosters.c.version == bindparam("number"))
_NEWEST_ROSTER = _ROSTERS.order_by(rosters.c.version.desc()).limit(1)
_PRIORS = select(priors.c.document, priors.c.leaf).where(priors.c.federation == bindparam("federation"))
_PRIOR = _PRIORS.where(priors.c.version == bindparam("number"))
_PRIOR_BEFORE = _PRIORS.where(priors.c.leaf < bindparam("place")).order_by(priors.c.version.desc()).limit(1)
_NEWEST_PRIOR = _PRIORS.order_by(priors.c.version.desc()).limit(1)


@dataclass(frozen=True)
class FederationRow:
    """A federation as stored.

    Attributes:
        settings: what was fixed when it was created.
        roster_key: public half of its roster key, 32 bytes.
        roster_stale: whether membership changed since the last roster was signed.
        roster_offline: whether the roster key is held elsewhere.
        state: "open", "paused" or "closed".
        released: the carried prior version whose next plan may have another roster; None where there is none.
    """

    settings: Federation
    roster_key: bytes
    roster_stale: bool
    roster_offline: bool
    state: State = "open"
    released: int | None = None


def check_free(connection: Connection, name: str) -> None:
    """Check that there is no federation of that name.

    Raises:
        Conflict: there is one.
    """
    if connection.execute(_FEDERATION, {"federation": name}).one_or_none() is not None:
        raise _taken(name)


def create(
    connection: Connection, settings: Federation, roster_key: bytes, now: datetime, *, offline: bool = False
) -> None:
    """Write a new federation.

    Raises:
        Conflict: the name is taken.
    """
    values = {
        "name": settings.name,
        "settings": settings.encode(),
        "roster_key": roster_key,
        "roster_stale": True,
        "roster_offline": offline,
        "created_at": now,
    }
    try:
        connection.execute(insert(federations).values(values))
    except IntegrityError as error:
        raise _taken(settings.name) from error


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a federation {name} already")


def read(connection: Connection, name: str, *, lock: bool = False) -> FederationRow:
    """A federation; `lock` keeps other writers of it out until the transaction ends.

    Raises:
        UnknownResource: there is none of that name.
    """
    row = connection.execute(_LOCKED if lock else _FEDERATION, {"federation": name}).one_or_none()
    if row is None:
        raise UnknownResource(f"there is no federation {name!r} here")
    return FederationRow(
        _settings(row.settings), row.roster_key, row.roster_stale, row.roster_offline, row.state, row.released
    )


def lock(connection: Connection, name: str) -> None:
    """Keep other writers of a federation out until the transaction ends.

    Raises:
        UnknownResource: there is none of that name.
    """
    if connection.execute(_LOCK, {"federation": name}).scalar_one_or_none() is None:
        raise UnknownResource(f"there is no federation {name!r} here")


def roster_keys(connection: Connection) -> dict[str, bytes]:
    """The roster key of each federation by name, as it is stored."""
    return {row.name: row.roster_key for row in connection.execute(_ROSTER_KEYS)}


def names(connection: Connection) -> list[str]:
    """Every federation's name, in order."""
    return list(connection.execute(select(federations.c.name).order_by(federations.c.name)).scalars())


def log_is_public(connection: Connection) -> bool:
    """Whether every federation lets anybody read the log that they share."""
    return all(_settings(settings).public_log for settings in connection.execute(_ALL_SETTINGS).scalars())


def read_state(connection: Connection, name: str) -> State:
    """Whether rounds open in a federation that is there."""
    state: State = connection.execute(_STATE, {"federation": name}).scalar_one()
    return state


def set_state(connection: Connection, name: str, state: State) -> None:
    """Pause, resume or close a federation."""
    connection.execute(update(federations).where(federations.c.name == name).values(state=state))
    announce(connection, name)


def release(connection: Connection, name: str, prior_version: int) -> None:
    """Let the next plan of this carried prior have another roster."""
    connection.execute(update(federations).where(federations.c.name == name).values(released=prior_version))


def mark_roster(connection: Connection, name: str, *, stale: bool) -> None:
    """Say whether the membership differs from the signed roster."""
    connection.execute(update(federations).where(federations.c.name == name).values(roster_stale=stale))


def add_roster(connection: Connection, roster: Signed[Roster]) -> None:
    """Write a roster version."""
    message = roster.message
    values = {"federation": message.federation, "version": message.version, "document": roster.encode()}
    connection.execute(insert(rosters).values(values))


def read_roster(connection: Connection, name: str, version: int | None = None) -> Signed[Roster] | None:
    """A roster version, by default the newest; None where there is none."""
    found = (
        connection.execute(_NEWEST_ROSTER, {"federation": name})
        if version is None
        else connection.execute(_ROSTER, {"federation": name, "number": version})
    )
    document = found.scalar_one_or_none()
    return None if document is None else _roster(document)


def add_prior(connection: Connection, prior: Signed[PriorRecord], leaf: int) -> None:
    """Write a prior; its primary key lets a version exist once, whoever finishes a round first.

    Raises:
        Conflict: there is one of that version.
    """
    message = prior.message
    values = {
        "federation": message.federation,
        "version": message.version,
        "document": prior.encode(),
        "leaf": leaf,
    }
    try:
        connection.execute(insert(priors).values(values))
    except IntegrityError as error:
        raise Conflict(f"prior {message.version} of {message.federation} is published already") from error


def read_prior(connection: Connection, name: str, version: int | None = None) -> tuple[Signed[PriorRecord], int]:
    """A prior, by default the newest, and the index of its leaf.

    Raises:
        UnknownResource: there is none of that version.
    """
    found = (
        connection.execute(_NEWEST_PRIOR, {"federation": name})
        if version is None
        else connection.execute(_PRIOR, {"federation": name, "number": version})
    )
    row = found.one_or_none()
    if row is None:
        raise UnknownResource(f"federation {name} has no prior {'yet' if version is None else version}")
    return _prior(row.document), row.leaf


def read_prior_before(connection: Connection, name: str, leaf: int) -> tuple[Signed[PriorRecord], int] | None:
    """The newest prior whose leaf stands before this place in the log, and its own place; None where there is none."""
    row = connection.execute(_PRIOR_BEFORE, {"federation": name, "place": leaf}).one_or_none()
    return None if row is None else (_prior(row.document), row.leaf)


def read_priors(connection: Connection, name: str) -> list[tuple[Signed[PriorRecord], int]]:
    """Every prior with the index of its leaf, oldest first."""
    query = select(priors.c.document, priors.c.leaf).where(priors.c.federation == name).order_by(priors.c.version)
    return [(Signed[PriorRecord].decode(row.document), row.leaf) for row in connection.execute(query)]
