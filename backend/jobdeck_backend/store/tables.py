"""All tables. Times are Unix seconds (UTC) as floats."""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    false,
    text,
)

metadata = MetaData()

# The workflow API takes ids of its callers' making; a thread without a name of its own has its first job's.
JobId = String(256)

admissions = Table(
    "admissions",
    metadata,
    Column("job_id", JobId, primary_key=True),
    Column("thread_id", JobId, nullable=False),
    Column("agent_type", String(128), nullable=False),
    Column("queue", String(64), nullable=False),
    Column("owner", Text),
    Column("input", Text, nullable=False),
    Column("request_hash", String(64), nullable=False),
    Column("data_sources", Text),
    Column("expiry_seconds", Integer, nullable=False),
    Column("deadline", Float),
    Column("priority", Integer, nullable=False),
    Column("after_policy", String(16), nullable=False),
    Column("callback_url", Text),
    Column("accepted_at", Float, nullable=False, index=True),
    Column("outcome", String(16)),
    Column("outcome_reason", Text),
    Column("finished_at", Float, index=True),
    Column("strict", Boolean, nullable=False, server_default=false()),
    Column("parent_job_id", JobId),
)
Index("admissions_thread", admissions.c.thread_id)
# One live job per thread (R21).
Index(
    "admissions_live_thread",
    admissions.c.thread_id,
    unique=True,
    sqlite_where=admissions.c.outcome.is_(None),
    postgresql_where=admissions.c.outcome.is_(None),
)
# Lists are read from it: a SQLite row is read across its input, page by page.
Index(
    "admissions_listed",
    *(
        admissions.c[name]
        for name in ("job_id", "outcome", "finished_at", "accepted_at", "deadline", "queue")
    ),
    *(admissions.c[name] for name in ("agent_type", "outcome_reason", "thread_id", "owner")),
).ddl_if(dialect="sqlite")

