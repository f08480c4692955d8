"""Accepting a job: admission, job, first transition and first event in one transaction (R1–R4)."""

import hashlib
from dataclasses import dataclass, replace
from uuid import uuid4

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from jobdeck_backend.clock import LATEST
from jobdeck_backend.commands import notices
from jobdeck_backend.errors import InvalidInput, JobExists, NotEligible
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Admission, Status
from jobdeck_backend.store import events, jobs


@dataclass(frozen=True, slots=True)
class NewJob:
    """A checked request with at most one of ``deadline`` (absolute) and ``deadline_seconds`` (from acceptance)."""

    agent_type: str
    input: str
    queue: str
    job_id: str | None = None
    thread_id: str | None = None
    owner: str | None = None
    data_sources: tuple[str, ...] | None = None
    expiry_seconds: int = 86_400
    deadline: float | None = None
    deadline_seconds: float | None = None
    priority: int = 0
    after: tuple[str, ...] = ()
    after_policy: str = "succeeded"
    stages_total: int | None = None

    def content_hash(self) -> str:
        """What makes two requests the same (R2), whatever their ids."""
        content = (self.agent_type, self.input, self.data_sources, self.after, self.after_policy)
        return hashlib.sha256(orjson.dumps(content)).hexdigest()


def submit(tx: Connection, new: NewJob, now: float) -> Admission:
    """Store the promise. Nothing here needs Dask.

    Raises ``JobExists`` (with ``request_matches``), ``InvalidInput`` for an unknown predecessor or a deadline
    that has passed, ``NotEligible`` when the thread has a live job.
    """
    job_id = new.job_id or str(uuid4())
    if job_id in new.after:
        raise InvalidInput(f"job {job_id} cannot come after itself; nothing was stored")
    deadline = new.deadline if new.deadline_seconds is None else now + new.deadline_seconds
    admission = Admission(
        job_id=job_id,
        thread_id=new.thread_id or job_id,
        agent_type=new.agent_type,
        queue=new.queue,
        owner=new.owner,
        input=new.input,
        request_hash=new.content_hash(),
        data_sources=None if new.data_sources is None else orjson.dumps(new.data_sources).decode(),
        expiry_seconds=new.expiry_seconds,
        deadline=deadline,
        priority=new.priority,
        after_policy=new.after_policy,
        accepted_at=now,
    )
    _insert(tx, admission)
    if deadline is not None and deadline <= now:
        raise InvalidInput("the deadline has passed already; nothing was stored")
    if deadline is not None and deadline > LATEST:
        raise InvalidInput("the deadline is after the year 9999; nothing was stored")
    jobs.insert_job(tx, admission, dependent=bool(new.after), stages_total=new.stages_total)
    if new.after:
        _depend(tx, job_id, new.after, deadline)
    actor = new.owner or "caller"
    jobs.insert_transition(
        tx,
        job_id=job_id,
        at=now,
        from_status=None,
        to_status=Status.SUBMITTED,
        name=Verb.SUBMIT,
        fence=0,
        actor=actor,
        reason=None,
    )
    told = notices.notice(Verb.SUBMIT, now, f"accepted for {new.agent_type}")
    events.insert(tx, job_id, 1, [replace(told, status=Status.SUBMITTED)], now)
    return admission


def _insert(tx: Connection, admission: Admission) -> None:
    try:
        inserted = jobs.insert_admission(tx, admission)
    except IntegrityError:
        raise NotEligible(f"thread {admission.thread_id} has an unfinished job; nothing was stored") from None
    if not inserted:
        stored = jobs.load_admission(tx, admission.job_id)
        matches = stored is not None and stored.request_hash == admission.request_hash
        raise JobExists(f"Job already exists: {admission.job_id}", request_matches=matches)


def _depend(tx: Connection, job_id: str, after: tuple[str, ...], deadline: float | None) -> None:
    unknown = sorted(set(after) - jobs.existing_job_ids(tx, after))
    if unknown:
        raise InvalidInput(f"after names unknown jobs: {', '.join(unknown[:5])}; nothing was stored")
    jobs.insert_dependencies(tx, job_id, sorted(set(after)))
    if deadline is not None:
        jobs.hasten_predecessors(tx, sorted(set(after)), deadline)
