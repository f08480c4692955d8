"""What is remembered of a user: one JSON object with a revision, and a write names the revision it read (R34).

A namespace is whole, (tenant, user, "preferences"): a lookup never sees a neighbour's (R33). A write that comes
late changes nothing; its author reads again and works out anew. No lock is held between a read and a write.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import orjson
from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert  # SQLite says it in the same words

from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.tables import preferences
from jobdeck_backend.store.writer import Writer


class Namespace(NamedTuple):
    """Whose record it is, and which."""

    tenant: str
    user: str
    name: str = "preferences"


@dataclass(frozen=True, slots=True)
class Preferences:
    """A record as it was read; revision 0 is the one that nobody has written yet."""

    revision: int
    value: Mapping[str, Any]


NOTHING = Preferences(0, {})


class PreferenceStore(Protocol):
    """Where the records are. Its methods raise ``Unavailable`` where it cannot be reached."""

    async def read(self, namespace: Namespace) -> Preferences:
        """The record as it is now."""

    async def write(self, namespace: Namespace, value: str, expected: int) -> bool:
        """Replace the record by JSON; False, and nothing changed, when ``expected`` is no longer its revision."""

    async def close(self) -> None:
        """Let go of what it keeps open."""


_COLUMNS = (preferences.c.tenant, preferences.c.user, preferences.c.name)
_THIS = tuple(column == bindparam(f"own_{column.name}") for column in _COLUMNS)
_LOAD = select(preferences.c.revision, preferences.c.value).where(*_THIS)
_INSERT = (
    insert(preferences)
    .on_conflict_do_nothing(index_elements=list(_COLUMNS))
    .execution_options(preserve_rowcount=True)
)
_REPLACE = update(preferences).where(*_THIS, preferences.c.revision == bindparam("expected"))


def load(tx: Connection, namespace: Namespace) -> Preferences:
    """The record as this transaction sees it."""
    row = tx.execute(_LOAD, _own(namespace)).first()
    return NOTHING if row is None else Preferences(row.revision, orjson.loads(row.value))


def replace(tx: Connection, namespace: Namespace, value: str, expected: int) -> bool:
    """See ``PreferenceStore.write``."""
    new = {"revision": expected + 1, "value": value}
    if expected == 0:
        return tx.execute(_INSERT, namespace._asdict() | new).rowcount == 1
    return tx.execute(_REPLACE, _own(namespace) | {"expected": expected} | new).rowcount == 1


def _own(namespace: Namespace) -> dict[str, str]:
    return {f"own_{name}": text for name, text in namespace._asdict().items()}


class SqlPreferences:
    """In jobdeck's own database, whichever it is."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer

    async def read(self, namespace: Namespace) -> Preferences:
        """See ``PreferenceStore``."""
        return await asyncio.to_thread(self._load, namespace)

    def _load(self, namespace: Namespace) -> Preferences:
        with self._database.read() as tx:
            return load(tx, namespace)

    async def write(self, namespace: Namespace, value: str, expected: int) -> bool:
        """See ``PreferenceStore``."""
        return await self._writer.submit(replace, namespace, value, expected)

    async def close(self) -> None:
        """The database is others' to close."""
