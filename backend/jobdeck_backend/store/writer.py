"""Group commit: one thread writes; whatever is waiting goes into one transaction.

No timer: a lone command commits at once, a crowd shares one sync to disk. Each command has its own savepoint,
so a refused one takes none of its neighbours along.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import Unavailable
from jobdeck_backend.store.engine import Database, cause_of, quick_statement
from jobdeck_backend.store.trouble import is_trouble

P = ParamSpec("P")
T = TypeVar("T")

GROUP_MAX = 256
# PostgreSQL gives a transaction up for one that locks the same rows in another order: it is done again.
GIVEN_UP = {"40001", "40P01"}
TRIES = 3


Command = tuple[Callable[[Connection], Any], Future[Any]]


class _RefusedError(Exception):
    """One command of a group without savepoints was refused."""


def _no_savepoint(_statement: str) -> None:
    """The group stands or falls as one."""


class Writer:
    """The server's only writer. ``submit`` from any thread; await the future with ``asyncio.wrap_future``."""

    def __init__(self, database: Database, *, on_commit: Callable[[], object] = lambda: None) -> None:
        """``on_commit`` is called on the writer's thread after each group that reached the disk."""
        self._database = database
        self._on_commit = on_commit
        self._waiting: deque[Command] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._in_doubt = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, command: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
        """Queue ``command(connection, *args, **kwargs)``; the future resolves after its commit.

        The future raises what the command raised, or the ``Unavailable`` that says why nothing could be written.
        Raises ``DatabaseDamaged`` at once where that is known.
        """
        self._database.condition.refuse_if_damaged()
        future: Future[T] = Future()
        with self._wake:
            if self._stopping:
                raise Unavailable("the server is shutting down; nothing was stored")
            self._waiting.append((lambda connection: command(connection, *args, **kwargs), future))
            self._wake.notify()
        return future

    def stop(self) -> None:
        """Write what is waiting, then end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while waiting := self._next_group():
            # Who stopped waiting before its turn wants nothing stored; from here on nobody can back out.
            group = [one for one in waiting if one[1].set_running_or_notify_cancel()]
            try:
                settled = self._commit(group)
            except Exception as error:  # whatever it is: without this thread nothing would be stored again
                reason = self._reason(error)
                for _command, future in group:
                    future.set_exception(reason)
                continue
            self._database.condition.worked()
            for future, result, failure in settled:
                if failure is None:
                    future.set_result(result)
                else:
                    future.set_exception(failure)
            self._on_commit()

    def _reason(self, error: Exception) -> Unavailable:
        known = self._database.condition.failed(error) if is_trouble(error) else None
        if known is not None and not self._in_doubt:
            return known
        stored = "it is not known whether it was stored" if self._in_doubt else "nothing was stored"
        return Unavailable(f"the database cannot be written ({cause_of(error)}); {stored}")

    def _next_group(self) -> list[Command]:
        with self._wake:
            while not self._waiting and not self._stopping:
                self._wake.wait()
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_MAX))]

    def _commit(self, group: list[Command]) -> list[tuple[Future[Any], Any, BaseException | None]]:
        # Savepoints cost PostgreSQL a third of its time. Without them a refusal is everybody's: then anew.
        apart = self._database.path is not None
        for last in (False,) * TRIES + (True,):
            try:
                return self._commit_once(group, apart=apart or last)
            except _RefusedError:
                apart = True
            except DBAPIError as error:
                if last or getattr(error.orig, "sqlstate", None) not in GIVEN_UP:
                    raise
        raise AssertionError("the last try ends in one way or the other")

    def _commit_once(
        self, group: list[Command], *, apart: bool
    ) -> list[tuple[Future[Any], Any, BaseException | None]]:
        self._in_doubt = False
        settled: list[tuple[Future[Any], Any, BaseException | None]] = []
        with self._database.write() as connection:
            savepoint = quick_statement(connection) if apart else _no_savepoint
            for command, future in group:
                savepoint("SAVEPOINT command")
                try:
                    settled.append((future, command(connection), None))
                except Exception as error:
                    if isinstance(error, DBAPIError) and is_trouble(error):
                        raise  # the database itself: the whole group failed
                    if not apart:
                        raise _RefusedError from error
                    savepoint("ROLLBACK TO command")
                    settled.append((future, None, error))
                savepoint("RELEASE command")
            # An answer to the commit that is lost on its way from a server tells nothing.
            self._in_doubt = self._database.path is None
        self._in_doubt = False
        return settled
