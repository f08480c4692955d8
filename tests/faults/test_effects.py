"""A worker dies between an effect's call and its outcome, or is stopped there (R25)."""

import json
import os
import signal
from typing import Any

import pytest
from running_backend import RunningBackend, wait_until
from webhook_listener import listening


def pay(**effect: Any) -> dict[str, Any]:
    return {"name": "pay", "effect": {"key": "charge", "hang": True, **effect}}


def calls(backend: RunningBackend, job_id: str) -> list[str]:
    """The keys the provider saw, in order."""
    return [line["key"] for line in backend.journal(job_id) if line["event"] == "effect_called"]


def called_once(backend: RunningBackend, job_id: str) -> int:
    """Wait for the call whose outcome never comes; answers the process that made it."""
    wait_until(lambda: calls(backend, job_id), 15, what="the effect is called")
    return next(line["pid"] for line in backend.journal(job_id) if line["event"] == "effect_called")


def held(backend: RunningBackend, job_id: str) -> str:
    """Wait until the job is held; answers why."""
    return str(wait_until(lambda: backend.record(job_id).held_reason, 20, what="the job is held"))


def held_after_a_lost_call(backend: RunningBackend, **body: Any) -> str:
    job_id = backend.submit({"name": "before"}, pay(), {"name": "after"}, **body)
    os.kill(called_once(backend, job_id), signal.SIGKILL)
    held(backend, job_id)
    return job_id


def test_r25_a_call_whose_outcome_was_lost_holds_the_job_and_is_not_made_again(
    backend: RunningBackend,
) -> None:
    job_id = held_after_a_lost_call(backend)
    key = f"{job_id}/pay/2/charge/0"
    assert held(backend, job_id) == f"worker lost; nobody knows whether effect {key} happened"
    (effect,) = backend.effects(job_id)
    assert (effect["key"], effect["state"], effect["policy"]) == (key, "uncertain", "manual")
    assert (effect["request"], effect["intents"], effect["settled_at"]) == ({"pay": "charge"}, 1, None)
    why = backend.http.get(f"/v1/ops/jobs/{job_id}/why").json()
    assert (why["code"], why["data"]["effect"]) == ("held", key)
    assert "a verdict on effect charge" in why["text"]
    refused = backend.act(job_id, "resume")
    assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "effect_uncertain")
    assert refused.json()["detail"]["effect"] == key
    assert refused.json()["detail"]["current"]["state"] == "held"
    assert calls(backend, job_id) == [key]


def test_r25_what_happened_is_not_called_again_and_the_job_goes_on_behind_it(backend: RunningBackend) -> None:
    job_id = held_after_a_lost_call(backend)
    (effect,) = backend.effects(job_id)
    assert backend.judge(job_id, effect["key"], "happened").status_code == 422, "it needs a proof"
    answer = backend.judge(job_id, effect["key"], "happened", proof=" receipt 4711 ", reason="asked the bank")
    assert answer.status_code == 200, answer.text
    judged = answer.json()
    assert (judged["state"], judged["proof"], judged["settled_by"]) == (
        "happened",
        "receipt 4711",
        "operator",
    )
    assert judged["settled_at"] is not None
    assert backend.record(job_id).held_reason is not None, "a verdict starts nothing"
    assert backend.act(job_id, "resume").status_code == 200
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert calls(backend, job_id) == [effect["key"]]
    assert backend.journal_stages(job_id) == ["before", "pay", "after"]
    (told,) = [frame.data for frame in backend.events(job_id) if frame.data.get("name") == "verdict"]
    assert told["data"]["verdict"] == "happened"
    assert told["data"]["proof"] == "receipt 4711"
    (act,) = [one for one in audit(backend) if one["job_id"] == job_id and one["act"] == "verdict"]
    assert act["result"] == "operator says of effect charge: happened"
    assert act["reason"] == "asked the bank"


