"""Strict admissions, edited reports, and the workflow API's longer ids"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

# What held 64 characters and holds a job's id, or a thread's, which is its first job's where nobody named it.
LONGER = {
    "admissions": ("job_id", "thread_id"),
    "attempts": ("job_id",),
    "audit": ("job_id",),
    "dependencies": ("job_id", "predecessor_id"),
    "effects": ("job_id",),
    "events": ("job_id",),
    "jobs": ("job_id",),
    "notifications": ("job_id",),
    "stages": ("job_id",),
    "transitions": ("job_id",),
}


def upgrade() -> None:
    """Add the columns; widen the ids where the database minds (SQLite keeps any length)."""
    op.add_column("admissions", sa.Column("strict", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("admissions", sa.Column("parent_job_id", sa.String(length=256), nullable=True))
    op.add_column("jobs", sa.Column("yielded_deadline", sa.Float(), nullable=True))
    strict = sa.text("strict AND outcome IS NULL")
    op.create_index(
        "admissions_strict", "admissions", ["strict"], sqlite_where=strict, postgresql_where=strict
    )
    yielded = sa.text("yielded_deadline IS NOT NULL")
    op.create_index(
        "jobs_yielded", "jobs", ["yielded_deadline"], sqlite_where=yielded, postgresql_where=yielded
    )
    if op.get_context().dialect.name != "sqlite":
        for table, columns in LONGER.items():
            for column in columns:
                op.alter_column(table, column, type_=sa.String(length=256))
        # A key is made of the job's id, the stage and the call.
        op.alter_column("effects", "key", type_=sa.String(length=1024))
