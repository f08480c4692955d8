"""What to do about each unfinished job, and why (R18, R19). Pure: records and what is known of workers go in.

A plan says; ``commands.recovery`` does, checking each action against the state at that moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobdeck_backend.jobs.records import Attempt, Job, Status


class Act(StrEnum):
    """The actions a plan may contain."""

    EXPIRE = "expire"
    REQUEUE = "requeue"
    HOLD = "hold"
    REVOKE = "revoke"
    END_ATTEMPT = "end attempt"


@dataclass(frozen=True, slots=True)
class Situation:
    """One job that may need something done. ``worker_gone`` is a certainty; False may just be ignorance."""

    job: Job
    deadline: float | None
    attempt: Attempt | None
    """Its execution whose end is not on record."""
    worker_gone: bool
    loss: str
    """What took the worker: ``worker lost`` or ``scheduler lost``; read only when it is gone."""
    lost_attempts: int
    """Earlier executions that ended with their worker."""
    last_stage: str | None
    checkpoint_id: str | None
    unknown_effect: str | None = None
    """Key of an open effect about which only a person can tell."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a plan; it holds while the job still has this status and fence."""

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
    """The attempt's last heartbeat, where its age is all that speaks against it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits a plan goes by, in seconds and counts."""

    expire_grace_s: float
    heartbeat_stale_s: float
    cancel_grace_s: float
    lost_attempts_max: int


def plan(situations: Iterable[Situation], bounds: Bounds, now: float) -> list[Action]:
    """The actions to take now, at most one for each job; jobs that are as they should be have none."""
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
    return _decide_attempt(one)


def _decide_attempt(one: Situation) -> Action | None:
    """A resumed job waits for the end of its former attempt, which a worker that is gone cannot tell."""
    if one.attempt is not None and one.worker_gone:
        return _action(one, Act.END_ATTEMPT, one.loss, {"pid": one.attempt.pid}, one.loss)
    return None


def _decide_running(one: Situation, bounds: Bounds, now: float) -> Action | None:
    if one.deadline is not None and now >= one.deadline + bounds.expire_grace_s:
        return _action(one, Act.EXPIRE, "deadline passed while running", {"deadline": one.deadline})
    loss = _loss(one, bounds, now)
    if loss is None:
        return None
    why, evidence = loss
    if why == "worker lost" and one.lost_attempts + 1 >= bounds.lost_attempts_max:
        evidence["lost_attempts"] = one.lost_attempts + 1
        return _action(
            one, Act.HOLD, f"{one.lost_attempts + 1} attempts ended with their worker", evidence, why
        )
    if one.unknown_effect is not None:
        evidence["effect"] = one.unknown_effect
        return _action(
            one, Act.HOLD, f"{why}; nobody knows whether effect {one.unknown_effect} happened", evidence, why
        )
    if one.checkpoint_id is None:
        reason = f"{why}; starts again from its request"
    else:
        reason = f"{why}; resumes after stage {one.last_stage}"
        evidence |= {"last_stage": one.last_stage, "checkpoint_id": one.checkpoint_id}
    return _action(one, Act.REQUEUE, reason, evidence, why)


def _loss(one: Situation, bounds: Bounds, now: float) -> tuple[str, dict[str, Any]] | None:
    """Why a running job's execution counts as lost, with the evidence; None while it may live."""
    if one.attempt is None:
        return "attempt lost", {}
    evidence: dict[str, Any] = {
        "worker": one.attempt.worker,
        "pid": one.attempt.pid,
        "epoch": one.attempt.epoch,
    }
    if one.worker_gone:
        return one.loss, evidence
    age_s = now - one.attempt.heartbeat_at
    if age_s >= bounds.heartbeat_stale_s:
        return "worker lost", {**evidence, "heartbeat_age": round(age_s, 1)}
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
    return Action(
        act,
        one.job.job_id,
        one.job.status,
        one.job.fence,
        reason,
        evidence,
        attempt=one.attempt.attempt if one.attempt else None,
        attempt_end=attempt_end,
        heartbeat_at=one.attempt.heartbeat_at if one.attempt and not one.worker_gone else None,
    )
