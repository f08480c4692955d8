"""What a worker may do to the job it executes: claim, record, finish. All of it carries the claim's fence."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from jobdeck_backend.commands import notices
from jobdeck_backend.commands.transition import UNSTARTED, load, move
from jobdeck_backend.errors import JobStopped
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Admission, Attempt, Claim, Job, NewEvent, StageRun, Status
from jobdeck_backend.store import attempts, dispatch, effects, events, jobs

STOPPED = "this execution no longer owns its job"


def claim(
    tx: Connection, job_id: str, fence: int, *, worker: str, pid: int, epoch: int, now: float
) -> Claim | None:
    """Start a delivered job, once: None when there is nothing to start.

    A second delivery and a re-run by Dask name an old fence and leave empty-handed. An overdue job is expired
    (R8); one whose predecessors are unfinished, or whose last attempt still runs, goes back to the backlog; one
    whose predecessor failed ends FAILURE.
    """
    admission, job = load(tx, job_id)
    if job.status is not Status.SUBMITTED or job.fence != fence or job.held_reason is not None:
        return None
    if admission.is_overdue(now):
        expire(tx, job, now=now, actor=worker, reason="deadline passed while queued")
        return None
    predecessors = jobs.load_predecessors(tx, job_id) if job.dependent else []
    failed = [name for name, status, _output in predecessors if status.terminal and status != Status.SUCCESS]
    if failed and admission.after_policy == "succeeded":
        _fail_on_predecessor(tx, job, failed[0], now=now, actor=worker)
        return None
    unfinished = any(not status.terminal for _name, status, _output in predecessors)
    if unfinished or (job.attempt > 0 and jobs.has_live_attempt(tx, job_id)):
        dispatch.take_back(tx, [job_id])
        return None
    started = move(
        tx,
        job,
        Verb.CLAIM,
        now=now,
        actor=worker,
        told=[notices.workflow_start(admission.agent_type, now, admission.input, job.attempt + 1, worker)],
        attempt=job.attempt + 1,
        worker=worker,
        delivered_epoch=epoch,  # whatever was taken back meanwhile: here it is
        started_at=now,
        progress_at=now,
    )
    jobs.insert_attempt(
        tx,
        Attempt(job_id, started.attempt, started.fence, worker, pid, epoch, started_at=now, heartbeat_at=now),
    )
    outputs = {name: output or {} for name, _status, output in predecessors}
    return Claim(admission, started.attempt, started.fence, worker, epoch, outputs)


def _fail_on_predecessor(tx: Connection, job: Job, predecessor: str, *, now: float, actor: str) -> None:
    error = f"predecessor {predecessor} did not succeed"
    move(
        tx,
        job,
        Verb.FAIL,
        now=now,
        actor=actor,
        reason=error,
        told=[notices.job_error(error, "PredecessorFailed", now)],
        error=error,
        error_type="PredecessorFailed",
    )


def record(tx: Connection, claim: Claim, told: Sequence[NewEvent], now: float, **progress: Any) -> None:
    """Append the execution's events and progress (``stage``, ``stages_done``, ``note``).

    Raises ``JobStopped`` when the job was cancelled, expired or given to another attempt.
    """
    if not events.append_fenced(tx, claim.job_id, claim.fence, told, now, progress_at=now, **progress):
        raise JobStopped(STOPPED)


def save_stages(tx: Connection, runs: Sequence[StageRun]) -> None:
    """Put completed stages on record; call inside the transaction that saves their checkpoint (R20)."""
    jobs.insert_stages(tx, runs)


def check(tx: Connection, claim: Claim) -> None:
    """Raises ``JobStopped`` unless the claim still owns the running job."""
    status, fence, _deadline = jobs.claim_state(tx, claim.job_id)
    if status is not Status.RUNNING or fence != claim.fence:
        raise JobStopped(STOPPED)


def check_fence(tx: Connection, claim: Claim) -> None:
    """Raises ``JobStopped`` unless the claim may still write; a cancelled job's may until its grace ends."""
    _status, fence, _deadline = jobs.claim_state(tx, claim.job_id)
    if fence != claim.fence:
        raise JobStopped(STOPPED)


def renew(tx: Connection, claim: Claim, now: float, told: Sequence[NewEvent] = ()) -> None:
    """Write the heartbeat (R24): it says the thread lives, also after the job was taken from it.

    ``told`` is appended while the job is this claim's. None of it is progress.
    """
    if told:  # the job before its attempt, as everybody locks them
        events.append_fenced(tx, claim.job_id, claim.fence, told, now)
    jobs.renew_attempt(tx, claim.job_id, claim.attempt, now)


def _owned(tx: Connection, claim: Claim) -> tuple[Admission, Job] | None:
    admission, job = load(tx, claim.job_id)
    owned = job.status is Status.RUNNING and job.fence == claim.fence
    return (admission, job) if owned else None


