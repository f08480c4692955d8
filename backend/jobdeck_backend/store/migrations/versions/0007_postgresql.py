"""PostgreSQL: who appended an event, and word of it to whoever listens"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0005"

_FUNCTION = """
CREATE FUNCTION jobdeck_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('jobdeck_events', job_id) FROM (SELECT DISTINCT job_id FROM appended) AS told;
    RETURN NULL;
END $$
"""
_TRIGGER = """
CREATE TRIGGER jobdeck_tell AFTER INSERT ON events REFERENCING NEW TABLE AS appended
FOR EACH STATEMENT EXECUTE FUNCTION jobdeck_tell()
"""


def upgrade() -> None:
    """For PostgreSQL alone."""
    if op.get_bind().dialect.name != "postgresql":
        return
    statements = (
        # Room for more rows than 32 bits can count.
        "ALTER TABLE events ALTER COLUMN position TYPE BIGINT",
        "ALTER SEQUENCE events_position_seq AS BIGINT",
        "ALTER TABLE transitions ALTER COLUMN id TYPE BIGINT",
        "ALTER SEQUENCE transitions_id_seq AS BIGINT",
        "ALTER TABLE audit ALTER COLUMN id TYPE BIGINT",
        "ALTER SEQUENCE audit_id_seq AS BIGINT",
        # The transaction of each event: what a reader's snapshot did not show is told by it (R29).
        "ALTER TABLE events ADD COLUMN xid BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint)",
        "CREATE INDEX events_xid ON events (xid)",
        _FUNCTION,
        _TRIGGER,
    )
    for statement in statements:
        op.execute(sa.text(statement))