@pytest.mark.parametrize("verdict", ["not_happened", "retry"])
def test_r25_what_did_not_happen_is_called_again_under_the_same_key(
    backend: RunningBackend, verdict: str
) -> None:
    job_id = held_after_a_lost_call(backend)
    (effect,) = backend.effects(job_id)
    assert backend.judge(job_id, effect["key"], verdict).status_code == 200
    assert backend.act(job_id, "resume").status_code == 200
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert calls(backend, job_id) == [effect["key"]] * 2
    (effect,) = backend.effects(job_id)
    assert (effect["state"], effect["intents"], effect["attempt"]) == ("confirmed", 2, 2)
    assert effect["outcome"] == {"answer": "done"}


@pytest.mark.parametrize("effect", [{"repeatable": True}, {"policy": "idempotent"}])
def test_r25_what_may_be_repeated_is_called_again_under_the_same_key_without_a_person(
    backend: RunningBackend, effect: dict[str, Any]
) -> None:
    job_id = backend.submit(pay(**effect), {"name": "after"})
    os.kill(called_once(backend, job_id), signal.SIGKILL)
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert calls(backend, job_id) == [f"{job_id}/pay/1/charge/0"] * 2
    (known,) = backend.effects(job_id)
    assert (known["state"], known["intents"]) == ("confirmed", 2)


def test_r25_a_provider_that_can_be_asked_is_asked_in_place_of_a_second_call(backend: RunningBackend) -> None:
    job_id = backend.submit(pay(policy="probe"), {"name": "after"})
    os.kill(called_once(backend, job_id), signal.SIGKILL)
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert calls(backend, job_id) == [f"{job_id}/pay/1/charge/0"]
    (known,) = backend.effects(job_id)
    assert (known["state"], known["intents"]) == ("confirmed", 1)
    assert known["outcome"] == {"asked": "the provider says it happened"}


def test_r25_a_confirmed_effect_is_not_called_again_when_its_stage_runs_again(
    backend: RunningBackend,
) -> None:
    """The worker dies after the outcome and before the stage's checkpoint."""
    stage = {"name": "pay", "effect": {"key": "charge"}, "fail": True}
    job_id = backend.submit(stage)
    assert backend.wait_for(job_id)["outcome"] == "failed"
    assert backend.act(job_id, "resume").status_code == 200
    wait_until(lambda: backend.record(job_id).attempt == 2, what="the second attempt")
    backend.wait_for(job_id, "failure")
    assert backend.journal_stages(job_id, "stage_started") == ["pay", "pay"]
    assert len(calls(backend, job_id)) == 1
    assert backend.effects(job_id)[0]["state"] == "confirmed"


@pytest.mark.parametrize("sync", [False, True])
def test_r25_a_cancel_during_the_call_leaves_it_uncertain_and_a_resume_needs_a_verdict(
    backend: RunningBackend, sync: bool
) -> None:
    job_id = backend.submit({**pay(), "sync": sync})
    called_once(backend, job_id)
    assert backend.act(job_id, "cancel").status_code == 200
    wait_until(lambda: backend.record(job_id).cancel_acknowledged_at, 5, what="the cancel is acknowledged")
    (effect,) = backend.effects(job_id)
    assert effect["state"] == "uncertain"
    assert (
        "Nobody knows whether its effect charge happened"
        in (backend.http.get(f"/v1/ops/jobs/{job_id}/why").json()["text"])
    )
    assert backend.act(job_id, "resume").json()["detail"]["code"] == "effect_uncertain"
    assert backend.judge(job_id, effect["key"], "happened", proof="4711").status_code == 200
    assert backend.act(job_id, "resume").status_code == 200
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert len(calls(backend, job_id)) == 1


def test_r25_a_call_that_raised_holds_the_job_with_its_words_until_a_person_has_judged(
    backend: RunningBackend,
) -> None:
    job_id = backend.submit(pay(hang=False, fail=True), {"name": "after"})
    key = f"{job_id}/pay/1/charge/0"
    error = "ProbeFailure: effect 'charge' was asked to fail"
    assert held(backend, job_id) == f"nobody knows whether effect {key} happened: {error}"
    detail = backend.http.get(f"/v1/ops/jobs/{job_id}").json()
    assert (detail["job"]["state"], detail["effects"][0]["state"]) == ("held", "uncertain")
    (attempt,) = detail["attempts"]
    assert attempt["end_reason"] == "held"
    assert error in attempt["traceback"]
    assert backend.job(job_id)["status"] == "submitted", "it has not failed"
    why = backend.http.get(f"/v1/ops/jobs/{job_id}/why").json()["text"]
    assert error in why
    assert "a verdict on effect charge" in why
    assert backend.act(job_id, "resume").json()["detail"]["code"] == "effect_uncertain"
    assert backend.judge(job_id, key, "not_happened").status_code == 200
    assert backend.act(job_id, "resume").status_code == 200
    assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert calls(backend, job_id) == [key] * 2


