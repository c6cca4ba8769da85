"""From what an auditor holds to a verified log: keys, checkpoints, the log itself."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from client_agent import audited_log, membership
from client_agent.audited_log import Held, LogServer
from client_agent.events import one_line
from fgpr import environment_variables, merkle
from fgpr.auditlog.bundle import Bundle, check_key, open_position, verify_bundle
from fgpr.auditlog.trail import Trail
from fgpr.errors import (
    CryptographicError,
    DataError,
    EncodingError,
    FgprError,
    LocalProtocolError,
    UnknownResource,
    VerificationError,
)

HOLDS_NOT, CANNOT_TELL = 1, 3
"""Exit statuses: something does not hold; it could not be checked."""


@dataclass(frozen=True)
class Source:
    """Where a log is read, and what is known of it.

    Attributes:
        log: address of an aggregator or path of a bundle; None for the aggregator of the home.
        home: of an agent.
        checkpoints: files with checkpoints that were kept.
        service_key: the aggregator's key in base64; None where it is not known from elsewhere.
    """

    log: str | None
    home: Path
    checkpoints: Sequence[Path]
    service_key: str | None

    @property
    def is_bundle(self) -> bool:
        """Whether a file is read, and no aggregator asked."""
        return self.log is not None and not audited_log.is_address(self.log)

    def known_key(self) -> bytes | None:
        """The service key that is known from elsewhere, 32 bytes; that of the home where its aggregator is asked."""
        if self.service_key is not None:
            return audited_log.parse_key(self.service_key)
        return audited_log.enrolled(self.home).service_key if self.log is None else None


@dataclass(frozen=True)
class Audit:
    """A verified log.

    Attributes:
        bundle: the log.
        trail: what it tells.
        held: checkpoints that were kept outside, all of this log.
    """

    bundle: Bundle
    trail: Trail
    held: tuple[Held, ...]


@dataclass(frozen=True)
class Proof:
    """Where a leaf stands, and the way from it to the root of the newest checkpoint.

    Attributes:
        place: of the leaf, from 0.
        leaf: its bytes.
        hashes: RFC 6962, lowest first.
    """

    place: int
    leaf: bytes
    hashes: merkle.Proof


@contextmanager
def opened(source: Source, service_key: bytes | None) -> Iterator[LogServer]:
    """The aggregator's log; `service_key` is what is known of it otherwise."""
    address = None if source.log is None else source.log
    with audited_log.connected(address, source.home, source.known_key() or service_key) as server:
        yield server


def held_checkpoints(source: Source, service_key: bytes) -> list[Held]:
    """What was kept of the log of this key: the files given, and that of the agent's home where it is of this log.

    Raises:
        VerificationError: a file holds a checkpoint of another log.
        DataError: a file holds none.
    """
    found = []
    for path in source.checkpoints:
        note = audited_log.read_checkpoint(path)
        check_key(note, service_key)
        found.append(Held(str(path), open_position(note, service_key), note))
    try:
        same = membership.load(source.home).service_key == service_key
    except (LocalProtocolError, EncodingError):
        same = False
    kept = audited_log.kept_by_agent(source.home) if same else None
    return found if kept is None else [*found, kept]


def audited(source: Source) -> Audit:
    """Read a log and verify it from its first leaf.

    Raises:
        VerificationError: something does not hold.
        FgprError: it cannot be read.
    """
    if source.log is None or not source.is_bundle:
        with opened(source, None) as server:
            bundle = server.whole()
    else:
        bundle = audited_log.read(Path(source.log))
        known = source.known_key()
        if known is not None and known != bundle.service_key:
            raise VerificationError("the bundle is of another aggregator than the one whose key was given")
    held = held_checkpoints(source, bundle.service_key)
    pinned = _roster_keys(source, bundle.service_key)
    size = len(bundle.leaves)
    later = [one for one in held if one.position.size > size] if source.is_bundle else []
    trail = verify_bundle(bundle, [one.position for one in held if one not in later], pinned)
    if later:
        # Nothing is wrong with a bundle that was fetched before the checkpoint was: it accuses nobody.
        raise DataError(
            f"the bundle holds in itself, and ends after {size} entries; the checkpoint held in {later[0].where} "
            f"counts {later[0].position.size}. Bring the bundle up to date: fgpr-audit fetch {source.log}"
        )
    return Audit(bundle, trail, tuple(held))


def one_federation(trail: Trail, name: str | None) -> str:
    """The federation that is meant.

    Raises:
        UnknownResource: the log has none of that name, or several and none was named.
    """
    names = sorted(trail.federations)
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        told = "no --federation was given, and" if name is None else f"there is no federation {name}:"
        raise UnknownResource(f"{told} the log tells of {', '.join(names) or 'none'}")
    return name


def proof_of(audit: Audit, place: int) -> Proof:
    """The inclusion proof of a leaf in the whole log, checked."""
    tree, leaf = audit.trail.tree, audit.bundle.leaves[place]
    hashes = merkle.inclusion_proof(place, tree.size, tree.node)
    merkle.verify_inclusion(merkle.leaf_hash(leaf), place, tree.size, hashes, tree.root())
    return Proof(place, leaf, hashes)


@contextmanager
def telling() -> Iterator[None]:
    """Whatever is raised on purpose, a mistyped variable too, ends the command with one line and its kind's status."""
    try:
        environment_variables.check(environment_variables.AGENT, os.environ)
        yield
    except (VerificationError, CryptographicError) as error:
        typer.echo(one_line(f"fgpr-audit: DOES NOT HOLD: {error}"), err=True)
        raise typer.Exit(HOLDS_NOT) from None
    except (FgprError, OSError) as error:
        typer.echo(one_line(f"fgpr-audit: cannot be checked: {error}"), err=True)
        raise typer.Exit(CANNOT_TELL) from None


def _roster_keys(source: Source, service_key: bytes) -> dict[str, bytes]:
    try:
        known = membership.load(source.home)
    except (LocalProtocolError, EncodingError):
        return {}
    return {known.federation: known.roster_key} if known.service_key == service_key else {}
