"""What commands leave on record, told apart from any worker: on a real database, without Dask."""

from collections.abc import Callable
from typing import Any

import pytest
from jobdeck_backend.commands import delivery, execution, notices, operators, recovery
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import NotEligible
from jobdeck_backend.jobs.lifecycle import Verb
from jobdeck_backend.jobs.records import Aside, Claim, Job, Status
from jobdeck_backend.store import attempts, events, jobs
from sqlalchemy import Connection

BY = operators.By("operator", 110.0)


def accept(tx: Connection, job_id: str, **fields: Any) -> None:
    submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id, **fields), 100.0)


def deliver(tx: Connection, *pending: str, **limits: Any) -> list[str]:
    limits = {"room": 1000, "urgent_room": 0} | limits
    chosen, _position = delivery.deliver(tx, epoch=1, pending=pending, now=101.0, **limits)
    return [one.job_id for one in chosen]


def start(tx: Connection, job_id: str = "one", **fields: Any) -> Claim:
    accept(tx, job_id, **fields)
    deliver(tx)
    claim = execution.claim(tx, job_id, 0, worker="w0-e1", pid=1, epoch=1, now=102.0)
    assert claim is not None
    return claim


def stored(tx: Connection, job_id: str = "one") -> Job:
    job = jobs.load_job(tx, job_id)
    assert job is not None
    return job


def test_what_waits_for_a_job_that_is_lost_or_elsewhere_is_in_nobody_s_way(tx: Connection) -> None:
    """However many they are and however urgent: others can go, with what they wait for or after it."""
    start(tx, "lost")
    for number in range(delivery.DEPENDENTS_MAX + 1):
        accept(tx, f"stuck-{number}", after=("lost",), deadline=200)
    accept(tx, "here", deadline=300)
    accept(tx, "beside", after=("here",), deadline=300)
    accept(tx, "both", after=("here", "lost"), deadline=250)
    assert deliver(tx) == ["here", "beside"]
    accept(tx, "third", after=("here", "beside"), deadline=400)
    assert deliver(tx, "here", "beside") == ["third"]
    assert len(deliver(tx, "here", "lost")) == delivery.DEPENDENTS_MAX


