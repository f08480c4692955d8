"""What to do about each unfinished job, and why (R18, R19). Pure: records and what is known of workers go in.

A plan says; ``commands.recovery`` does, checking each action against the state at that moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobdeck_backend.jobs.records import Attempt, Job, Status
from jobdeck_backend.plural import plural


class Act(StrEnum):
    """The actions a plan may contain, in the operator's words."""

    LEAVE = "leave"
    START = "start"
    RESUME = "resume from checkpoint"
    CLOSE = "close from its checkpoint"
    HOLD = "hold"
    FAIL = "fail"
    EXPIRE = "expire"
    REVOKE = "revoke"
    END_ATTEMPT = "end attempt"


REQUEUES = frozenset({Act.START, Act.RESUME, Act.CLOSE})
"""What a claim does once the job is back in the backlog: the one way by which anything runs (R19)."""

RECOVERS = REQUEUES | {Act.HOLD}
"""What waits for an operator where recovery is manual. Time runs by itself: the rest never waits."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One job that may need something done. ``worker_gone`` is a certainty; False may just be ignorance."""

    job: Job
    deadline: float | None
    attempt: Attempt | None
    """Its execution whose end is not on record."""
    worker_gone: bool
    loss: str
    """What took the worker: ``worker lost``, ``worker restarted`` (by an operator: the job's attempts do not count
    it) or ``scheduler lost``; read only when it is gone."""
    lost_attempts: int
    """Earlier executions that ended with their worker, since the job was last resumed by a person."""
    last_stage: str | None
    checkpoint_id: str | None
    """The job's newest checkpoint."""
    graph_finished: bool = False
    """By that checkpoint no node is left to run."""
    unknown_effect: str | None = None
    """Key of an open effect about which only a person can tell."""
    planned_since: float | None = None
    """Since when its recovery is planned and nobody has carried it out."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a plan; it holds while the job still has this status, fence and heartbeat."""

    act: Act
    job_id: str
    status: Status
    fence: int
    reason: str
    evidence: dict[str, Any]
    attempt: int | None = None
    attempt_end: str | None = None
    """Why the attempt named ended, where the action ends it."""
    heartbeat_at: float | None = None
    """The attempt's last heartbeat, where its age is all that speaks against it (R24)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits a plan goes by, in seconds and counts."""

    expire_grace_s: float
    heartbeat_stale_s: float
    cancel_grace_s: float
    ghost_timeout_s: float
    lost_attempts_max: int


def plan(situations: Iterable[Situation], bounds: Bounds, now: float) -> list[Action]:
    """One action for each job that is not simply in line or over: what to do now, or ``LEAVE`` and why."""
    return [action for one in situations if (action := _decide(one, bounds, now)) is not None]


def _decide(one: Situation, bounds: Bounds, now: float) -> Action | None:
    if one.job.status is Status.SUBMITTED:
        return _decide_submitted(one, now)
    if one.job.status is Status.RUNNING:
        return _decide_running(one, bounds, now)
    return _decide_finished(one, bounds, now)


def _decide_submitted(one: Situation, now: float) -> Action | None:
    if one.deadline is not None and now >= one.deadline:
        return _action(one, Act.EXPIRE, "deadline passed while queued", {"deadline": one.deadline})
    ended = _decide_attempt(one)
    if ended is not None:
        return ended
    if one.job.held_reason is not None:
        return _action(one, Act.LEAVE, f"held for a person: {one.job.held_reason}", {})
    if one.attempt is not None:
        reason = f"waits for its former attempt to end on {one.attempt.worker}"
        return _action(one, Act.LEAVE, reason, _execution(one.attempt))
    return None


def _decide_attempt(one: Situation) -> Action | None:
    """A resumed job waits for the end of its former attempt, which a worker that is gone cannot tell."""
    if one.attempt is not None and one.worker_gone:
        return _action(one, Act.END_ATTEMPT, one.loss, {"pid": one.attempt.pid}, one.loss)
    return None


