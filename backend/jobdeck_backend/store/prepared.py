"""Statements that every job needs: compiled by SQLAlchemy once, executed by SQLite's own driver.

For one row SQLAlchemy works five times as long as SQLite does. PostgreSQL's are SQLAlchemy's as ever: the way to
the server outweighs it, and its care for broken connections is needed.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.store.engine import is_postgres

Parameters = Mapping[str, Any]
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Compiled:
    sql: str
    fixed: dict[str, Any]
    """Values that are part of the statement."""
    values: Callable[[Parameters], Any]
    """In the order in which the driver wants them."""
    convert: tuple[tuple[int, Callable[[Any], Any]], ...]
    """What the driver gives otherwise than SQLAlchemy would, by its place in the row."""


class Prepared:
    """One statement. Its parameters' names may differ from one execution to another, as columns to be set do.

    Every method raises what ``Connection.execute`` raises.
    """

    def __init__(self, statement: Executable) -> None:
        """``statement`` has no list among its parameters."""
        self._statement: Any = statement
        self._compiled: dict[tuple[str, ...], _Compiled] = {}

    def first(self, tx: Connection, parameters: Parameters) -> Row | None:
        """The first row, or None."""
        if is_postgres(tx):
            found: Row | None = tx.execute(self._statement, parameters).first()
            return found
        rows = self._execute(tx, parameters)
        return rows[0] if rows else None

    def rows(self, tx: Connection, parameters: Parameters) -> Sequence[Row]:
        """All rows."""
        if is_postgres(tx):
            return tx.execute(self._statement, parameters).all()
        return self._execute(tx, parameters)

    def run(self, tx: Connection, *parameters: Parameters) -> int:
        """Write once for each of ``parameters``, which have the same names; how many rows were written."""
        if is_postgres(tx):
            return tx.execute(self._statement, parameters[0] if len(parameters) == 1 else parameters).rowcount
        compiled = self._for(tx, parameters[0])
        values = [compiled.values({**compiled.fixed, **one}) for one in parameters]
        driver = _driver(tx)
        try:
            if len(values) == 1:
                return driver.execute(compiled.sql, values[0]).rowcount
            return driver.executemany(compiled.sql, values).rowcount
        except sqlite3.Error as error:
            raise _raised(compiled, error) from error

    def _execute(self, tx: Connection, parameters: Parameters) -> Sequence[Row]:
        compiled = self._for(tx, parameters)
        try:
            cursor = _driver(tx).execute(compiled.sql, compiled.values({**compiled.fixed, **parameters}))
            found: list[Row] = cursor.fetchall()
        except sqlite3.Error as error:
            raise _raised(compiled, error) from error
        if compiled.convert:
            found = [_converted(row, compiled) for row in found]
        return found

    def _for(self, tx: Connection, parameters: Parameters) -> _Compiled:
        names = tuple(parameters)
        known = self._compiled.get(names)
        if known is None:
            known = self._compiled[names] = self._compile(tx, names)
        return known

    def _compile(self, tx: Connection, names: tuple[str, ...]) -> _Compiled:
        compiled = self._statement.compile(dialect=tx.dialect, column_keys=list(names))
        order = compiled.positiontup
        columns = getattr(self._statement, "exported_columns", ())
        processors = [
            column.type.dialect_impl(tx.dialect).result_processor(tx.dialect, None) for column in columns
        ]
        return _Compiled(
            sql=str(compiled),
            fixed={name: value for name, value in compiled.params.items() if name not in names},
            values=itemgetter(*order) if len(order) > 1 else lambda one: (one[order[0]],),
            convert=tuple(
                (place, convert) for place, convert in enumerate(processors) if convert is not None
            ),
        )


def _converted(row: Row, compiled: _Compiled) -> Row:
    values = list(row)
    for place, convert in compiled.convert:
        values[place] = convert(values[place])
    return values


def _driver(tx: Connection) -> sqlite3.Connection:
    if not tx.in_transaction():
        tx.begin()  # as SQLAlchemy's own first statement would
    driver = tx.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _raised(compiled: _Compiled, error: sqlite3.Error) -> BaseException:
    return DBAPIError.instance(compiled.sql, None, error, sqlite3.Error, hide_parameters=True)
