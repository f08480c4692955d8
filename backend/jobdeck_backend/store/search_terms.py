"""A filter's terms as conditions on the records, as far as the records alone can tell.

Dask's picture and the forecast are not in the database: a term that asks for them is only narrowed here, and asked
of the rows that are left. So are words beyond ASCII, which databases fold in different ways.
"""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    Boolean,
    ColumnElement,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType

from jobdeck_backend.jobs.filter_terms import BY_PREFIX, GHOST_S, STATE_WORDS, Term, is_pattern
from jobdeck_backend.jobs.records import UNFINISHED, Status
from jobdeck_backend.jobs.states import FINISHED, State
from jobdeck_backend.store.tables import admissions, attempts, dependencies, jobs, transitions

Condition = ColumnElement[bool]


class Like(FunctionElement[bool]):
    """Whether a text is like a pattern, whatever the case of its letters.

    Asked of each text as it is: to put all letters in small first, and many texts into one, doubles what a search
    takes SQLite.
    """

    inherit_cache = True
    type = Boolean()

    def __init__(self, text: ColumnElement[Any], pattern: str) -> None:
        super().__init__(text, literal(pattern))

    def self_group(self, against: OperatorType | None = None) -> Self:  # noqa: ARG002
        """As it is: a database without truth values is not asked whether it equals 1."""
        return self


@compiles(Like)
def _like(like: Like, compiler: SQLCompiler, operator: str = "ILIKE", **options: Any) -> str:
    text, pattern = (compiler.process(clause, **options) for clause in like.clauses)
    return f"{text} {operator} {pattern} ESCAPE '/'"


@compiles(Like, "sqlite")
def _sqlite_like(like: Like, compiler: SQLCompiler, **options: Any) -> str:
    return _like(like, compiler, operator="LIKE", **options)  # which heeds no case there


class Narrowed(NamedTuple):
    """What the records say of a term. Where it is not ``exact``, more rows pass than the term means."""

    where: Condition
    exact: bool = True


UNKNOWN = Narrowed(true(), exact=False)

_unfinished = admissions.c.outcome.is_(None)
# What few jobs are is looked up once, for all rows together: no row need be joined for it.
_jobs, _attempts, _predecessors = jobs.alias("some"), attempts.alias("live"), jobs.alias("predecessors")
# From the few attempts that go on, which an index holds.
_live = (
    select(_attempts.c.job_id)
    .join(_jobs, and_(_jobs.c.job_id == _attempts.c.job_id, _jobs.c.attempt == _attempts.c.attempt))
    .where(_attempts.c.ended_at.is_(None))
)
_cancelling = _live.where(_jobs.c.cancel_requested_at.is_not(None), _jobs.c.cancel_acknowledged_at.is_(None))
_running = select(_jobs.c.job_id).where(_jobs.c.status == Status.RUNNING)
_submitted = select(_jobs.c.job_id).where(_jobs.c.status == Status.SUBMITTED)
HELD = _submitted.where(_jobs.c.held_reason.is_not(None))
"""The ids of jobs that wait for a person."""
_unstarted = _submitted.where(_jobs.c.held_reason.is_(None))
_delivered = _jobs.c.delivered_epoch.is_not(None)
_blocked = and_(
    _jobs.c.dependent,
    exists(
        select(dependencies.c.job_id)
        .join(_predecessors, _predecessors.c.job_id == dependencies.c.predecessor_id)
        .where(dependencies.c.job_id == _jobs.c.job_id, _predecessors.c.status.in_(UNFINISHED))
        .correlate(_jobs)
    ),
)
_recoveries = transitions.alias("recoveries")
# Looked up for the few unfinished rows only.
_last_recovery = (
    select(_recoveries.c.reason)
    .where(_recoveries.c.job_id == jobs.c.job_id, _recoveries.c.name == "recovered")
    .order_by(_recoveries.c.id.desc())
    .limit(1)
    .correlate(jobs)
    .scalar_subquery()
)
_SAID = (
    jobs.c.note,
    admissions.c.job_id,
    admissions.c.agent_type,
    admissions.c.queue,
    jobs.c.worker,
    jobs.c.stage,
    jobs.c.error,
)
_WORDS: dict[str, ColumnElement[Any]] = {
    "status": jobs.c.status,
    "queue": admissions.c.queue,
    "agent": admissions.c.agent_type,
    "owner": admissions.c.owner,
    "worker": jobs.c.worker,
    "stage": jobs.c.stage,
    "id": admissions.c.job_id,
    "thread": admissions.c.thread_id,
}
_NUMBERS: dict[str, Callable[[float], ColumnElement[Any]]] = {
    "left": lambda now: case((_unfinished, admissions.c.deadline - literal(now))),
    "age": lambda now: literal(now) - admissions.c.accepted_at,
    # As what might be NULL: else SQLite begins with the jobs, and reads each one's admission across its input.
    "try": lambda _now: func.coalesce(jobs.c.attempt, 0),
    "priority": lambda _now: func.coalesce(jobs.c.priority, 0),
    "epoch": lambda _now: attempts.c.epoch,
}


