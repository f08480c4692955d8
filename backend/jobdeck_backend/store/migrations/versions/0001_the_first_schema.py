"""The first schema"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """The first schema."""
    op.create_table(
        "admissions",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("thread_id", sa.String(length=64), nullable=False),
        sa.Column("agent_type", sa.String(length=128), nullable=False),
        sa.Column("queue", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("data_sources", sa.Text(), nullable=True),
        sa.Column("expiry_seconds", sa.Integer(), nullable=False),
        sa.Column("deadline", sa.Float(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("after_policy", sa.String(length=16), nullable=False),
        sa.Column("accepted_at", sa.Float(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("outcome_reason", sa.Text(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_index(
        "admissions_live_thread",
        "admissions",
        ["thread_id"],
        unique=True,
        sqlite_where=sa.text("outcome IS NULL"),
        postgresql_where=sa.text("outcome IS NULL"),
    )
    op.create_index(op.f("ix_admissions_accepted_at"), "admissions", ["accepted_at"], unique=False)
    op.create_index(op.f("ix_admissions_finished_at"), "admissions", ["finished_at"], unique=False)
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("act", sa.String(length=32), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=True),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_audit_job_id"), "audit", ["job_id"], unique=False)
    op.create_table(
        "drills",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "leases",
        sa.Column("role", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("acquired_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("taken_from", sa.String(length=128), nullable=True),
        sa.PrimaryKeyConstraint("role"),
    )
    op.create_table(
        "queues",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("paused_at", sa.Float(), nullable=True),
        sa.Column("paused_by", sa.String(length=128), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "attempts",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("heartbeat_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("end_reason", sa.String(length=64), nullable=True),
        sa.Column("late_output", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "attempt"),
    )
    op.create_index(
        "attempts_live",
        "attempts",
        ["worker"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "dependencies",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("predecessor_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.ForeignKeyConstraint(
            ["predecessor_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "predecessor_id"),
    )
    op.create_index(op.f("ix_dependencies_predecessor_id"), "dependencies", ["predecessor_id"], unique=False)
    op.create_table(
        "effects",
        sa.Column("key", sa.String(length=512), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("intents", sa.Integer(), nullable=False),
        sa.Column("intent_at", sa.Float(), nullable=False),
        sa.Column("settled_at", sa.Float(), nullable=True),
        sa.Column("settled_by", sa.String(length=128), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("proof", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("effects_of_job", "effects", ["job_id", "state"], unique=False)
    op.create_table(
        "events",
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("position"),
        sa.UniqueConstraint("job_id", "seq"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fence", sa.Integer(), server_default="0", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("event_seq", sa.Integer(), server_default="0", nullable=False),
        sa.Column("dispatch_deadline", sa.Float(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("accepted_at", sa.Float(), nullable=False),
        sa.Column("dependent", sa.Boolean(), nullable=False),
        sa.Column("delivered_epoch", sa.Integer(), nullable=True),
        sa.Column("delivered_at", sa.Float(), nullable=True),
        sa.Column("held_reason", sa.Text(), nullable=True),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("error_type", sa.String(length=128), nullable=True),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("cancel_requested_at", sa.Float(), nullable=True),
        sa.Column("cancel_acknowledged_at", sa.Float(), nullable=True),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.Column("stage", sa.String(length=128), nullable=True),
        sa.Column("stages_done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stages_total", sa.Integer(), nullable=True),
        sa.Column("progress_at", sa.Float(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_index(
        "jobs_backlog",
        "jobs",
        [
            "status",
            "delivered_epoch",
            "dependent",
            "dispatch_deadline",
            sa.literal_column("priority DESC"),
            "accepted_at",
        ],
        unique=False,
    )
    op.create_index(
        "jobs_cancelling",
        "jobs",
        ["cancel_requested_at"],
        unique=False,
        sqlite_where=sa.text(
            "cancel_requested_at IS NOT NULL AND cancel_acknowledged_at IS NULL AND revoked_at IS NULL"
        ),
        postgresql_where=sa.text(
            "cancel_requested_at IS NOT NULL AND cancel_acknowledged_at IS NULL AND revoked_at IS NULL"
        ),
    )
    op.create_index("jobs_deadline", "jobs", ["status", "dispatch_deadline"], unique=False)
    op.create_table(
        "stages",
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("completed_at", sa.Float(), nullable=False),
        sa.Column("checkpoint_id", sa.String(length=64), nullable=False),
        sa.Column("output_hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "node", "step"),
    )
    op.create_table(
        "transitions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("from_status", sa.String(length=16), nullable=True),
        sa.Column("to_status", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=16), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["admissions.job_id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_transitions_job_id"), "transitions", ["job_id"], unique=False)