def _decide_running(one: Situation, bounds: Bounds, now: float) -> Action:
    if one.deadline is not None and now >= one.deadline + bounds.expire_grace_s:
        return _action(one, Act.EXPIRE, "deadline passed while running", {"deadline": one.deadline})
    loss = _loss(one, bounds, now)
    if loss is None:
        assert one.attempt is not None
        age_s = round(max(0.0, now - one.attempt.heartbeat_at), 1)
        evidence = {**_execution(one.attempt), "heartbeat_age": age_s}
        return _action(one, Act.LEAVE, f"runs on {one.attempt.worker}, heartbeat {age_s:g} s ago", evidence)
    why, evidence = loss
    if one.planned_since is not None and now - one.planned_since >= bounds.ghost_timeout_s:
        evidence["planned_for"] = round(now - one.planned_since, 1)
        return _action(one, Act.FAIL, f"{why}; nobody recovered it in time", evidence, why)
    return _recover(one, bounds, why, evidence)


def _recover(one: Situation, bounds: Bounds, why: str, evidence: dict[str, Any]) -> Action:
    """What becomes of a running job whose execution is lost, in the order of R19."""
    if one.checkpoint_id is not None:
        evidence |= {"checkpoint_id": one.checkpoint_id, "last_stage": one.last_stage}
    # Before closing: no success is recorded over an effect that nobody can judge (R25).
    if one.unknown_effect is not None:
        evidence["effect"] = one.unknown_effect
        reason = f"{why}; nobody knows whether effect {one.unknown_effect} happened"
        return _action(one, Act.HOLD, reason, evidence, why)
    if one.graph_finished:
        return _action(
            one, Act.CLOSE, f"{why}; its graph is finished, only its end is missing", evidence, why
        )
    lost = one.lost_attempts + 1
    if why == "worker lost" and lost >= bounds.lost_attempts_max:
        evidence["lost_attempts"] = lost
        whose = "its" if lost == 1 else "their"
        reason = f"{plural(lost, 'attempt')} ended with {whose} worker"
        return _action(one, Act.HOLD, reason, evidence, why)
    if one.checkpoint_id is None:
        return _action(one, Act.START, f"{why}; starts again from its request", evidence, why)
    where = f"after stage {one.last_stage}" if one.last_stage else "before its first stage"
    return _action(one, Act.RESUME, f"{why}; resumes {where}", evidence, why)


def _execution(attempt: Attempt) -> dict[str, Any]:
    return {"worker": attempt.worker, "pid": attempt.pid, "epoch": attempt.epoch}


def _loss(one: Situation, bounds: Bounds, now: float) -> tuple[str, dict[str, Any]] | None:
    """Why a running job's execution counts as lost, with the evidence; None while it may live."""
    if one.attempt is None:
        return "attempt lost", {}
    if one.worker_gone:
        return one.loss, _execution(one.attempt)
    age_s = now - one.attempt.heartbeat_at
    if age_s >= bounds.heartbeat_stale_s:
        return "worker lost", {**_execution(one.attempt), "heartbeat_age": round(age_s, 1)}
    return None


def _decide_finished(one: Situation, bounds: Bounds, now: float) -> Action | None:
    ended = _decide_attempt(one)
    if ended is not None:
        return ended
    asked = one.job.cancel_requested_at
    waiting = one.job.cancel_acknowledged_at is None and one.job.revoked_at is None
    if asked is not None and waiting and now >= asked + bounds.cancel_grace_s:
        return _action(one, Act.REVOKE, "the cancel was not acknowledged in time", {"waited": now - asked})
    return None


def _action(
    one: Situation, act: Act, reason: str, evidence: dict[str, Any], attempt_end: str | None = None
) -> Action:
    job, attempt = one.job, one.attempt
    return Action(
        act,
        job.job_id,
        job.status,
        job.fence,
        reason,
        evidence,
        attempt=attempt.attempt if attempt else None,
        attempt_end=attempt_end,
        heartbeat_at=attempt.heartbeat_at if attempt and not one.worker_gone else None,
    )