def narrow(term: Term, now: float) -> Narrowed:
    """What the records say of one term; ``now`` in Unix seconds."""
    narrowed = _of(term, now)
    if not term.negated:
        return narrowed
    return Narrowed(not_(func.coalesce(narrowed.where, false()))) if narrowed.exact else UNKNOWN


def _of(term: Term, now: float) -> Narrowed:
    if term.name == "slack":  # the forecast knows it of unfinished jobs only
        return Narrowed(and_(_unfinished, admissions.c.deadline.is_not(None)), exact=False)
    if term.name in _NUMBERS:
        return Narrowed(_number(_NUMBERS[term.name](now), term))
    if not (term.value.isascii() and term.value.isprintable()):
        return UNKNOWN
    if not term.name:
        return _free(term.value, now)
    if term.name == "state":
        return _states(_wanted_states(term), now)
    return _word(term) if term.name in _WORDS else UNKNOWN


def _number(column: ColumnElement[Any], term: Term) -> Condition:
    numbers = term.numbers
    if term.operator in (":", "="):
        return column.in_(numbers)
    (bound,) = numbers
    match term.operator:
        case "<":
            return column < bound
        case "<=":
            return column <= bound
        case ">":
            return column > bound
        case _:
            return column >= bound


def _word(term: Term) -> Narrowed:
    if "[" in term.value:  # a set of characters, which LIKE does not have
        return UNKNOWN
    column, wanted = _WORDS[term.name], [_pattern(word, term) for word in term.choices]
    conditions: list[Condition] = [Like(column, pattern) for pattern in wanted]
    if any(pattern.strip("%") == "" for pattern in wanted):  # they mean what has no value, too
        conditions.append(column.is_(None))
    return Narrowed(or_(*conditions))


def _pattern(word: str, term: Term) -> str:
    beginning = term.name in BY_PREFIX and not is_pattern(word)
    return _escaped(word).replace("*", "%").replace("?", "_") + ("%" if beginning else "")


def _escaped(text: str) -> str:
    return text.replace("/", "//").replace("%", "/%").replace("_", "/_")


def _wanted_states(term: Term) -> frozenset[str]:
    wanted: set[str] = set()
    for word in term.choices:
        if is_pattern(word):
            wanted |= {one for one in STATE_WORDS["unfinished"] | FINISHED if fnmatchcase(one, word)}
        else:
            wanted |= STATE_WORDS[word]
    return frozenset(wanted)


def _states(wanted: frozenset[str], now: float) -> Narrowed:
    """Rows shown with one of these words."""
    silent = _live.where(_attempts.c.heartbeat_at < now - GHOST_S)
    among: dict[str, Condition] = {
        "running": and_(admissions.c.job_id.in_(_running), admissions.c.job_id.not_in(silent)),
        "ghost": and_(admissions.c.job_id.in_(_running), admissions.c.job_id.in_(silent)),
        "held": admissions.c.job_id.in_(HELD),
        "backlog": admissions.c.job_id.in_(_unstarted.where(not_(_delivered), not_(_blocked))),
    }
    conditions = [and_(_unfinished, condition) for word, condition in among.items() if word in wanted]
    told_by_dask = {State.WAITING, State.QUEUED, State.ASSIGNED} & wanted
    if told_by_dask:
        handed = admissions.c.job_id.in_(_unstarted.where(or_(_delivered, _blocked)))
        conditions.append(and_(_unfinished, handed))
    if len(told_by_dask) == 3 and among.keys() <= wanted:
        conditions = [_unfinished]  # all of them, whatever they do
    if ended := sorted(FINISHED & wanted):
        conditions.append(admissions.c.outcome.in_(ended))
    where = and_(or_(false(), *conditions), admissions.c.job_id.not_in(_cancelling))
    if "cancelling" in wanted:
        where = or_(where, admissions.c.job_id.in_(_cancelling))
    return Narrowed(where, exact=len(told_by_dask) in (0, 3))


def _free(wanted: str, now: float) -> Narrowed:
    pattern = f"%{_escaped(wanted)}%"
    held_reason = func.nullif(jobs.c.held_reason, "")
    said = or_(
        *(Like(column, pattern) for column in _SAID),
        and_(not_(_unfinished), Like(admissions.c.outcome_reason, pattern)),
        and_(_unfinished, Like(func.coalesce(held_reason, _last_recovery), pattern)),
    )
    states = {state for state in State if wanted in state}
    # The text names a cancelled job cancelled and a late one running, whatever its column says of it.
    words = frozenset(states) | (frozenset({"ghost"}) if State.RUNNING in states else frozenset())
    if State.CANCELLED in states:
        words |= {"cancelling"}
    if not words:
        return Narrowed(said)
    narrowed = _states(words, now)
    return Narrowed(or_(said, narrowed.where), narrowed.exact)
