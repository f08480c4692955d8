"""Lists of jobs that are filtered and sorted: counted and paged in the database as far as the records can tell."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Select,
    String,
    and_,
    case,
    cast,
    func,
    null,
    or_,
    select,
)
from sqlalchemy.sql.visitors import iterate

from jobdeck_backend.jobs.filter_terms import Term
from jobdeck_backend.jobs.orders import GROUP, RECENT_FAILURE_S, STATE_RANK, Place
from jobdeck_backend.jobs.states import FINISHED
from jobdeck_backend.jobs.view import JobSource
from jobdeck_backend.store import rows
from jobdeck_backend.store.search_terms import HELD, Condition, narrow
from jobdeck_backend.store.tables import admissions, jobs

_COLUMNS: dict[str, ColumnElement[Any]] = {
    "accepted": admissions.c.accepted_at,
    "left": admissions.c.deadline,
    "queue": admissions.c.queue,
    "agent": admissions.c.agent_type,
    "worker": jobs.c.worker,
    "try": jobs.c.attempt,
    "priority": jobs.c.priority,
    "finished": admissions.c.finished_at,
    "id": admissions.c.job_id,
}
_WITHOUT_VALUE = frozenset({"left", "worker", "finished", "slack"})
SORTS = frozenset({*_COLUMNS, "risk"})
"""Orders that the records alone tell."""
_OF_FINISHED: dict[str, ColumnElement[Any]] = {
    "state": case({str(state): STATE_RANK[state] for state in FINISHED}, value=admissions.c.outcome),
    "slack": cast(null(), Float),
}
SORTS_OF_FINISHED = frozenset(_OF_FINISHED)
"""Orders that the records tell of finished jobs; of the others Dask or the forecast must be asked."""


_held = admissions.c.job_id.in_(HELD)


def _risk(now: float) -> ColumnElement[Any]:
    """``orders.risk``, of the records."""
    outcome, deadline, ended = admissions.c.outcome, admissions.c.deadline, admissions.c.finished_at
    failed = and_(outcome == "failed", ended >= now - RECENT_FAILURE_S)
    return case(
        (failed, GROUP - ended),
        (outcome.is_not(None), 6 * GROUP - func.coalesce(ended, admissions.c.accepted_at)),
        (deadline <= now, deadline),
        (_held, 2 * GROUP + admissions.c.accepted_at),
        (deadline.is_not(None), 3 * GROUP + deadline),
        else_=4 * GROUP + admissions.c.accepted_at,
    )


@dataclass(frozen=True)
class Search:
    """A filter as the database can be asked it; ``rest`` are the terms to ask of the rows themselves."""

    where: tuple[Condition, ...]
    rest: tuple[Term, ...]

    @classmethod
    def of(cls, terms: Iterable[Term], now: float) -> Self:
        """Of a filter's terms; ``now`` in Unix seconds."""
        narrowed = [(term, narrow(term, now)) for term in terms]
        where = tuple(found.where for _term, found in narrowed)
        return cls(where, tuple(term for term, found in narrowed if not found.exact))

    def only(self, *, finished: bool) -> Self:
        """Among finished jobs alone, or among the others."""
        outcome = admissions.c.outcome
        return replace(self, where=(*self.where, outcome.is_not(None) if finished else outcome.is_(None)))

    def page(
        self, tx: Connection, sort: str, *, now: float, after: Place | None, limit: int
    ) -> tuple[int, list[JobSource]]:
        """How many rows the database finds, and those behind a place in one of ``SORTS``' orders.

        Among finished jobs alone, ``SORTS_OF_FINISHED`` are known too.

        Raises ``TypeError`` for a place of another order.
        """
        if not self.where:
            return rows.total(tx), self._rows(tx, sort, now=now, after=after, limit=limit)
        key = _key(sort, now)
        asked = _asking(select(admissions.c.job_id, key.label("key")), (*self.where, key)).where(*self.where)
        found = asked.cte("found")  # looked through once, for the count and for the page
        matching = select(func.count()).select_from(found)
        statement = select(found.c.job_id, matching.scalar_subquery())
        answer = tx.execute(_ordered(statement, sort, found.c.key, found.c.job_id, after, limit)).all()
        # Behind the last one there is nothing that tells how many there are.
        count = answer[0][1] if answer else 0 if after is None else tx.execute(matching).scalar_one()
        return int(count), _in_order(tx, [job_id for job_id, _ in answer])

    def ids(self, tx: Connection) -> set[str]:
        """The ids of all that the database finds; no row is read for them."""
        asked = _asking(select(admissions.c.job_id), self.where).where(*self.where)
        return {job_id for (job_id,) in tx.execute(asked)}

    def pages(self, tx: Connection, now: float) -> Iterator[list[JobSource]]:
        """Every row that the database finds, newest acceptance first, ``rows.IDS_MAX`` at a time."""
        after: Place | None = None
        while found := self._rows(tx, "-accepted", now=now, after=after, limit=rows.IDS_MAX):
            yield found
            after = (found[-1].accepted_at, found[-1].job_id)

    def _rows(
        self, tx: Connection, sort: str, *, now: float, after: Place | None, limit: int
    ) -> list[JobSource]:
        key = _key(sort, now)
        asked = _asking(select(admissions.c.job_id), (*self.where, key)).where(*self.where)
        statement = _ordered(asked, sort, key, admissions.c.job_id, after, limit)
        return _in_order(tx, [job_id for (job_id,) in tx.execute(statement)])


