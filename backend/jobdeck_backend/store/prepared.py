"""Statements that every job needs: compiled by SQLAlchemy once, executed by the database's own driver.

For one row SQLAlchemy works five times as long as SQLite does, and twice as long as psycopg. What it raises for an
error, and its care for a connection that broke, are done here as it does them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.store.engine import is_postgres
from jobdeck_backend.store.trouble import hide_values

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
        """By the database's kind and the parameters' names."""

    def first(self, tx: Connection, parameters: Parameters) -> Row | None:
        """The first row, or None."""
        rows = self.rows(tx, parameters)
        return rows[0] if rows else None

    def rows(self, tx: Connection, parameters: Parameters) -> Sequence[Row]:
        """All rows."""
        compiled = self._for(tx, parameters)
        driver = _driver(tx)
        try:
            cursor = driver.execute(compiled.sql, compiled.values({**compiled.fixed, **parameters}))
            found: list[Row] = cursor.fetchall()
        except driver.Error as error:
            raise _raised(tx, compiled, error) from error
        if compiled.convert:
            found = [_converted(row, compiled) for row in found]
        return found

    def run(self, tx: Connection, *parameters: Parameters) -> int:
        """Write once for each of ``parameters``, which have the same names; how many rows were written."""
        if not parameters:
            return 0
        compiled = self._for(tx, parameters[0])
        values = [compiled.values({**compiled.fixed, **one}) for one in parameters]
        driver = _driver(tx)
        try:
            cursor = driver.cursor()
            if len(values) == 1:
                cursor.execute(compiled.sql, values[0])
            else:
                cursor.executemany(compiled.sql, values)
        except driver.Error as error:
            raise _raised(tx, compiled, error) from error
        return int(cursor.rowcount)

    def _for(self, tx: Connection, parameters: Parameters) -> _Compiled:
        names = (tx.dialect.name, *parameters)
        known = self._compiled.get(names)
        if known is None:
            known = self._compiled[names] = self._compile(tx, tuple(parameters))
        return known

    def _compile(self, tx: Connection, names: tuple[str, ...]) -> _Compiled:
        compiled = self._statement.compile(dialect=tx.dialect, column_keys=list(names))
        fixed = {name: value for name, value in compiled.params.items() if name not in names}
        if is_postgres(tx):  # its driver takes them by name, and gives what SQLAlchemy would
            return _Compiled(str(compiled), fixed, values=lambda one: one, convert=())
        order = compiled.positiontup
        columns = getattr(self._statement, "exported_columns", ())
        processors = [
            column.type.dialect_impl(tx.dialect).result_processor(tx.dialect, None) for column in columns
        ]
        return _Compiled(
            sql=str(compiled),
            fixed=fixed,
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


def _driver(tx: Connection) -> Any:
    if not tx.in_transaction():
        tx.begin()  # as SQLAlchemy's own first statement would
    return tx.connection.driver_connection


def _raised(tx: Connection, compiled: _Compiled, error: Any) -> BaseException:
    hide_values(error)
    library: Any = tx.dialect.dbapi
    broken = tx.dialect.is_disconnect(error, tx.connection.dbapi_connection, None)
    if broken:
        tx.invalidate(error)
    raised: BaseException = DBAPIError.instance(
        compiled.sql,
        None,
        error,
        library.Error,
        hide_parameters=True,
        connection_invalidated=broken,
        dialect=tx.dialect,
    )
    return raised
