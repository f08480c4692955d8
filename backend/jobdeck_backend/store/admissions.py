"""What admissions are counted by, unfinished, recent or strict ones; and whose they are."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from jobdeck_backend.store.tables import admissions

# Any number; every process that admits takes the same lock.
_ADMISSION_LOCK = 0x6A6F62_6465
_UNFINISHED = select(func.count()).where(admissions.c.outcome.is_(None))
_OWNER = select(admissions.c.owner).where(admissions.c.job_id == bindparam("id"))
_THREAD_OWNERS = select(admissions.c.owner).where(admissions.c.thread_id == bindparam("thread")).distinct()
_ANY_STRICT = select(admissions.c.job_id).where(admissions.c.strict, admissions.c.outcome.is_(None)).limit(1)


def serialise(tx: Connection) -> None:
    """Let no other process weigh or count admissions until this transaction ends; SQLite's write lock does so."""
    if tx.dialect.name == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_ADMISSION_LOCK)))


def unfinished(tx: Connection) -> int:
    """How many jobs have no outcome yet."""
    return int(tx.execute(_UNFINISHED).scalar_one())


def unfinished_of(tx: Connection, owner: str | None) -> int:
    """How many jobs of one owner have no outcome yet."""
    return int(tx.execute(_UNFINISHED.where(_is_of(owner))).scalar_one())


def owner_of(tx: Connection, job_id: str) -> str | None:
    """Whose a job is; None where it is nobody's, or there is none."""
    owner: str | None = tx.execute(_OWNER, {"id": job_id}).scalar()
    return owner


def known_ids(tx: Connection, job_ids: Sequence[str], owner: str | None) -> set[str]:
    """Which of these ids are jobs, of one owner where one is named."""
    statement = select(admissions.c.job_id).where(admissions.c.job_id.in_(job_ids))
    return set(tx.execute(statement if owner is None else statement.where(_is_of(owner))).scalars())


def owners_of_thread(tx: Connection, thread_id: str) -> set[str | None]:
    """Whose jobs ran on a thread."""
    return set(tx.execute(_THREAD_OWNERS, {"thread": thread_id}).scalars())


def accepted_since(tx: Connection, owner: str | None, since: float, limit: int) -> list[float]:
    """When the newest admissions of an owner since then were accepted, newest first."""
    statement = (
        select(admissions.c.accepted_at)
        .where(admissions.c.accepted_at > since, _is_of(owner))
        .order_by(admissions.c.accepted_at.desc())
        .limit(limit)
    )
    return list(tx.execute(statement).scalars())


def any_strict(tx: Connection) -> bool:
    """Whether an unfinished job was promised its deadline."""
    return tx.execute(_ANY_STRICT).first() is not None


def _is_of(owner: str | None) -> ColumnElement[bool]:
    return admissions.c.owner.is_(None) if owner is None else admissions.c.owner == owner
