"""Operators and auditors, replaced keys, who issued a ticket, paused and closed federations.

Revision ID: 0010
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "staff",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("identity_key", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_staff"),
        sa.UniqueConstraint("key_id", name="uq_staff_key_id"),
    )
    op.create_table(
        "staff_tickets",
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_by", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_staff_tickets"),
    )
    op.create_table(
        "retired_keys",
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("identity_key", sa.LargeBinary(), nullable=False),
        sa.Column("federation", sa.String(length=64), nullable=True),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body_digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name="pk_retired_keys"),
    )
    op.add_column("federations", sa.Column("state", sa.String(length=16), nullable=False, server_default="open"))
    op.add_column("federations", sa.Column("released", sa.Integer(), nullable=True))
    op.add_column("tickets", sa.Column("issued_by", sa.String(length=64), nullable=True))
    op.add_column("tickets", sa.Column("issued_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    # In place, not in batch mode: other tables refer to these.
    op.drop_column("tickets", "issued_at")
    op.drop_column("tickets", "issued_by")
    op.drop_column("federations", "released")
    op.drop_column("federations", "state")
    op.drop_table("retired_keys")
    op.drop_table("staff_tickets")
    op.drop_table("staff")
