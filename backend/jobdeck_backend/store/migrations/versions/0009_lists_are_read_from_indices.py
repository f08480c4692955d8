"""Lists are read from indices, without the inputs and outputs that lie beside what they show"""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """For SQLite alone, which reads a row up to the column it is asked for: across the whole input, page by page.

    PostgreSQL keeps what is large elsewhere, and takes no such texts into an index.
    """
    if op.get_bind().dialect.name != "sqlite":
        return
    listed = ["job_id", "outcome", "finished_at", "accepted_at", "deadline", "queue", "agent_type"]
    op.create_index("admissions_listed", "admissions", [*listed, "outcome_reason", "thread_id", "owner"])
    said = ["job_id", "attempt", "worker", "stage", "note", "error", "held_reason"]
    op.create_index("jobs_said", "jobs", said)
