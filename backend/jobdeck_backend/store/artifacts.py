"""Statements on artifacts' rows."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields

from sqlalchemy import Connection, bindparam, select, update

from jobdeck_backend.jobs.artifacts import Artifact
from jobdeck_backend.store.tables import admissions, artifacts, attempts

_ARTIFACT = [artifacts.c[field.name] for field in fields(Artifact)]


def of_job(tx: Connection, job_id: str) -> list[Artifact]:
    """A job's artifacts in the order of their creation."""
    statement = (
        select(*_ARTIFACT)
        .where(artifacts.c.job_id == job_id)
        .order_by(artifacts.c.created_at, artifacts.c.artifact_id)
    )
    return [Artifact(*row) for row in tx.execute(statement)]


def load(tx: Connection, job_id: str, artifact_id: str) -> Artifact | None:
    """One artifact of a job, or None."""
    statement = select(*_ARTIFACT).where(artifacts.c.job_id == job_id, artifacts.c.artifact_id == artifact_id)
    row = tx.execute(statement).first()
    return None if row is None else Artifact(*row)


def insert(tx: Connection, found: Sequence[Artifact]) -> None:
    """Put artifacts on record."""
    if found:
        tx.execute(artifacts.insert(), [asdict(one) for one in found])


def restore(tx: Connection, found: Artifact) -> None:
    """The bytes of a row whose time was over are back: a resumed job made them again."""
    tx.execute(
        update(artifacts)
        .where(artifacts.c.artifact_id == found.artifact_id)
        .values(removed_at=None, attempt=found.attempt, fence=found.fence)
    )


_DUE = (
    select(artifacts.c.artifact_id)
    .join(admissions, admissions.c.job_id == artifacts.c.job_id)
    .where(
        artifacts.c.removed_at.is_(None),
        admissions.c.finished_at + admissions.c.expiry_seconds <= bindparam("now"),
    )
    .limit(bindparam("limit"))
)


def is_any_due(tx: Connection, now: float) -> bool:
    """Whether a file's job ended ``expiry_seconds`` ago or longer."""
    return tx.execute(_DUE, {"now": now, "limit": 1}).first() is not None


def expire(tx: Connection, now: float, limit: int) -> list[str]:
    """Say of files whose job ended ``expiry_seconds`` ago or longer that their bytes go; answers the digests."""
    statement = update(artifacts).where(artifacts.c.artifact_id.in_(_DUE)).values(removed_at=now)
    due = tx.execute(statement.returning(artifacts.c.sha256), {"now": now, "limit": limit})
    return list(due.scalars())


def kept(tx: Connection, digests: Collection[str]) -> set[str]:
    """Which of these digests a row still needs the bytes of."""
    statement = select(artifacts.c.sha256).where(
        artifacts.c.sha256.in_(digests), artifacts.c.removed_at.is_(None)
    )
    return set(tx.execute(statement).scalars())


def all_kept(tx: Connection, now: float) -> list[tuple[str, str, int]]:
    """``(job_id, sha256, size)`` of every row whose bytes must be there: not those whose time is over (I17)."""
    statement = (
        select(artifacts.c.job_id, artifacts.c.sha256, artifacts.c.size_bytes)
        .join(admissions, admissions.c.job_id == artifacts.c.job_id)
        .where(
            artifacts.c.removed_at.is_(None),
            admissions.c.finished_at.is_(None)
            | (admissions.c.finished_at + admissions.c.expiry_seconds > now),
        )
    )
    return [(row[0], row[1], row[2]) for row in tx.execute(statement)]


def all_digests(tx: Connection) -> set[str]:
    """The digests that rows name, whether their bytes are still kept or not."""
    return set(tx.execute(select(artifacts.c.sha256).distinct()).scalars())


def live_attempts(tx: Connection) -> set[tuple[str, int]]:
    """``(job_id, attempt)`` of executions that have not ended: their directories are in use."""
    statement = select(attempts.c.job_id, attempts.c.attempt).where(attempts.c.ended_at.is_(None))
    return {(row[0], row[1]) for row in tx.execute(statement)}
