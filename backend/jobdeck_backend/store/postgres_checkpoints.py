"""LangGraph's PostgreSQL saver, fenced, and its tables."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Connection
from sqlalchemy.exc import DataError, OperationalError

from jobdeck_backend.store.checkpoints import FencedSaver
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.postgres import Postgres, driver_of
from jobdeck_backend.store.transactions import transact
from jobdeck_backend.store.trouble import hide_values


def create_tables(database: Database) -> None:
    """LangGraph's own migrations; some of them refuse to be part of a transaction. Raises ``DBAPIError``."""
    assert isinstance(database.dialect, Postgres)
    arguments = database.dialect.connection_arguments()
    try:
        with psycopg.connect(**arguments, autocommit=True, row_factory=dict_row) as connection:
            # As the engines do: whatever the server's default is.
            connection.execute("SET default_transaction_read_only = off")
            PostgresSaver(connection).setup()
    except psycopg.Error as error:
        hide_values(error)
        raise OperationalError("checkpoint tables", None, error) from error


@dataclass(frozen=True, slots=True)
class _Beside:
    """A value of a channel that is kept beside the checkpoint, where it may be any bytes."""

    value: str | float


def _fit(value: Any) -> Any:
    """LangGraph writes texts and numbers into the checkpoint itself, as JSONB. Not all of them can be: NUL, half a
    surrogate pair, NaN."""
    if isinstance(value, float):
        return value if math.isfinite(value) else _Beside(value)
    if isinstance(value, str) and ("\0" in value or not _is_utf8(value)):
        return _Beside(value)
    return value


def _is_utf8(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


class FencedPostgresSaver(FencedSaver, PostgresSaver):
    """PostgreSQL's: its statements are part of the slot's transaction, and outlast an absence of the database."""

    def __init__(self, connection: Connection, lock: RLock) -> None:
        super().__init__(driver_of(connection))
        self._connection, self._connection_lock = connection, lock

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that ``config`` names, or the thread's newest."""
        stock = super().get_tuple
        with self._connection_lock:
            if self._connection.in_transaction():
                return stock(config)
            return transact(self._connection, lambda _tx: stock(config), begin=_alone, writes=False)

    def _put(self, config: RunnableConfig, checkpoint: Checkpoint, *more: Any) -> RunnableConfig:
        values = {name: _fit(value) for name, value in checkpoint["channel_values"].items()}
        return super()._put(config, {**checkpoint, "channel_values": values}, *more)

    def _dump_blobs(
        self, thread_id: str, checkpoint_ns: str, values: dict[str, Any], versions: ChannelVersions
    ) -> list[tuple[str, str, str, str, str, bytes | None]]:
        own = {name: one.value if isinstance(one, _Beside) else one for name, one in values.items()}
        return super()._dump_blobs(thread_id, checkpoint_ns, own, versions)

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[psycopg.Cursor[DictRow]]:
        driver = driver_of(self._connection)  # another one after each absence of the database
        try:
            with driver.cursor(binary=True, row_factory=dict_row) as cursor:
                if not pipeline:
                    yield cursor
                    return
                with driver.pipeline():
                    yield cursor
        except psycopg.DataError as error:  # it will never be taken, however often it is tried
            raise DataError("checkpoint", None, error) from error
        except psycopg.Error as error:
            hide_values(error)
            gone = bool(driver.closed)
            if gone:
                self._connection.invalidate(error)
            raise OperationalError("checkpoint", None, error, connection_invalidated=gone) from error


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Each statement for itself: a read of one spares the messages that begin and end a transaction."""
    driver = driver_of(connection)
    driver.autocommit = True
    try:
        yield
    finally:
        if not driver.closed:
            driver.autocommit = False