def succeed(
    tx: Connection, claim: Claim, output: Mapping[str, Any], told: Sequence[NewEvent], now: float
) -> bool:
    """Last events, SUCCESS, outcome and the attempt's end, together. False when the result came too late."""
    owned = _owned(tx, claim)
    encoded = events.encode(output)
    if owned is None:
        end(tx, claim, "late result", now)
        # Also where the attempt had been given up before: nothing that was worked out is thrown away.
        attempts.keep_aside(tx, claim.job_id, claim.attempt, late_output=encoded)
        return False
    admission, job = owned
    unknown = effects.open_of_job(tx, claim.job_id)
    if unknown:
        # No success while nobody knows what was done to the world (R25).
        hold(tx, claim, f"effect {unknown[0].name} of {unknown[0].node} is uncertain", told, now)
        return False
    late_s = 0.0 if admission.deadline is None else now - admission.deadline
    ending = notices.workflow_end(admission.agent_type, now, output.get("report"))
    move(
        tx,
        job,
        Verb.SUCCEED,
        now=now,
        actor=claim.worker,
        reason=f"late by {late_s:.1f} s" if late_s > 0 else None,
        told=[*told, ending],
        output=encoded,
        stage=None,
    )
    jobs.end_attempt(tx, claim.job_id, claim.attempt, now, "succeeded")
    return True


def fail(
    tx: Connection,
    claim: Claim,
    error: str,
    error_type: str,
    told: Sequence[NewEvent],
    now: float,
    *,
    traceback: str | None = None,
) -> bool:
    """FAILURE with its reason; False when the job was no longer this claim's.

    Held instead where the failure left an effect open that only a person can judge: what failed may have happened
    (R25). Either way the traceback stays with the attempt.
    """
    owned = _owned(tx, claim)
    unjudged = effects.unjudged(tx, claim.job_id)
    if owned is not None and unjudged is not None:
        hold(tx, claim, f"nobody knows whether effect {unjudged.key} happened: {error}", told, now)
    else:
        if owned is not None:
            failure = notices.job_error(error, error_type, now)
            columns = {"error": error, "error_type": error_type, "reason": error}
            move(tx, owned[1], Verb.FAIL, now=now, actor=claim.worker, told=[*told, failure], **columns)
        end(tx, claim, "failed", now)
    if traceback is not None:
        attempts.keep_aside(tx, claim.job_id, claim.attempt, traceback=traceback)
    return owned is not None


def hold(tx: Connection, claim: Claim, reason: str, told: Sequence[NewEvent], now: float) -> bool:
    """Keep the job for a person; False when it was no longer this claim's."""
    owned = _owned(tx, claim)
    if owned is not None:
        text = notices.notice(Verb.HOLD, now, f"held: {reason}", reason=reason)
        columns = {**UNSTARTED, "held_reason": reason}
        move(
            tx, owned[1], Verb.HOLD, now=now, actor=claim.worker, reason=reason, told=[*told, text], **columns
        )
    end(tx, claim, "held", now)
    return owned is not None


def expire_running(tx: Connection, claim: Claim, told: Sequence[NewEvent], now: float) -> bool:
    """The budget is used up: EXPIRED, whatever the thread still does (R9). The attempt ends with its thread.

    False when the job is no longer this claim's, or was granted a later deadline that the worker had not heard of:
    then recovery runs it again, once the attempt has ended (R7).
    """
    owned = _owned(tx, claim)
    if owned is None or not owned[0].is_overdue(now):
        return False
    _admission, job = owned
    reason = "deadline passed while running"
    expire(tx, job, now=now, actor=claim.worker, reason=reason, told=told)
    return True


def stop(tx: Connection, claim: Claim, now: float) -> None:
    """An execution that lost its job is over."""
    cancelled = load(tx, claim.job_id)[1].cancel_requested_at is not None
    end(tx, claim, "cancelled" if cancelled else "stopped", now)


def end(tx: Connection, claim: Claim, reason: str, now: float) -> None:
    """The execution's thread is over and its slot free, whatever became of the job.

    However it ended: a cancel that waits for that is acknowledged by it, as long as its fence is the job's (R15).
    """
    job = load(tx, claim.job_id)[1]
    waited_for = job.status is Status.INTERRUPTED and job.fence == claim.fence
    if waited_for and job.cancel_requested_at is not None and job.cancel_acknowledged_at is None:
        jobs.update_job(tx, job, cancel_acknowledged_at=now)
        told = notices.cancelled(job.error or "cancelled by user", now)
        events.append(tx, claim.job_id, [told], now)
    jobs.end_attempt(tx, claim.job_id, claim.attempt, now, reason)


def expire(
    tx: Connection, job: Job, *, now: float, actor: str, reason: str, told: Sequence[NewEvent] = ()
) -> Job:
    """EXPIRED for the stated reason (R10)."""
    text = f"expired: {reason}"
    return move(
        tx,
        job,
        Verb.EXPIRE,
        now=now,
        actor=actor,
        reason=reason,
        told=[*told, notices.notice(Verb.EXPIRE, now, text, reason=reason)],
        error=text,
        error_type="DeadlineExpired",
        held_reason=None,
    )
