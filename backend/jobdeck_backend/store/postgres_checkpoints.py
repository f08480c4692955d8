"""LangGraph's PostgreSQL saver, fenced, and its tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from jobdeck_backend.store.checkpoints import FencedSaver
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.postgres import Postgres
from jobdeck_backend.store.transactions import transact


def create_tables(database: Database) -> None:
    """LangGraph's own migrations; some of them refuse to be part of a transaction."""
    assert isinstance(database.dialect, Postgres)
    arguments = database.dialect.connection_arguments()
    with psycopg.connect(**arguments, autocommit=True, row_factory=dict_row) as connection:
        PostgresSaver(connection).setup()


class FencedPostgresSaver(FencedSaver, PostgresSaver):
    """PostgreSQL's: its statements are part of the slot's transaction, and outlast an absence of the database."""

    def __init__(self, connection: Connection, lock: RLock) -> None:
        super().__init__(_driver_of(connection))
        self._connection, self._connection_lock = connection, lock

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that ``config`` names, or the thread's newest."""
        stock = super().get_tuple
        with self._connection_lock:
            if self._connection.in_transaction():
                return stock(config)
            return transact(self._connection, lambda _tx: stock(config), writes=False)

    @contextmanager
    def _cursor(self, *, pipeline: bool = False) -> Iterator[psycopg.Cursor[DictRow]]:
        driver = _driver_of(self._connection)  # another one after each absence of the database
        try:
            with driver.cursor(binary=True, row_factory=dict_row) as cursor:
                if not pipeline:
                    yield cursor
                    return
                with driver.pipeline():
                    yield cursor
        except psycopg.Error as error:
            gone = bool(driver.closed)
            if gone:
                self._connection.invalidate(error)
            raise OperationalError("checkpoint", None, error, connection_invalidated=gone) from error


def _driver_of(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
