"""The caller's URL is told how its job ended, whatever the end, and whatever the receiver does (R8, R10)."""

import hashlib
import hmac
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_backend import RunningBackend, wait_until
from starting_backends import one_backend
from webhook_listener import Listener, listening

SECRET = "a secret of both sides"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    with one_backend(
        tmp_path_factory.mktemp("callbacks"),
        JOBDECK_ALLOW_PRIVATE_ADDRESSES="true",
        JOBDECK_CALLBACK_SECRET=SECRET,
        JOBDECK_CALLBACK_RETRY_S="0.1",
        JOBDECK_CALLBACK_ATTEMPTS_MAX="3",
        JOBDECK_CALLBACK_TIMEOUT_S="1.5",
        JOBDECK_CALLBACK_CONCURRENCY_MAX="2",
        JOBDECK_LOST_ATTEMPTS_MAX="1",
    ) as running:
        yield running


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as receiving:
        yield receiving


def detail(backend: RunningBackend, job_id: str) -> dict[str, Any]:
    return dict(backend.http.get(f"/v1/ops/jobs/{job_id}").json())


def settled(backend: RunningBackend, job_id: str, state: str = "delivered") -> dict[str, Any]:
    """Wait until the job's notification is in that state; answers it."""

    def look() -> dict[str, Any] | None:
        found = detail(backend, job_id)["notification"]
        return found if found is not None and found["state"] == state else None

    return wait_until(look, what=f"the notification of {job_id} is {state}")  # type: ignore[return-value]


def genuine(received: dict[str, Any]) -> bool:
    parts = dict(part.split("=", 1) for part in received["headers"]["X-Jobdeck-Signature"].split(","))
    expected = hmac.new(SECRET.encode(), f"{parts['t']}.".encode() + received["raw"], hashlib.sha256)
    return hmac.compare_digest(parts["v1"], expected.hexdigest()) and abs(time.time() - int(parts["t"])) < 300


def told(backend: RunningBackend, listener: Listener, job_id: str, event: str) -> dict[str, Any]:
    """Wait for the notification of that event; answers its body."""

    def arrived() -> dict[str, Any] | None:
        bodies = [(one, one["body"]) for one in list(listener.received)]
        return next((one for one, body in bodies if (body["job_id"], body["event"]) == (job_id, event)), None)

    received = wait_until(arrived, 20, what=f"the caller of {job_id} is told that it {event}")
    assert received is not None
    assert genuine(received)
    assert received["headers"]["Content-Type"] == "application/json"
    settled(backend, job_id)
    return dict(received["body"])


def test_r10_a_success_is_told_with_where_its_report_is(backend: RunningBackend, listener: Listener) -> None:
    job_id = backend.submit({"name": "only"}, callback_url=listener.url, deadline_seconds=60)
    body = told(backend, listener, job_id, "succeeded")
    job = backend.job(job_id)
    assert body == {
        "job_id": job_id,
        "event": "succeeded",
        "outcome": "succeeded",
        "status": "success",
        "reason": None,
        "error": None,
        "deadline": job["deadline"],
        "finished_at": job["finished_at"],
        "attempt": 1,
        "version": backend.record(job_id).version,
        "report_url": f"/v1/jobs/async/job/{job_id}/report",
    }
    assert backend.http.get(body["report_url"]).status_code == 200
    assert listener.received[0]["path"] == "/hooks/review?from=jobdeck"


def test_r10_a_failure_and_a_cancel_are_told_apart(backend: RunningBackend, listener: Listener) -> None:
    failing = backend.submit({"name": "bad", "fail": True}, callback_url=listener.url)
    body = told(backend, listener, failing, "failed")
    assert (body["outcome"], body["status"], body["report_url"]) == ("failed", "failure", None)
    assert body["error"] == backend.job(failing)["error"]
    running = backend.submit({"name": "long", "seconds": 60}, callback_url=listener.url)
    backend.wait_for_stage(running, "long")
    assert backend.act(running, "cancel", reason="too slow").status_code == 200
    body = told(backend, listener, running, "cancelled")
    assert (body["outcome"], body["status"], body["reason"]) == (
        "cancelled",
        "interrupted",
        "cancelled by user: too slow",
    )


def test_r8_r10_every_kind_of_expiry_is_told_with_its_reason(
    backend: RunningBackend, listener: Listener
) -> None:
    backend.http.post("/v1/ops/queues/shut/pause", json={}).raise_for_status()
    queued = backend.submit({"name": "x"}, queue="shut", deadline_seconds=0.3, callback_url=listener.url)
    by_hand = backend.submit({"name": "x"}, queue="shut", callback_url=listener.url)
    running = backend.submit({"name": "x", "seconds": 60}, deadline_seconds=1, callback_url=listener.url)
    assert backend.act(by_hand, "expire", reason="useless").status_code == 200
    reasons = {
        queued: "deadline passed while queued",
        by_hand: "by operator: useless",
        running: "deadline passed while running",
    }
    for job_id, reason in reasons.items():
        body = told(backend, listener, job_id, "expired")
        assert (body["outcome"], body["status"], body["reason"]) == ("expired", "interrupted", reason)
    backend.http.post("/v1/ops/queues/shut/resume", json={}).raise_for_status()


