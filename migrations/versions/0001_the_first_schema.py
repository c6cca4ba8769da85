"""The first schema.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite knows row numbers by the name INTEGER only.
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "federations",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("settings", sa.LargeBinary(), nullable=False),
        sa.Column("roster_key", sa.LargeBinary(), nullable=False),
        sa.Column("roster_stale", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_federations"),
    )
    op.create_table(
        "log_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("frontier", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_log_head"),
    )
    op.create_table(
        "log_leaves",
        sa.Column("index", BIG, autoincrement=False, nullable=False),
        sa.Column("leaf", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("index", name="pk_log_leaves"),
    )
    op.create_table(
        "log_nodes",
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("index", BIG, autoincrement=False, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "index", name="pk_log_nodes"),
    )
    op.create_table(
        "nonces",
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("nonce", sa.String(length=128), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_id", "nonce", name="pk_nonces"),
    )
    op.create_index("ix_nonces_expires_at", "nonces", ["expires_at"])

    op.create_table(
        "clients",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("identity_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("receipt", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"], name="fk_clients_federations"),
        sa.PrimaryKeyConstraint("federation", "client", name="pk_clients"),
        sa.UniqueConstraint("key_id", name="uq_clients_key_id"),
    )
    op.create_table(
        "priors",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("leaf", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"], name="fk_priors_federations"),
        sa.PrimaryKeyConstraint("federation", "version", name="pk_priors"),
    )
    op.create_table(
        "rosters",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"], name="fk_rosters_federations"),
        sa.PrimaryKeyConstraint("federation", "version", name="pk_rosters"),
    )
    op.create_table(
        "rounds",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("plan", sa.LargeBinary(), nullable=False),
        sa.Column("cohort", sa.LargeBinary(), nullable=True),
        sa.Column("empty_cohort", sa.LargeBinary(), nullable=True),
        sa.Column("contribute_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("open_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"], name="fk_rounds_federations"),
        sa.PrimaryKeyConstraint("federation", "number", name="pk_rounds"),
    )
    with op.batch_alter_table("rounds", schema=None) as batch_op:
        batch_op.create_index("ix_rounds_stage", ["stage"], unique=False)

    op.create_table(
        "tickets",
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_by", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["federation"], ["federations.name"], name="fk_tickets_federations"),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_tickets"),
    )
    op.create_table(
        "contributions",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("body_digest", sa.LargeBinary(), nullable=False),
        sa.Column("header", sa.LargeBinary(), nullable=False),
        sa.Column("masked", sa.LargeBinary(), nullable=True),
        sa.Column("boxes", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["federation", "round"], ["rounds.federation", "rounds.number"], name="fk_contributions_rounds"
        ),
        sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_contributions"),
    )
    op.create_table(
        "opening_keys",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("serial", BIG, nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["federation", "client"], ["clients.federation", "clients.client"], name="fk_opening_keys_clients"
        ),
        sa.PrimaryKeyConstraint("federation", "client", "serial", name="pk_opening_keys"),
        sa.UniqueConstraint("federation", "public_key", name="uq_opening_keys_federation"),
    )
    op.create_table(
        "openings",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["federation", "round"], ["rounds.federation", "rounds.number"], name="fk_openings_rounds"
        ),
        sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_openings"),
    )


def downgrade() -> None:
    op.drop_table("openings")
    op.drop_table("opening_keys")
    op.drop_table("contributions")
    op.drop_table("tickets")
    op.drop_index("ix_rounds_stage", table_name="rounds")
    op.drop_table("rounds")
    op.drop_table("rosters")
    op.drop_table("priors")
    op.drop_table("clients")
    op.drop_index("ix_nonces_expires_at", table_name="nonces")
    op.drop_table("nonces")
    op.drop_table("log_nodes")
    op.drop_table("log_leaves")
    op.drop_table("log_head")
    op.drop_table("federations")
