"""Threads are found by name"""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Whether a thread is still used, and by whom last, is asked of every job that is pruned or resumed."""
    op.create_index("admissions_thread", "admissions", ["thread_id"])
