"""The reason a job is where it is."""

from dataclasses import replace

import pytest
from job_views import NOW, OPEN, running, view
from jobdeck_backend.jobs.records import Attempt, Effect, Policy
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.jobs.why import Surroundings, Why, explain

ATTEMPT = Attempt("job-1", 1, 1, "w0-e1", 4242, 1, started_at=NOW - 10, heartbeat_at=NOW - 2)
AROUND = Surroundings(
    cluster_state="up",
    slots_total=2,
    slots_taken=2,
    dask_state="queued",
    paused_by=None,
    ahead=3,
    running=["job-7", "job-8"],
    attempt=None,
)


def why(view: JobView, **around: object) -> Why:
    return explain(view, replace(AROUND, **around), NOW)  # type: ignore[arg-type]


def test_a_queued_job_is_told_what_has_the_slots_and_how_many_are_before_it() -> None:
    reason = why(view(delivered_epoch=1, dask_state="queued"))
    assert reason.code == "queued"
    assert "2 of 2 slots are taken (by job-7, job-8)" in reason.text
    assert "3 jobs are before it" in reason.text
    assert reason.data["taken_by"] == ["job-7", "job-8"]
    alone = why(
        view(delivered_epoch=1, dask_state="queued"), slots_taken=1, slots_total=1, running=("job-7",)
    )
    assert "1 of 1 slot is taken (by job-7)" in alone.text


def test_a_dependent_job_is_told_what_it_waits_for() -> None:
    reason = why(view(waits_for=(OPEN,)))
    assert reason.code == "dependency"
    assert reason.data == {"waits_for": ["before-1"]}
    assert "before-1" in reason.text


def test_a_paused_queue_is_named_with_who_paused_it() -> None:
    reason = why(view(queue="nightly"), paused_by="operator")
    assert (reason.code, "nightly" in reason.text, "operator" in reason.text) == ("paused", True, True)


def test_without_a_scheduler_nothing_is_called_empty() -> None:
    for one in (view(), view(delivered_epoch=1)):
        reason = why(one, cluster_state="lost", slots_total=0, slots_taken=0, dask_state=None)
        assert reason.code == "scheduler_lost"
        assert "Nothing is lost" in reason.text


def test_no_worker_is_told_apart_from_no_free_slot() -> None:
    assert why(view(), slots_total=0).code == "no_worker"
    assert why(view(), ahead=0).code == "backlog"


def test_a_job_that_waits_for_drained_workers_is_told_that_one_must_be_restarted() -> None:
    reason = why(view(), drained=("w0-e1", "w1-e1"))
    assert reason.code == "no_worker"
    assert "Every worker is drained (w0-e1, w1-e1)" in reason.text
    assert "Take one back or restart it" in reason.text


def test_a_job_with_another_backends_dask_is_told_by_whom_it_is_held_and_nothing_of_this_ones_slots() -> None:
    for around in ({}, {"cluster_state": "lost"}, {"slots_total": 0}):
        reason = why(view(delivered_epoch=7), elsewhere="host-b:42", dask_state=None, **around)
        assert (reason.code, reason.data) == ("queued", {"backend": "host-b:42"})
        assert "another backend on this database, host-b:42" in reason.text
        assert "slots" not in reason.text


def test_a_running_job_is_told_with_its_worker_and_heartbeat() -> None:
    reason = why(running(stage="extract"), attempt=ATTEMPT)
    assert reason.code == "running"
    assert reason.text == ("Running on w0-e1 at stage extract, attempt 1. Its worker's heartbeat is 2 s old.")


def test_an_unfinished_job_is_told_how_long_its_deadline_leaves_it_and_that_it_will_miss_it() -> None:
    assert why(view(deadline=NOW + 41)).text.endswith("Its deadline is in 41 s.")
    late = why(view(deadline=NOW + 100, predicted_finish=NOW + 130))
    assert late.text.endswith("Its deadline is in 1 min 40 s; it is predicted to end 30 s after it.")
    assert late.data["left"] == 100.0
    assert why(view(deadline=NOW - 4000)).text.endswith("Its deadline passed 1 h 6 min ago.")
    assert "deadline" not in why(view(outcome="succeeded", deadline=NOW + 9)).text


def test_r16_a_cancel_that_is_not_acknowledged_is_told_with_how_long_and_that_its_slot_is_taken() -> None:
    reason = why(view(outcome="cancelled", cancel_requested_at=NOW - 7, heartbeat_at=NOW), attempt=ATTEMPT)
    assert reason.code == "cancelling"
    assert "7 s ago" in reason.text
    assert "its slot is still taken" in reason.text


def test_a_finished_job_says_how_it_ended_and_why() -> None:
    reason = why(view(outcome="expired", outcome_reason="deadline passed while queued"))
    assert reason.code == "finished"
    assert reason.text == "It expired: deadline passed while queued."
    assert why(view(outcome="succeeded")).text == "It succeeded."
    cancelled = why(view(outcome="cancelled", outcome_reason="cancelled by user: too slow"))
    assert cancelled.text == "It was cancelled by user: too slow."


def test_r9_a_finished_job_whose_thread_goes_on_says_that_its_slot_is_taken() -> None:
    reason = why(view(outcome="expired", outcome_reason="deadline passed while running"), attempt=ATTEMPT)
    assert reason.text.endswith("Its thread on w0-e1 has not ended: that slot is still taken.")


def test_a_held_job_says_what_it_needs() -> None:
    reason = why(view(held_reason="3 attempts ended with their worker"))
    assert reason.code == "held"
    assert "until a person resumes it" in reason.text


EFFECT = Effect("job-1/pay/1/charge/0", "job-1", "charge", "pay", 1, "manual", "uncertain", "{}", 1, 1, NOW)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy.MANUAL, "it asks first for a verdict on effect charge"),
        (Policy.PROBE, "it asks the provider whether effect charge happened"),
        (Policy.IDEMPOTENT, "it calls effect charge again with the same key"),
        (Policy.REPEATABLE, "it calls effect charge again."),
    ],
)
def test_r25_a_held_job_says_by_which_effect_and_what_a_resume_would_do(policy: Policy, words: str) -> None:
    reason = why(view(held_reason="worker lost"), uncertain=replace(EFFECT, policy=policy))
    assert reason.data == {"held_reason": "worker lost", "effect": EFFECT.key}
    assert words in reason.text


def test_r25_the_uncertainty_of_a_finished_job_stays_in_view() -> None:
    reason = why(view(outcome="expired", outcome_reason="deadline passed while queued"), uncertain=EFFECT)
    assert reason.text.endswith("Nobody knows whether its effect charge happened.")
    assert reason.data["effect"] == EFFECT.key