@pytest.mark.parametrize("sync", [False, True])
def test_r25_a_deadline_during_the_call_leaves_it_uncertain(backend: RunningBackend, sync: bool) -> None:
    job_id = backend.submit({**pay(), "sync": sync}, deadline_seconds=2.0)
    called_once(backend, job_id)
    assert backend.wait_for(job_id)["outcome"] == "expired"
    assert backend.effects(job_id)[0]["state"] == "uncertain"


def test_r25_a_held_job_expires_at_its_deadline_and_the_uncertainty_stays(backend: RunningBackend) -> None:
    job_id = held_after_a_lost_call(backend, deadline_seconds=6.0)
    assert backend.wait_for(job_id)["outcome"] == "expired"
    (effect,) = backend.effects(job_id)
    assert effect["state"] == "uncertain"
    assert backend.judge(job_id, effect["key"], "happened", proof="4711").json()["state"] == "happened"


def test_r25_a_lost_scheduler_holds_the_job_whose_call_it_cut_off(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit(pay())
    called_once(backend, job_id)
    os.kill(backend.pid_of("scheduler"), signal.SIGKILL)
    assert held(backend, job_id).startswith("scheduler lost; nobody knows whether effect")
    assert len(calls(backend, job_id)) == 1
    backend.wait_for_epoch(2)


def test_a_verdict_that_cannot_be_is_refused_with_the_reason(backend: RunningBackend) -> None:
    job_id = backend.submit(pay())
    called_once(backend, job_id)
    (effect,) = backend.effects(job_id)
    assert effect["state"] == "intent"
    live = backend.judge(job_id, effect["key"], "retry")
    assert (live.status_code, live.json()["detail"]["code"]) == (409, "not_eligible")
    assert "live attempt" in live.json()["detail"]["message"]
    assert backend.judge(job_id, "no/such/key", "retry").status_code == 404
    assert backend.judge("no-such-job", effect["key"], "retry").status_code == 404
    assert backend.judge(job_id, effect["key"], "perhaps").status_code == 422
    backend.act(job_id, "cancel")
    wait_until(lambda: backend.record(job_id).cancel_acknowledged_at, 5, what="the cancel is acknowledged")
    stale = backend.judge(job_id, effect["key"], "retry", version=1)
    assert stale.json()["detail"]["code"] == "changed"
    assert backend.judge(job_id, effect["key"], "retry").status_code == 200
    again = backend.judge(job_id, effect["key"], "happened", proof="x")
    assert (again.status_code, "nothing to judge" in again.text) == (409, True)


def audit(backend: RunningBackend) -> list[dict[str, Any]]:
    return list(backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"])


def test_r25_a_webhook_whose_answer_was_lost_is_told_again_under_the_same_key(start_backend) -> None:
    backend = start_backend(JOBDECK_ALLOW_PRIVATE_ADDRESSES="true", JOBDECK_OFFLINE_TOKENS_PER_SECOND="5000")
    backend.wait_for_dask()
    with listening(None, 200) as listener:
        document = {"text": "Permission is hereby granted to use this software.", "notify_url": listener.url}
        job_id = backend.submit_text(json.dumps(document), agent_type="contract_review")
        key = listener.arrivals.get(timeout=20)
        os.kill(backend.attempts(job_id)[0].pid, signal.SIGKILL)
        assert backend.wait_for(job_id)["outcome"] == "succeeded"
    assert [told["key"] for told in listener.received] == [key, key]
    (effect,) = backend.effects(job_id)
    assert (effect["state"], effect["policy"], effect["intents"]) == ("confirmed", "idempotent", 2)
    assert effect["outcome"] == {"status": 200}
    stages = [line["stage"] for line in backend.journal(job_id, "contract_review")]
    assert stages.count("report") == 2, "started and completed once: only the notification was begun again"