# The few promises that later admissions must not break (R12).
_STRICT = and_(admissions.c.strict, admissions.c.outcome.is_(None))
Index("admissions_strict", admissions.c.strict, sqlite_where=_STRICT, postgresql_where=_STRICT)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", JobId, ForeignKey("admissions.job_id"), primary_key=True),
    Column("status", String(16), nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("event_seq", Integer, nullable=False, server_default="0"),
    # The backlog's order: copied here so that one index walks it.
    Column("dispatch_deadline", Float, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("accepted_at", Float, nullable=False),
    Column("dependent", Boolean, nullable=False),
    Column("delivered_epoch", Integer),
    Column("delivered_at", Float),
    Column("held_reason", Text),
    Column("worker", String(128)),
    Column("error", Text),
    Column("error_type", String(128)),
    Column("output", Text),
    Column("started_at", Float),
    Column("cancel_requested_at", Float),
    Column("cancel_acknowledged_at", Float),
    Column("revoked_at", Float),
    Column("stage", String(128)),
    Column("stages_done", Integer, nullable=False, server_default="0"),
    Column("stages_total", Integer),
    Column("progress_at", Float),
    Column("note", Text),
    # Its own deadline, where it gave way to strict jobs and so stands in the line behind it.
    Column("yielded_deadline", Float),
)
Index(
    "jobs_backlog",
    jobs.c.status,
    jobs.c.delivered_epoch,
    jobs.c.dependent,
    jobs.c.dispatch_deadline,
    jobs.c.priority.desc(),
    jobs.c.accepted_at,
)
Index("jobs_deadline", jobs.c.status, jobs.c.dispatch_deadline)
_YIELDED = jobs.c.yielded_deadline.is_not(None)
Index("jobs_yielded", jobs.c.yielded_deadline, sqlite_where=_YIELDED, postgresql_where=_YIELDED)
# The few jobs whose cancel no worker has acknowledged yet.
UNACKNOWLEDGED = text(
    "cancel_requested_at IS NOT NULL AND cancel_acknowledged_at IS NULL AND revoked_at IS NULL"
)
Index(
    "jobs_cancelling",
    jobs.c.cancel_requested_at,
    sqlite_where=UNACKNOWLEDGED,
    postgresql_where=UNACKNOWLEDGED,
)
# What a search for words asks, likewise without the output.
Index(
    "jobs_said",
    *(jobs.c[name] for name in ("job_id", "attempt", "worker", "stage", "note", "error", "held_reason")),
).ddl_if(dialect="sqlite")

dependencies = Table(
    "dependencies",
    metadata,
    Column("job_id", JobId, ForeignKey("admissions.job_id"), primary_key=True),
    Column("predecessor_id", JobId, ForeignKey("admissions.job_id"), primary_key=True, index=True),
)

transitions = Table(
    "transitions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job_id", JobId, ForeignKey("admissions.job_id"), nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("from_status", String(16)),
    Column("to_status", String(16), nullable=False),
    Column("name", String(16), nullable=False),
    Column("fence", Integer, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("reason", Text),
)

events = Table(
    "events",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("job_id", JobId, ForeignKey("admissions.job_id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("type", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Column("payload", Text, nullable=False),
    Column("status", String(16)),
    UniqueConstraint("job_id", "seq"),
    sqlite_autoincrement=True,
)

attempts = Table(
    "attempts",
    metadata,
    Column("job_id", JobId, ForeignKey("admissions.job_id"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("worker", String(128), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("heartbeat_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("end_reason", String(64)),
    Column("late_output", Text),
    Column("traceback", Text),
)
_LIVE = text("ended_at IS NULL")
Index("attempts_live", attempts.c.worker, sqlite_where=_LIVE, postgresql_where=_LIVE)

stages = Table(
    "stages",
    metadata,
    Column("job_id", JobId, ForeignKey("admissions.job_id"), primary_key=True),
    Column("node", String(128), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("completed_at", Float, nullable=False),
    Column("checkpoint_id", String(64), nullable=False),
    Column("output_hash", String(64), nullable=False),
)

effects = Table(
    "effects",
    metadata,
    Column("key", String(1024), primary_key=True),
    Column("job_id", JobId, ForeignKey("admissions.job_id"), nullable=False),
    Column("name", String(128), nullable=False),
    Column("node", String(128), nullable=False),
    Column("step", Integer, nullable=False),
    Column("policy", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("request", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("intents", Integer, nullable=False),
    Column("intent_at", Float, nullable=False),
    Column("settled_at", Float),
    Column("settled_by", String(128)),
    Column("outcome", Text),
    Column("proof", Text),
)
Index("effects_of_job", effects.c.job_id, effects.c.state)

artifacts = Table(
    "artifacts",
    metadata,
    Column("artifact_id", String(64), primary_key=True),
    Column("job_id", JobId, ForeignKey("admissions.job_id"), nullable=False),
    Column("sha256", String(64), nullable=False, index=True),
    Column("filename", Text, nullable=False),
    Column("file_path", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("media_type", String(128), nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("title", Text),
    Column("caption", Text),
    Column("inline", Boolean, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("removed_at", Float),
    UniqueConstraint("job_id", "sha256"),
)
_KEPT = text("removed_at IS NULL")
Index("artifacts_kept", artifacts.c.job_id, sqlite_where=_KEPT, postgresql_where=_KEPT)

notifications = Table(
    "notifications",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("job_id", JobId, ForeignKey("admissions.job_id"), nullable=False, index=True),
    Column("name", String(16), nullable=False),
    Column("url", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("next_at", Float),
    Column("last_error", Text),
    Column("delivered_at", Float),
)
_OWED = text("next_at IS NOT NULL")
Index("notifications_due", notifications.c.next_at, sqlite_where=_OWED, postgresql_where=_OWED)

leases = Table(
    "leases",
    metadata,
    Column("role", String(32), primary_key=True),
    Column("owner", String(128), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("acquired_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("taken_from", String(128)),
)

queues = Table(
    "queues",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("paused_at", Float),
    Column("paused_by", String(128)),
)

preferences = Table(
    "preferences",
    metadata,
    Column("tenant", String(256), primary_key=True),
    Column("user", String(256), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("value", Text, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("act", String(32), nullable=False),
    Column("job_id", JobId, index=True),
    Column("version", Integer),
    Column("reason", Text),
    Column("result", Text, nullable=False),
)

drills = Table(
    "drills",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("started_at", Float, nullable=False),
    Column("record", Text, nullable=False),
)

epochs = Table(
    "epochs",
    metadata,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("backend", Text, nullable=False),
    Column("owner", String(128), nullable=False),
    Column("embedded", Boolean, nullable=False),
    Column("scheduler_id", Text),
    Column("started_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("workers_gone", Boolean, nullable=False),
    Column("end_reason", Text),
)

clock = Table(
    "clock",
    metadata,
    Column("database_id", String(64), primary_key=True),
    Column("machine", Text, nullable=False),
    Column("anchor", Float, nullable=False),
    Column("at", Float, nullable=False),
)
