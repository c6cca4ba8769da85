"""Federations whose roster key is held elsewhere.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("federations", sa.Column("roster_offline", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    # In place, not in batch mode: other tables refer to this one.
    op.drop_column("federations", "roster_offline")
