"""Accepting a job: admission, job, first transition and first event in one transaction (R1–R4)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from jobdeck_backend.clock import LATEST
from jobdeck_backend.commands import notices
from jobdeck_backend.commands.admission import NO_TERMS, Terms, dispatch_deadline, keep_limits, own_deadline
from jobdeck_backend.errors import InvalidInput, JobExists, NotEligible
from jobdeck_backend.jobs.ids import new_id
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Admission, Status, Transition
from jobdeck_backend.store import admissions, events, jobs


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
    callback_url: str | None = None
    strict: bool = False
    parent_job_id: str | None = None
    confined: bool = False
    """Whether other jobs exist for it only where they are its owner's (R32)."""

    @property
    def predecessors(self) -> tuple[str, ...]:
        """What it waits for, once each, in an order that does not depend on the caller's."""
        return tuple(sorted(set(self.after)))

    @property
    def is_plain(self) -> bool:
        """Whether its admission depends on no other job."""
        # Whose a thread is, its first job says; and a job's own id names its thread, too.
        names_thread = self.owner is not None and (self.thread_id or self.job_id)
        return not (self.after or self.strict or names_thread)

    def content_hash(self) -> str:
        """What makes two requests the same (R2), whatever their ids."""
        content = (self.agent_type, self.input, self.data_sources, self.predecessors, self.after_policy)
        return hashlib.sha256(orjson.dumps(content)).hexdigest()


def submit(tx: Connection, new: NewJob, now: float, terms: Terms = NO_TERMS) -> Admission:
    """Store the promise. Nothing here needs Dask.

    Raises ``JobExists`` (with ``request_matches`` for its owner), ``InvalidInput`` for an unknown predecessor or a
    deadline that has passed, ``NotEligible`` when the thread has a live job or is another's, and what
    ``commands.admission`` refuses with.
    """
    job_id = new.job_id or new_id(now)
    if job_id in new.after:
        raise InvalidInput(f"job {job_id} cannot come after itself; nothing was stored")
    admission = admission_of(new, job_id, now)
    _insert(tx, admission)
    _must_be_ahead(admission)
    _must_exist(tx, new)
    _must_own_thread(tx, admission)
    keep_limits(tx, admission, terms)
    due = dispatch_deadline(tx, admission, new.predecessors, terms)
    _insert_jobs(tx, [(new, admission, due)])
    jobs.insert_dependencies(tx, job_id, new.predecessors)
    if admission.deadline is not None:
        jobs.hasten_predecessors(tx, new.predecessors, due)
    return admission


def submit_together(tx: Connection, asked: Sequence[tuple[NewJob, float, Terms]]) -> list[Admission] | None:
    """As ``submit`` for each, with the statements of one, where all are plain: nothing is waited for or promised.

    None where they are not: nothing was written, each is to be asked alone. Raises what refuses one of them.
    """
    if not all(new.is_plain and not terms.limited for new, _now, terms in asked):
        return None
    accepted = [(new, admission_of(new, new.job_id or new_id(now), now)) for new, now, _terms in asked]
    if any(admission.deadline is not None for _new, admission in accepted) and admissions.any_strict(tx):
        return None
    if not jobs.insert_admissions(tx, [admission for _new, admission in accepted]):
        raise JobExists("one of them exists already")
    for _new, admission in accepted:
        _must_be_ahead(admission)
    _insert_jobs(tx, [(new, admission, own_deadline(admission)) for new, admission in accepted])
    return [admission for _new, admission in accepted]


def _insert_jobs(tx: Connection, accepted: Sequence[tuple[NewJob, Admission, float]]) -> None:
    """The job records, first transitions and first events; each job with its place in the line."""
    jobs.insert_jobs(
        tx,
        [
            jobs.first_row(
                admission, dispatch_deadline=due, dependent=bool(new.after), stages_total=new.stages_total
            )
            for new, admission, due in accepted
        ],
    )
    jobs.insert_transitions(tx, [_transition(admission) for _new, admission, _due in accepted])
    events.insert(tx, [row for _new, admission, _due in accepted for row in _first_event(admission)])


def _must_be_ahead(admission: Admission) -> None:
    if admission.deadline is None:
        return
    if admission.deadline <= admission.accepted_at:
        raise InvalidInput("the deadline has passed already; nothing was stored")
    if admission.deadline > LATEST:
        raise InvalidInput("the deadline is after the year 9999; nothing was stored")


def admission_of(new: NewJob, job_id: str, now: float) -> Admission:
    """The promise that a request asks for, accepted at ``now``."""
    return Admission(
        job_id=job_id,
        thread_id=new.thread_id or job_id,
        agent_type=new.agent_type,
        queue=new.queue,
        owner=new.owner,
        input=new.input,
        request_hash=new.content_hash(),
        data_sources=None if new.data_sources is None else orjson.dumps(new.data_sources).decode(),
        expiry_seconds=new.expiry_seconds,
        deadline=new.deadline if new.deadline_seconds is None else now + new.deadline_seconds,
        priority=new.priority,
        after_policy=new.after_policy,
        accepted_at=now,
        callback_url=new.callback_url,
        strict=new.strict,
        parent_job_id=new.parent_job_id,
    )


def _transition(admission: Admission) -> Transition:
    return Transition(
        job_id=admission.job_id,
        at=admission.accepted_at,
        from_status=None,
        to_status=Status.SUBMITTED,
        name=Verb.SUBMIT,
        fence=0,
        actor=admission.owner or "caller",
        reason=None,
    )


def _first_event(admission: Admission) -> list[dict[str, Any]]:
    at = admission.accepted_at
    told = notices.notice(Verb.SUBMIT, at, f"accepted for {admission.agent_type}")
    return events.rows(admission.job_id, 1, [replace(told, status=Status.SUBMITTED)], at)


def _insert(tx: Connection, admission: Admission) -> None:
    try:
        inserted = jobs.insert_admission(tx, admission)
    except IntegrityError:
        raise _thread_refused(admission) from None
    if not inserted:
        stored = jobs.load_admission(tx, admission.job_id)
        said = f"Job already exists: {admission.job_id}"
        if stored is not None and stored.owner != admission.owner:
            raise JobExists(said)
        matches = stored is not None and stored.request_hash == admission.request_hash
        raise JobExists(said, request_matches=matches)


def _must_exist(tx: Connection, new: NewJob) -> None:
    if not new.after:
        return
    known = admissions.known_ids(tx, new.predecessors, new.owner if new.confined else None)
    if unknown := sorted(set(new.predecessors) - known):
        raise InvalidInput(f"after names unknown jobs: {', '.join(unknown[:5])}; nothing was stored")


def _must_own_thread(tx: Connection, admission: Admission) -> None:
    """A thread is its first job's owner's (R21): whoever went on with it would read what it was told."""
    owner, thread_id = admission.owner, admission.thread_id
    if owner is not None and admissions.owners_of_thread(tx, thread_id) != {owner}:
        raise _thread_refused(admission)


def _thread_refused(admission: Admission) -> NotEligible:
    """The same in both cases: whether another's thread is busy is nobody else's to know (R32)."""
    why = "has an unfinished job" if admission.owner is None else "has an unfinished job or is not yours"
    return NotEligible(f"thread {admission.thread_id} {why}; nothing was stored")
