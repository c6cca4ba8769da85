"""Complaints of members.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "complaints",
        sa.Column("federation", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("client", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["federation", "round"], ["rounds.federation", "rounds.number"], name="fk_complaints_rounds"
        ),
        sa.PrimaryKeyConstraint("federation", "round", "client", name="pk_complaints"),
    )


def downgrade() -> None:
    op.drop_table("complaints")