def test_a_held_job_is_told_and_its_end_after_a_resume_too(
    backend: RunningBackend, listener: Listener
) -> None:
    job_id = backend.submit({"name": "poison", "seconds": 1}, callback_url=listener.url)
    os.kill(backend.wait_for_stage(job_id, "poison"), signal.SIGKILL)
    held = told(backend, listener, job_id, "held")
    assert (held["outcome"], held["status"], held["finished_at"]) == (None, "submitted", None)
    assert "1 attempt ended with its worker" in held["reason"]
    assert backend.act(job_id, "resume").status_code == 200
    ended = told(backend, listener, job_id, "succeeded")
    assert ended["version"] > held["version"]
    deliveries = [one["headers"]["X-Jobdeck-Delivery"] for one in listener.received]
    assert len(set(deliveries)) == len(deliveries) == 2


def test_an_unconfirmed_delivery_is_made_again_under_the_same_id(backend: RunningBackend) -> None:
    with listening(500, 307, 200) as listener:
        job_id = backend.submit({"name": "only"}, callback_url=listener.url)
        notification = settled(backend, job_id)
        assert (notification["attempts"], notification["last_error"]) == (3, None)
        assert notification["next_at"] is None
        assert notification["delivered_at"] is not None
        assert notification["target"] == f"http://localhost:{listener.port}", "a path may hold a secret"
        assert {one["headers"]["X-Jobdeck-Delivery"] for one in listener.received} == {notification["id"]}
        assert len({one["raw"] for one in listener.received}) == 1
        assert len(listener.received) == 3, "the redirect was not followed"
        assert all(map(genuine, listener.received))


def test_a_delivery_never_confirmed_is_given_up_and_says_why(backend: RunningBackend) -> None:
    with listening(503) as listener:
        job_id = backend.submit({"name": "only"}, callback_url=listener.url)
        notification = settled(backend, job_id, "failed")
    assert (notification["attempts"], notification["next_at"]) == (3, None)
    assert notification["last_error"] == "the receiver answered 503"
    assert backend.job(job_id)["outcome"] == "succeeded", "the job is what it is"
    nowhere = backend.submit({"name": "only"}, callback_url=listener.url)
    assert "ConnectError" in settled(backend, nowhere, "failed")["last_error"]


def test_receivers_that_never_answer_hold_nobody_else_up(backend: RunningBackend, listener: Listener) -> None:
    with listening(None) as silent:
        stuck = [backend.submit({"name": "only"}, callback_url=silent.url) for _ in range(3)]
        wait_until(
            lambda: len(silent.received) >= 2, what="both places are taken by receivers that are silent"
        )
        began = time.monotonic()
        assert backend.wait_for(backend.submit({"name": "only"}))["outcome"] == "succeeded"
        assert backend.http.get("/health").status_code == 200
        assert time.monotonic() - began < 3
        job_id = backend.submit({"name": "only"}, callback_url=listener.url)
        told(backend, listener, job_id, "succeeded")
        for one in stuck:
            assert settled(backend, one, "failed")["last_error"] == "no answer within 1.5 s"


def test_r27_a_delivery_adds_nothing_to_the_log_whose_last_is_the_terminal_status(
    backend: RunningBackend, listener: Listener
) -> None:
    job_id = backend.submit({"name": "only"}, callback_url=listener.url)
    before = [frame for frame in backend.events(job_id) if frame.id is not None]
    told(backend, listener, job_id, "succeeded")
    after = backend.events(job_id)
    assert [frame for frame in after if frame.id is not None] == before
    assert (after[-1].event, after[-1].data["status"]) == ("job.status", "success")


def test_r38_neither_the_log_nor_the_detail_repeats_what_of_the_url_may_be_secret(
    backend: RunningBackend, listener: Listener
) -> None:
    url = listener.url.replace("/hooks/review?from=jobdeck", "/T0KEN/path?token=T0KEN")
    job_id = backend.submit({"name": "only"}, callback_url=url)
    told(backend, listener, job_id, "succeeded")
    shown = detail(backend, job_id)
    assert shown["request"]["callback"] == f"http://localhost:{listener.port}"
    assert "T0KEN" not in json.dumps(shown)
    assert "T0KEN" not in backend.log.read_text()
    assert SECRET not in backend.log.read_text()


def test_workers_are_not_given_the_secret(backend: RunningBackend) -> None:
    for pid, role in backend.processes().items():
        if role != "backend":
            assert SECRET.encode() not in Path(f"/proc/{pid}/environ").read_bytes(), role


def test_without_a_url_nothing_is_owed(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "only"})
    backend.wait_for(job_id)
    shown = detail(backend, job_id)
    assert (shown["notification"], shown["request"]["callback"]) == (None, None)
