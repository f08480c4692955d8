"""Alembic's entry: runs the revisions on the connection, and in the transaction, that ``migrate`` opened."""

from alembic import context
from jobdeck_backend.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
