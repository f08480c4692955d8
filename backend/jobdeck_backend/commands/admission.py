"""Whether a new job may come in: within the limits, and against what was promised to others (R12).

Everything is read inside the transaction that stores the job, so concurrent admissions equal a serial order.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection

from jobdeck_backend.clock import instant
from jobdeck_backend.errors import DeadlineUnattainable, ServerFull, TooManyJobs
from jobdeck_backend.jobs.admission import Line, Weighed, nothing_to_promise, weigh, yielding
from jobdeck_backend.jobs.forecast import Ahead, ServiceTime, service_times
from jobdeck_backend.jobs.records import NO_DEADLINE, Admission
from jobdeck_backend.plural import plural
from jobdeck_backend.store import admissions, figures, queues

MINUTE_S = 60.0
RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class Terms:
    """What admissions are measured by; None: no limit."""

    slots: int = 0
    """Threads that take work now, or that will once the cluster is up."""
    drained: Collection[str] = ()
    """Workers whose threads take nothing after what they run."""
    assumed_service_s: float = 60.0
    unfinished_jobs_max: int | None = None
    unfinished_jobs_per_principal_max: int | None = None
    submissions_per_minute_max: int | None = None

    @property
    def limited(self) -> bool:
        """Whether admissions are counted."""
        limits = (
            self.unfinished_jobs_max,
            self.unfinished_jobs_per_principal_max,
            self.submissions_per_minute_max,
        )
        return any(limit is not None for limit in limits)


NO_TERMS = Terms()


def keep_limits(tx: Connection, admission: Admission, terms: Terms) -> None:
    """Count the admission, which is stored already, with the others. Raises ``TooManyJobs``, ``ServerFull``."""
    if not terms.limited:
        return
    admissions.serialise(tx)
    limit = terms.unfinished_jobs_max
    if limit is not None and admissions.unfinished(tx) > limit:
        raise ServerFull(
            f"the server has {limit} unfinished jobs, which is all it takes; nothing was stored",
            retry_after_s=RETRY_AFTER_S,
        )
    limit = terms.unfinished_jobs_per_principal_max
    if limit is not None and admissions.unfinished_of(tx, admission.owner) > limit:
        raise TooManyJobs(
            f"you have {limit} unfinished jobs, which is all you may have; nothing was stored",
            retry_after_s=RETRY_AFTER_S,
        )
    limit = terms.submissions_per_minute_max
    if limit is not None:
        recent = admissions.accepted_since(tx, admission.owner, admission.accepted_at - MINUTE_S, limit + 1)
        if len(recent) > limit:
            wait_s = math.ceil(recent[limit] + MINUTE_S - admission.accepted_at)
            raise TooManyJobs(
                f"you submitted {plural(limit, 'job')} within a minute, which is all you may; nothing was stored",
                retry_after_s=max(1, wait_s),
            )


def dispatch_deadline(tx: Connection, admission: Admission, after: tuple[str, ...], terms: Terms) -> float:
    """The candidate's place in the line. Raises ``DeadlineUnattainable`` for a strict one that would be late, or
    would make another strict one late; a best-effort one goes behind those."""
    deadline = admission.deadline
    if admission.strict:
        assert deadline is not None
        admissions.serialise(tx)
        weighed = weigh_strict(tx, admission, after, terms)
        if not weighed.holds:
            raise _unattainable(admission.job_id, deadline, weighed)
        return deadline
    due = own_deadline(admission)
    if due == NO_DEADLINE or not admissions.any_strict(tx):
        return due
    admissions.serialise(tx)
    line = read_line(tx, {admission.agent_type}, admission.accepted_at, terms)
    return yielding(line, _candidate(line, admission, after, due))


def own_deadline(admission: Admission) -> float:
    """Its place in the line where it gives way to nobody."""
    return NO_DEADLINE if admission.deadline is None else admission.deadline


def weigh_strict(tx: Connection, admission: Admission, after: tuple[str, ...], terms: Terms) -> Weighed:
    """What would come of a strict admission with a deadline, now."""
    assert admission.deadline is not None
    if admission.queue in queues.paused(tx):
        return nothing_to_promise(f"its queue {admission.queue} is paused")
    line = read_line(tx, {admission.agent_type}, admission.accepted_at, terms)
    return weigh(line, _candidate(line, admission, after, admission.deadline), admission.deadline)


def read_line(tx: Connection, workflows: Collection[str], now: float, terms: Terms) -> Line:
    """All unfinished jobs as a candidate of one of these workflows would meet them."""
    rows, blocked, paused = figures.line(tx), figures.open_predecessors(tx), queues.paused(tx)
    durations = ((workflow, took) for workflow, _queue, took in figures.newest_durations(tx))
    seconds = terms.assumed_service_s
    assumed = ServiceTime(mean=seconds, p50=seconds, p95=seconds, count=0)
    names = {*workflows, *(row.workflow for row in rows)}
    _taken, astray = figures.slots_taken(tx)
    return Line(
        ahead=[row.ahead(blocked.get(row.job_id, ()), terms.drained) for row in rows if row.goes(paused)],
        slots=terms.slots - astray,
        times=dict.fromkeys(names, assumed) | service_times(durations),
        now=now,
        stuck=frozenset(row.job_id for row in rows if not row.goes(paused)),
    )


def _candidate(line: Line, admission: Admission, after: tuple[str, ...], due: float) -> Ahead:
    unfinished = {one.job_id for one in line.ahead} | line.stuck
    return Ahead(
        admission.job_id,
        admission.agent_type,
        predecessors=[job_id for job_id in after if job_id in unfinished],
        order=(due, -admission.priority, admission.accepted_at),
    )


def why_unattainable(deadline: float, weighed: Weighed) -> str:
    """Why a deadline that does not hold cannot be promised, in words."""
    if weighed.finish is None:
        return f"none can be now, as {weighed.obstacle}"
    if weighed.finish > deadline:
        return f"its predicted completion is {instant(weighed.finish)}"
    return "another job was promised the time it would take"


def _unattainable(job_id: str, deadline: float, weighed: Weighed) -> DeadlineUnattainable:
    why = why_unattainable(deadline, weighed)
    return DeadlineUnattainable(
        f"the deadline {instant(deadline)} of job {job_id} cannot be promised: {why}; nothing was stored",
        deadline=deadline,
        predicted_completion=weighed.finish,
        offer=weighed.offer,
    )
