"""Lists of jobs that are filtered and sorted: counted and paged in the database as far as the records can tell."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Column, ColumnElement, Connection, Select, String, and_, case, func, or_, select
from sqlalchemy.sql.visitors import iterate

from jobdeck_backend.jobs.filter_terms import Term
from jobdeck_backend.jobs.orders import GROUP, RECENT_FAILURE_S, Place
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.jobs.view import JobSource
from jobdeck_backend.store import rows
from jobdeck_backend.store.search_terms import Condition, narrow
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
_WITHOUT_VALUE = frozenset({"left", "worker", "finished"})
SORTS = frozenset({*_COLUMNS, "risk"})
"""Orders that the records alone tell."""


def _risk(now: float) -> ColumnElement[Any]:
    """``orders.risk``, of the records."""
    outcome, deadline, ended = admissions.c.outcome, admissions.c.deadline, admissions.c.finished_at
    held = and_(jobs.c.status != Status.RUNNING, jobs.c.held_reason.is_not(None))
    failed = and_(outcome == "failed", ended >= now - RECENT_FAILURE_S)
    return case(
        (failed, GROUP - ended),
        (outcome.is_not(None), 6 * GROUP - func.coalesce(ended, admissions.c.accepted_at)),
        (deadline <= now, deadline),
        (held, 2 * GROUP + admissions.c.accepted_at),
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

    def count(self, tx: Connection) -> int:
        """How many rows the database finds: all that match, where there is no ``rest``."""
        return int(tx.execute(_narrowed(select(func.count()), self.where)).scalar_one())

    def page(
        self, tx: Connection, sort: str, *, now: float, after: Place | None, limit: int
    ) -> list[JobSource]:
        """Rows in one of ``SORTS``' orders behind a place. Raises ``TypeError`` for a place of another order."""
        name, descending = sort.removeprefix("-"), sort.startswith("-")
        key = _risk(now) if name == "risk" else _COLUMNS[name]
        row_id = admissions.c.job_id
        order: list[ColumnElement[Any]] = [key.is_(None)] if name in _WITHOUT_VALUE else []
        order += [key.desc(), row_id.desc()] if descending else [key, row_id]
        statement = _narrowed(select(row_id), self.where).order_by(*order).limit(limit)
        if after is not None:
            behind = _behind(key, after, descending=descending, nullable=name in _WITHOUT_VALUE)
            statement = statement.where(behind)
        # Ids are sorted, not whole rows: that is half the time.
        ids = [job_id for (job_id,) in tx.execute(statement)]
        found = {source.job_id: source for source in rows.load(tx, ids)}
        return [found[job_id] for job_id in ids]

    def pages(self, tx: Connection, now: float) -> Iterator[list[JobSource]]:
        """Every row that the database finds, newest acceptance first, ``rows.IDS_MAX`` at a time."""
        after: Place | None = None
        while found := self.page(tx, "-accepted", now=now, after=after, limit=rows.IDS_MAX):
            yield found
            after = (found[-1].accepted_at, found[-1].job_id)


def _narrowed(statement: Select[Any], where: Sequence[Condition]) -> Select[Any]:
    """The statement on the rows that the conditions leave, with no table that they do not ask for."""
    asked = {element.table for one in where for element in iterate(one) if isinstance(element, Column)}
    joined = admissions.join(jobs, jobs.c.job_id == admissions.c.job_id)
    for table, on in rows.BESIDE.items():
        if table in asked:
            joined = joined.outerjoin(table, on)
    return statement.select_from(joined).where(*where)


def _behind(key: ColumnElement[Any], place: Place, *, descending: bool, nullable: bool) -> Condition:
    value, job_id = place
    row_id = admissions.c.job_id
    later_id = row_id < job_id if descending else row_id > job_id
    if value is None:
        return and_(key.is_(None), later_id)
    if isinstance(value, str) != isinstance(key.type, String):
        raise TypeError(value)
    # The first comparison is an index's; the second tells equal ones apart.
    behind = (
        and_(key <= value, or_(key < value, later_id))
        if descending
        else and_(key >= value, or_(key > value, later_id))
    )
    return or_(behind, key.is_(None)) if nullable else behind
