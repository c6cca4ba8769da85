"""The tables (docs/data-model.md tells the life of a row).

Documents are kept as the canonical bytes that were signed; columns beside them repeat only what queries need. What a
column named *_digest or *_hash holds is SHA-256. Private keys, updates, masks and tickets in plain have no column.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
)

from fgpr.errors import EncodingError


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: aware in Python, UTC in the database, the same text from both databases."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's
        """To UTC; a time without a zone is refused."""
        if value is not None and value.tzinfo is None:
            raise EncodingError(f"{value.isoformat()} has no time zone; write times with one")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's
        """SQLite gives times back without a zone; they are UTC."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

federations = Table(
    "federations",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("settings", LargeBinary, nullable=False),  # fgpr.federated.federation.Federation
    Column("roster_key", LargeBinary, nullable=False),  # the public half
    Column("roster_stale", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("roster_offline", Boolean, nullable=False, server_default=false()),  # its private key is not here
    Column("state", String(16), nullable=False, server_default="open"),  # open, paused or closed
    Column("released", Integer),  # the carried prior version whose next plan may have another roster
)

tickets = Table(
    "tickets",
    metadata,
    Column("secret_hash", LargeBinary, primary_key=True),
    Column("federation", ForeignKey("federations.name"), nullable=False),
    Column("client", String(64), nullable=False),
    Column("role", String(16), nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("used_by", LargeBinary),  # the public key that took it up; set once
    Column("issued_by", String(64)),  # the operator who asked for it by REST; none by the command line
    Column("issued_at", UtcDateTime),
)

clients = Table(
    "clients",
    metadata,
    Column("federation", ForeignKey("federations.name"), primary_key=True),
    Column("client", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("identity_key", LargeBinary, nullable=False),
    Column("key_id", String(64), nullable=False, unique=True),
    Column("enrolled_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),  # set once
    Column("receipt", LargeBinary, nullable=False),  # the answer to the enrolment, given again to the same key
    Column("declared", LargeBinary),  # Signed[DeclaredWeight], where the federation draws by weight
)

staff = Table(
    "staff",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),  # operator or auditor
    Column("identity_key", LargeBinary, nullable=False),
    Column("key_id", String(64), nullable=False, unique=True),
    Column("enrolled_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),  # set once
)

staff_tickets = Table(
    "staff_tickets",
    metadata,
    Column("secret_hash", LargeBinary, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("role", String(16), nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("used_by", LargeBinary),  # the public key that took it up; set once
)

retired_keys = Table(
    "retired_keys",
    metadata,
    Column("key_id", String(64), primary_key=True),
    Column("identity_key", LargeBinary, nullable=False),
    Column("federation", String(64)),  # none for staff
    Column("holder", String(64), nullable=False),
    Column("retired_at", UtcDateTime, nullable=False),
    Column("body_digest", LargeBinary, nullable=False),  # of the request that replaced it
)

installation = Table(
    "installation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1
    Column("epoch", String(22), nullable=False),  # another one after each restored backup
)

opening_keys = Table(
    "opening_keys",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("client", String(64), primary_key=True),
    Column("serial", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("document", LargeBinary, nullable=False),  # Signed[OpeningKey]
    ForeignKeyConstraint(["federation", "client"], ["clients.federation", "clients.client"]),
    UniqueConstraint("federation", "public_key"),
)

nonces = Table(
    "nonces",
    metadata,
    Column("key_id", String(64), primary_key=True),
    Column("nonce", String(128), primary_key=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)

rosters = Table(
    "rosters",
    metadata,
    Column("federation", ForeignKey("federations.name"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("document", LargeBinary, nullable=False),  # Signed[Roster]
)

priors = Table(
    "priors",
    metadata,
    Column("federation", ForeignKey("federations.name"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("document", LargeBinary, nullable=False),  # Signed[PriorRecord]
    Column("leaf", BigInteger, nullable=False),  # index of its leaf in the log
)

rounds = Table(
    "rounds",
    metadata,
    Column("federation", ForeignKey("federations.name"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("stage", String(16), nullable=False),  # fgpr.secagg.stages.Stage
    Column("plan", LargeBinary, nullable=False),  # Signed[Plan]
    Column("cohort", LargeBinary),  # Signed[Cohort]; set when the round closes
    Column("empty_cohort", LargeBinary),  # Signed[Cohort]; set when it is aborted
    Column("contribute_until", UtcDateTime, nullable=False),
    Column("open_until", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("reason", Text),
    Index("ix_rounds_stage", "stage"),
)

contributions = Table(
    "contributions",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("client", String(64), primary_key=True),
    Column("body_digest", LargeBinary, nullable=False),
    Column("header", LargeBinary, nullable=False),  # Signed[Header]
    Column("masked", LargeBinary),  # erased when the round ends
    Column("boxes", LargeBinary),  # erased when the round ends
    ForeignKeyConstraint(["federation", "round"], ["rounds.federation", "rounds.number"]),
)

openings = Table(
    "openings",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("client", String(64), primary_key=True),
    Column("document", LargeBinary, nullable=False),  # Signed[Opening]
    ForeignKeyConstraint(["federation", "round"], ["rounds.federation", "rounds.number"]),
)

complaints = Table(
    "complaints",
    metadata,
    Column("federation", String(64), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("client", String(64), primary_key=True),
    Column("document", LargeBinary, nullable=False),  # Signed[Complaint]
    ForeignKeyConstraint(["federation", "round"], ["rounds.federation", "rounds.number"]),
)

log_leaves = Table(
    "log_leaves",
    metadata,
    Column("index", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("leaf", LargeBinary, nullable=False),
)

log_nodes = Table(
    "log_nodes",
    metadata,
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("index", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("hash", LargeBinary, nullable=False),
)

log_head = Table(
    "log_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1
    Column("size", BigInteger, nullable=False),
    Column("frontier", LargeBinary, nullable=False),  # hashes one after another
    Column("note", Text, nullable=False),  # the signed checkpoint
)
