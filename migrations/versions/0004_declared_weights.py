"""Weights that clients declare, where a federation draws by them.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clients", sa.Column("declared", sa.LargeBinary()))


def downgrade() -> None:
    # In place, not in batch mode: other tables refer to this one.
    op.drop_column("clients", "declared")
