"""Epochs of schedulers by backend, and the clock that all processes of a database go by"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Several backends on one database, external workers."""
    op.create_table(
        "epochs",
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("embedded", sa.Boolean(), nullable=False),
        sa.Column("scheduler_id", sa.Text(), nullable=True),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("workers_gone", sa.Boolean(), nullable=False),
        sa.Column("end_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("epoch"),
    )
    op.create_table(
        "clock",
        sa.Column("database_id", sa.String(length=64), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("anchor", sa.Float(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("database_id"),
    )
