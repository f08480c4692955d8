"""Group commit: one thread writes; whatever is waiting goes into one transaction.

No timer: a lone command commits at once, a crowd shares one sync to disk. Where a command is refused the group is
done anew, each in its own savepoint, so that it takes none of its neighbours along.
"""

import asyncio
import threading
from asyncio import AbstractEventLoop, Future
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from jobdeck_backend.errors import DatabaseLocked, Unavailable
from jobdeck_backend.store.engine import Database, quick_statement
from jobdeck_backend.store.trouble import cause_of, is_trouble

T = TypeVar("T")

GROUP_MAX = 256
# PostgreSQL gives a transaction up for one that locks the same rows in another order: it is done again.
GIVEN_UP = {"40001", "40P01"}
TRIES = 3


class _RefusedError(Exception):
    """One command of a group without savepoints was refused."""


Together = Callable[[Connection, Sequence[Any]], Sequence[Any] | None]
"""Many of one command, given each one's arguments: their results. None, with nothing written: do each alone."""


@dataclass(slots=True)
class Waiting:
    """A command, and who waits for it."""

    command: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    future: Future[Any]

    def do(self, connection: Connection) -> Any:
        """What the command answers."""
        return self.command(connection, *self.args, **self.kwargs)


Settled = tuple[Future[Any], Any, BaseException | None]


class Writer:
    """The server's only writer: a thread that event loops give their commands."""

    def __init__(
        self,
        database: Database,
        *,
        on_commit: Callable[[], object] = lambda: None,
        together: Mapping[Callable[..., Any], Together] | None = None,
    ) -> None:
        """``on_commit`` is called on the writer's thread after each group that reached the disk.

        ``together`` has for a command what does many of it at once.
        """
        self._database = database
        self._on_commit = on_commit
        self._together = together or {}
        self._waiting: deque[Waiting] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._in_doubt = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, command: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
        """Queue ``command(connection, *args, **kwargs)``; await the future for what came of it, after its commit.

        The future raises what the command raised, or the ``Unavailable`` that says why nothing could be written.
        Raises ``DatabaseDamaged`` at once where that is known.
        """
        self._database.condition.refuse_if_damaged()
        future: Future[T] = asyncio.get_running_loop().create_future()
        with self._wake:
            if self._stopping:
                raise Unavailable("the server is shutting down; nothing was stored")
            self._waiting.append(Waiting(command, args, kwargs, future))
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
            group = [one for one in waiting if not one.future.cancelled()]
            try:
                settled = self._commit(group)
            except Exception as error:  # whatever it is: without this thread nothing would be stored again
                reason = self._reason(error)
                if isinstance(reason, DatabaseLocked):
                    # Who came meanwhile waits no second time as long: told later, nobody would listen any more.
                    group += self._all_waiting()
                _answer([(one.future, None, reason) for one in group])
                continue
            self._database.condition.worked()
            _answer(settled)
            self._on_commit()

    def _reason(self, error: Exception) -> Unavailable:
        known = self._database.condition.failed(error) if is_trouble(error) else None
        if known is not None and not self._in_doubt:
            return known
        stored = "it is not known whether it was stored" if self._in_doubt else "nothing was stored"
        return Unavailable(f"the database cannot be written ({cause_of(error)}); {stored}")

    def _next_group(self) -> list[Waiting]:
        with self._wake:
            while not self._waiting and not self._stopping:
                self._wake.wait()
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), GROUP_MAX))]

    def _all_waiting(self) -> list[Waiting]:
        with self._wake:
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting

    def _commit(self, group: Sequence[Waiting]) -> list[Settled]:
        # Savepoints cost a third of the time. Without them a refusal is everybody's: then anew.
        apart = False
        for last in (False,) * TRIES + (True,):
            try:
                return self._commit_once(group, apart=apart or last)
            except _RefusedError:
                apart = True
            except DBAPIError as error:
                if last or getattr(error.orig, "sqlstate", None) not in GIVEN_UP:
                    raise
        raise AssertionError("the last try ends in one way or the other")

    def _commit_once(self, group: Sequence[Waiting], *, apart: bool) -> list[Settled]:
        self._in_doubt = False
        with self._database.write() as connection:
            settled = self._do_apart(connection, group) if apart else self._do(connection, group)
            # An answer to the commit that is lost on its way from a server tells nothing.
            self._in_doubt = self._database.path is None
        self._in_doubt = False
        return settled

    def _do(self, connection: Connection, group: Sequence[Waiting]) -> list[Settled]:
        """The group stands or falls as one."""
        settled: list[Settled] = []
        try:
            for command, run in groupby(group, lambda one: one.command):
                alike = list(run)
                together = self._together.get(command) if len(alike) > 1 else None
                results = together(connection, [one.args for one in alike]) if together else None
                if results is None:
                    results = [one.do(connection) for one in alike]
                settled += [(one.future, result, None) for one, result in zip(alike, results, strict=True)]
        except Exception as error:
            if isinstance(error, DBAPIError) and is_trouble(error):
                raise  # the database itself: the whole group failed
            raise _RefusedError from error
        return settled

    def _do_apart(self, connection: Connection, group: Sequence[Waiting]) -> list[Settled]:
        """A refused command takes none of its neighbours along."""
        settled: list[Settled] = []
        savepoint = quick_statement(connection)
        for one in group:
            savepoint("SAVEPOINT command")
            try:
                settled.append((one.future, one.do(connection), None))
            except Exception as error:
                if isinstance(error, DBAPIError) and is_trouble(error):
                    raise
                savepoint("ROLLBACK TO command")
                settled.append((one.future, None, error))
            savepoint("RELEASE command")
        return settled


def _answer(settled: Iterable[Settled]) -> None:
    """Wake each event loop once for all whom it has waiting: a wake-up for each would cost as much as the rest."""
    by_loop: dict[AbstractEventLoop, list[Settled]] = defaultdict(list)
    for one in settled:
        by_loop[one[0].get_loop()].append(one)
    for loop, ones in by_loop.items():
        with suppress(RuntimeError):  # it is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, ones)


def _settle(settled: Iterable[Settled]) -> None:
    for future, result, failure in settled:
        if future.done():
            continue  # who asked stopped waiting meanwhile
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
