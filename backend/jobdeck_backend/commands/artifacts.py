"""Files put on record: rows and their events in one fenced transaction (R31), and the end of their bytes (R6)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from jobdeck_backend.commands import execution, notices
from jobdeck_backend.jobs.artifacts import Artifact
from jobdeck_backend.jobs.records import Claim, NewEvent
from jobdeck_backend.store import artifacts
from jobdeck_backend.store.artifact_files import ArtifactFiles

YOUNG_S = 300.0
"""Bytes this young may belong to a row about to be committed. Longer than any wait for the database, and shorter
than the least ``expiry_seconds``."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is not kept, and why."""

    path: str
    reason: str


def publish(
    tx: Connection, claim: Claim, found: Sequence[Artifact], refused: Sequence[Refusal], now: float
) -> None:
    """Put files whose bytes are stored on record, each with its event, and tell of those refused.

    Bytes that the job has on record already are left alone. Raises ``JobStopped`` when the job is no longer the
    claim's: nothing is written then.
    """
    known = {one.artifact_id: one for one in artifacts.of_job(tx, claim.job_id)}
    new = [one for one in found if one.artifact_id not in known]
    back = [one for one in found if one not in new and known[one.artifact_id].removed_at is not None]
    told = [_update(one, now) for one in [*new, *back]]
    told += [notices.flat("artifact.warning", now, path=r.path, reason=r.reason) for r in refused]
    if told:
        execution.record(tx, claim, told, now)
    artifacts.insert(tx, new)
    for one in back:
        artifacts.restore(tx, one)


def _update(one: Artifact, now: float) -> NewEvent:
    data = {
        "type": "file",
        "url": one.content_url,
        "content_url": one.content_url,
        "file_path": one.file_path,
        "artifact_id": one.artifact_id,
        "job_id": one.job_id,
        "kind": one.kind,
        "mime_type": one.media_type,
        "size_bytes": one.size_bytes,
        "sha256": one.sha256,
        "title": one.title,
        "caption": one.caption,
        "inline": one.inline,
    }
    return notices.envelope("artifact.update", now, name=one.filename, data=data)


def discard(tx: Connection, files: ArtifactFiles, digests: Collection[str]) -> int:
    """Remove the bytes among these that no row needs; answers how many. Inside the transaction that looked."""
    unneeded = set(digests) - artifacts.kept(tx, digests)
    return sum(files.remove(one, older_than_s=YOUNG_S) for one in unneeded)
