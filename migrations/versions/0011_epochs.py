"""The epoch of a database, which changes when a backup takes its place.

Revision ID: 0011
Revises: 0010
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    table = op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.String(length=22), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_installation"),
    )
    op.bulk_insert(table, [{"id": 1, "epoch": secrets.token_urlsafe(16)}])


def downgrade() -> None:
    op.drop_table("installation")
