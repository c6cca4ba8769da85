"""Holds a whole database against the audit log, and the log against a checkpoint kept outside."""

from collections.abc import Mapping
from dataclasses import dataclass

from aggregator.service.context import Context
from aggregator.storage import documents, federations, log
from aggregator.storage.engine import Connection, Database
from fgpr import merkle
from fgpr.auditlog import checkpoint
from fgpr.auditlog.trail import Trail
from fgpr.auditlog.verification import verify_trail
from fgpr.errors import VerificationError
from fgpr.message import Message
from fgpr.secagg.messages import LogPosition


@dataclass(frozen=True)
class Anchors:
    """What is kept outside the database.

    Attributes:
        note: a signed checkpoint of the log.
        service_key: the aggregator's public key, 32 bytes.
        roster_keys: public keys of rosters by federation.
    """

    note: str
    service_key: bytes
    roster_keys: dict[str, bytes]


def verify_database(database: Database, anchors: Anchors) -> Trail:
    """Check that the log is the one that the kept checkpoint commits to, and that every document is the logged one.

    Raises:
        FgprError: the first thing that does not hold.
    """
    try:
        with database.read() as connection:
            return verify_connection(connection, anchors)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        # SQLite keeps values of any type in any column.
        raise VerificationError(f"a stored value does not have the form of its column: {error}") from error


def verify_connection(connection: Connection, anchors: Anchors) -> Trail:
    """As `verify_database`, in the caller's transaction; values of another kind raise what they raise."""
    name = checkpoint.name_of(anchors.service_key)
    kept = checkpoint.open_note(anchors.note, name, anchors.service_key)
    frontier, note = log.read_head(connection)
    leaves = log.read_leaves(connection, 0, frontier.size)
    check_tree(connection, leaves, frontier)
    check_head(frontier, note, anchors.service_key)
    trail = verify_trail(leaves, LogPosition(size=kept.size, root=kept.root), anchors.service_key, anchors.roster_keys)
    check_tables(connection, trail, anchors.roster_keys)
    return trail


def check_tables(connection: Connection, trail: Trail, roster_keys: Mapping[str, bytes]) -> None:
    """Check that the tables hold exactly the logged documents.

    Raises:
        VerificationError: the first that is another one, missing or too many.
    """
    names = federations.names(connection)
    _require(set(names) == set(trail.federations), "the federations are not the logged ones")
    for federation in names:
        _check_documents(connection, federation, trail, roster_keys)


def check_head(frontier: merkle.Frontier, note: str, service_key: bytes) -> None:
    """Check that the newest checkpoint is signed and that of the frontier.

    Raises:
        VerificationError, EncodingError: it is not.
    """
    head = checkpoint.open_note(note, checkpoint.name_of(service_key), service_key)
    _require((head.size, head.root) == (frontier.size, frontier.root()), "the head is not the newest checkpoint")


def check_tree(connection: Connection, leaves: list[bytes], frontier: merkle.Frontier) -> None:
    """Check that frontier and nodes are those of the leaves, and that nothing stands beside them.

    Raises:
        VerificationError, UnknownResource: they are not.
    """
    tree, node = merkle.Tree(merkle.leaf_hashes(leaves)), log.node_reader(connection)
    _require(frontier.size == tree.size and frontier.root() == tree.root(), "the head is not that of the leaves")
    for level in range(tree.size.bit_length()):
        for index in range(tree.size >> level):
            _require(node(level, index) == tree.node(level, index), f"node {index} of level {level} was changed")
    nodes = sum(tree.size >> level for level in range(tree.size.bit_length()))
    _require(documents.count_log(connection) == (tree.size, nodes, 1), "leaves, nodes or heads stand outside the log")


def _check_documents(connection: Connection, federation: str, trail: Trail, roster_keys: Mapping[str, bytes]) -> None:
    # Bytes, not values: two spellings of a number can be the same value.
    stored = documents.read(connection, federation)
    _require(
        stored.settings == trail.federations[federation].settings.encode(),
        f"the settings of {federation} are not those that it was created with",
    )
    logged_key = roster_keys.get(federation, trail.federations[federation].roster_key)
    _require(stored.roster_key == logged_key, f"the roster key of {federation} was changed")
    _require(stored.state == trail.states.get(federation, "open"), f"the state of {federation} is not the logged one")
    logged_clients = {
        client: (
            key,
            trail.roles[name, client],
            (name, client) in trail.revoked,
            _bytes(trail.declared.get((name, client), (None,))[-1]),
        )
        for (name, client), key in trail.enrolled.items()
        if name == federation
    }
    _require(stored.clients == logged_clients, f"the clients of {federation} are not the logged ones")
    logged_rosters = {v: roster.encode() for (name, v), roster in trail.rosters.items() if name == federation}
    _require(stored.rosters == logged_rosters, f"the rosters of {federation} are not the logged ones")
    logged = {version: prior for (name, version), prior in trail.priors.items() if name == federation}
    logged_priors = {version: (prior.encode(), index) for version, (prior, index) in logged.items()}
    _require(stored.priors == logged_priors, f"the priors of {federation} are not the logged ones")
    logged_rounds = {
        number: (
            plan.encode(),
            _bytes(trail.cohorts.get((federation, number))),
            _empty_cohort(trail, federation, number),
        )
        for (name, number), plan in trail.plans.items()
        if name == federation
    }
    _require(stored.rounds == logged_rounds, f"the rounds of {federation} are not the logged ones")
    logged_complaints = {
        (number, member): signed.encode()
        for (name, number, member), signed in trail.complaints.items()
        if name == federation
    }
    _require(stored.complaints == logged_complaints, f"the complaints of {federation} are not the logged ones")


def _empty_cohort(trail: Trail, federation: str, number: int) -> bytes | None:
    leaf = trail.aborted.get((federation, number))
    return None if leaf is None else leaf.cohort.encode()


def _bytes(signed: Message | None) -> bytes | None:
    return None if signed is None else signed.encode()


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise VerificationError(reason)


def anchors(context: Context, roster_keys: dict[str, bytes]) -> Anchors:
    """What to keep outside now."""
    with context.database.read() as connection:
        return Anchors(log.read_head(connection)[1], context.service_public(), roster_keys)