def _key(sort: str, now: float) -> ColumnElement[Any]:
    name = sort.removeprefix("-")
    return _risk(now) if name == "risk" else {**_COLUMNS, **_OF_FINISHED}[name]


def _asking(statement: Select[Any], asks: Sequence[ColumnElement[Any]]) -> Select[Any]:
    """The statement with no table beside the admissions that it does not ask for."""
    asked = {element.table for one in asks for element in iterate(one) if isinstance(element, Column)}
    joined: FromClause = admissions
    if not asked.isdisjoint({jobs, *rows.BESIDE}):
        # Every admission has its job. Said like this, SQLite begins with the admissions' index of what lists ask,
        # and goes on by that of the jobs which holds more than their ids: no row is read.
        joined = joined.outerjoin(jobs, and_(jobs.c.job_id == admissions.c.job_id, jobs.c.attempt >= 0))
    for table, on in rows.BESIDE.items():
        if table in asked:
            joined = joined.outerjoin(table, on)
    return statement.select_from(joined)


def _in_order(tx: Connection, ids: Sequence[str]) -> list[JobSource]:
    """The rows of these ids. Ids are sorted, not whole rows: that is half the time."""
    found = {source.job_id: source for source in rows.load(tx, ids)}
    return [found[job_id] for job_id in ids]


def _ordered(
    statement: Select[Any],
    sort: str,
    key: ColumnElement[Any],
    row_id: ColumnElement[Any],
    after: Place | None,
    limit: int,
) -> Select[Any]:
    """Rows without a value come last either way, equal ones by id."""
    descending, nullable = sort.startswith("-"), sort.removeprefix("-") in _WITHOUT_VALUE
    order: list[ColumnElement[Any]] = [key.is_(None)] if nullable else []
    order += [key.desc(), row_id.desc()] if descending else [key, row_id]
    if after is not None:
        behind = _behind(key, row_id, after, descending=descending)
        statement = statement.where(
            or_(behind, key.is_(None)) if nullable and after[0] is not None else behind
        )
    return statement.order_by(*order).limit(limit)


def _behind(
    key: ColumnElement[Any], row_id: ColumnElement[Any], place: Place, *, descending: bool
) -> Condition:
    value, job_id = place
    later_id = row_id < job_id if descending else row_id > job_id
    if value is None:
        return and_(key.is_(None), later_id)
    if isinstance(value, str) != isinstance(key.type, String):
        raise TypeError(value)
    # The first comparison is an index's; the second tells equal ones apart.
    if descending:
        return and_(key <= value, or_(key < value, later_id))
    return and_(key >= value, or_(key > value, later_id))