ENDINGS: dict[str, Callable[[Connection, Claim], object]] = {
    "succeeded": lambda tx, claim: execution.succeed(tx, claim, {"report": "late"}, [], 111.0),
    "failed": lambda tx, claim: execution.fail(tx, claim, "it raised", "ValueError", [], 111.0),
    "expired": lambda tx, claim: execution.end(tx, claim, "expired", 111.0),
    "stopped": lambda tx, claim: execution.stop(tx, claim, 111.0),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_r15_whatever_way_an_execution_ends_a_cancel_that_waits_for_it_is_acknowledged(
    tx: Connection, ending: str
) -> None:
    claim = start(tx, deadline=200)
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    ENDINGS[ending](tx, claim)
    job = stored(tx)
    assert (job.status, job.cancel_acknowledged_at, job.output) == (Status.INTERRUPTED, 111.0, None)
    last = events.read_after(tx, "one", 0, 100)[-1]
    assert (last.seq, last.type) == (job.event_seq, "job.cancelled")
    assert not jobs.has_live_attempt(tx, "one")


def test_r15_after_the_grace_a_late_end_is_noted_on_the_attempt_only(tx: Connection) -> None:
    claim = start(tx)
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    job = stored(tx)
    assert recovery.revoke(tx, "one", job.status, job.fence, 113.0)
    before = stored(tx)
    execution.fail(tx, claim, "it raised", "ValueError", [], 114.0)
    assert stored(tx) == before
    assert not jobs.has_live_attempt(tx, "one")


def test_r24_a_heartbeat_is_no_progress(tx: Connection) -> None:
    claim = start(tx)
    execution.record(tx, claim, [notices.notice("log", 105.0, "one step on")], 105.0)
    execution.renew(tx, claim, 130.0, [notices.heartbeat(28, 130.0)])
    assert stored(tx).progress_at == 105.0
    assert jobs.load_attempts(tx, "one")[0].heartbeat_at == 130.0
    assert events.read_after(tx, "one", 0, 100)[-1].type == "job.heartbeat"


def grant(tx: Connection, job_id: str, deadline: float) -> None:
    operators.act(tx, "grant", job_id, operators.grant_until(lambda _admission, _now: deadline), BY)


def test_r18_a_deadline_granted_after_the_plan_is_not_expired_by_it(tx: Connection) -> None:
    start(tx, deadline=112)
    grant(tx, "one", 300)
    seen = stored(tx)
    assert not recovery.expire(tx, "one", seen.status, seen.fence, reason="late", now=115.0)
    assert stored(tx) == seen


def test_r7_a_worker_that_has_not_heard_of_a_grant_expires_nothing(tx: Connection) -> None:
    claim = start(tx, deadline=112)
    grant(tx, "one", 300)
    assert not execution.expire_running(tx, claim, (), 112.0)
    assert stored(tx).status is Status.RUNNING
    assert execution.expire_running(tx, claim, (), 300.0)


def test_r24_an_execution_is_taken_only_by_the_heartbeat_it_was_judged_by(tx: Connection) -> None:
    claim = start(tx)
    job = stored(tx)

    def reclaim(heartbeat_at: float) -> bool:
        moved = recovery.reclaim(
            tx,
            "one",
            job.status,
            job.fence,
            Verb.RECOVER,
            attempt=1,
            attempt_end="worker lost",
            heartbeat_at=heartbeat_at,
            reason="worker lost",
            now=125.0,
        )
        return moved is not None

    execution.renew(tx, claim, 124.0)
    assert not reclaim(102.0)
    assert stored(tx) == job
    assert reclaim(124.0)
    assert stored(tx).status is Status.SUBMITTED
    assert not jobs.has_live_attempt(tx, "one")


@pytest.mark.parametrize("given_up", [False, True], ids=["cancelled", "given up before"])
def test_r15_a_late_result_is_kept_aside_and_is_never_the_jobs(tx: Connection, given_up: bool) -> None:
    claim = start(tx)
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    if given_up:
        recovery.end_attempt(tx, "one", 1, reason="worker lost", now=111.0)
    assert execution.succeed(tx, claim, {"report": "late"}, [], 112.0) is False
    aside = attempts.load_aside(tx, "one", 9)
    assert aside == {1: Aside('{"report"', len('{"report":"late"}'), None)}
    (attempt,) = jobs.load_attempts(tx, "one")
    assert attempt.end_reason == ("worker lost" if given_up else "late result")
    assert (stored(tx).status, stored(tx).output) == (Status.INTERRUPTED, None)


@pytest.mark.parametrize(("at", "said"), [(119.9, None), (121.5, "late by 1.5 s")])
def test_i10_a_success_past_its_deadline_says_by_how_much(
    tx: Connection, at: float, said: str | None
) -> None:
    claim = start(tx, deadline=120)
    assert execution.succeed(tx, claim, {"report": None}, (), at)
    assert jobs.load_transitions(tx, "one")[-1]["reason"] == said
    admission = jobs.load_admission(tx, "one")
    assert admission is not None
    assert admission.outcome_reason == said


def test_r15_a_cancel_acknowledged_after_the_plan_is_not_revoked(tx: Connection) -> None:
    claim = start(tx)
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    planned = stored(tx)
    execution.stop(tx, claim, 113.0)
    acknowledged = stored(tx)
    assert not recovery.revoke(tx, "one", planned.status, planned.fence, 113.0)
    assert stored(tx) == acknowledged


def test_a_grant_leaves_a_job_as_urgent_as_what_waits_for_it(tx: Connection) -> None:
    accept(tx, "first", deadline=200)
    accept(tx, "second", deadline=150, after=("first",))
    grant(tx, "first", 400)
    assert stored(tx, "first").dispatch_deadline == 150.0
    grant(tx, "second", 250)
    grant(tx, "first", 500)
    assert stored(tx, "first").dispatch_deadline == 250.0


def test_a_resumed_job_is_on_no_worker_and_in_no_stage(tx: Connection) -> None:
    claim = start(tx)
    execution.record(tx, claim, (), 103.0, stage="extract")
    execution.fail(tx, claim, "it raised", "ValueError", [], 104.0)
    operators.act(tx, "resume", "one", operators.resume, BY)
    job = stored(tx)
    assert (job.status, job.worker, job.stage, job.delivered_epoch) == (Status.SUBMITTED, None, None, None)


def test_r20_a_job_is_not_resumed_on_a_thread_that_went_on_without_it(tx: Connection) -> None:
    claim = start(tx, thread_id="session")
    execution.fail(tx, claim, "it raised", "ValueError", [], 103.0)
    accept(tx, "next", thread_id="session")
    operators.act(tx, "cancel", "next", operators.cancel, BY)
    assert operators.act(tx, "resume", "one", operators.resume, BY) == "resumed", "the next turn never ran"
    operators.act(tx, "cancel", "one", operators.cancel, BY)
    accept(tx, "last", thread_id="session")
    deliver(tx)
    later = execution.claim(tx, "last", 0, worker="w0-e1", pid=1, epoch=1, now=120.0)
    assert later is not None
    execution.fail(tx, later, "it raised", "ValueError", [], 121.0)
    refused = operators.act(tx, "resume", "one", operators.resume, BY)
    assert isinstance(refused, NotEligible)
    assert "session has gone on" in refused.message


def test_many_dependents_that_cannot_go_are_in_nobodys_way(tx: Connection) -> None:
    operators.set_paused(tx, "slow", paused=True, actor="operator", reason=None, now=100.0)
    submit(tx, NewJob(agent_type="probe", input="{}", queue="slow", job_id="paused"), 100.0)
    accept(tx, "done", deadline=900)
    for number in range(delivery.DEPENDENTS_MAX):
        accept(tx, f"stuck-{number}", deadline=500, after=("paused",))
    accept(tx, "ready", deadline=800, after=("done",))
    accept(tx, "after-ready", deadline=900, after=("ready",))
    assert deliver(tx) == ["done", "ready", "after-ready"]


def test_where_nothing_else_can_go_new_jobs_are_looked_at_alone(tx: Connection) -> None:
    for job_id, deadline in (("old", 500), ("new", 900), ("urgent", 400)):
        accept(tx, job_id, deadline=deadline)
    assert deliver(tx, only={"new"}) == ["new"]
    assert deliver(tx, only={"old", "urgent"}, room=1) == ["urgent"], "of these too the most urgent first"
    accept(tx, "later", deadline=950)
    assert deliver(tx, only={"later"}, room=0, urgent_room=8) == [], "nothing delivered could wait for it"
    assert deliver(tx, only={"old"}, room=0, urgent_room=8) == ["old"]
