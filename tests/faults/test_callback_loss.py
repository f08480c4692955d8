"""What a caller is owed outlives the backend that owed it, and the receiver that was away (R8)."""

import os
import signal
import time

from running_backend import RunningBackend, wait_until
from webhook_listener import Listener, listening

ENVIRONMENT = {
    "JOBDECK_ALLOW_PRIVATE_ADDRESSES": "true",
    "JOBDECK_CALLBACK_RETRY_S": "0.2",
    "JOBDECK_CALLBACK_TIMEOUT_S": "1",
}


def notification(backend: RunningBackend, job_id: str) -> dict:
    return backend.http.get(f"/v1/ops/jobs/{job_id}").json()["notification"] or {}


def arrived(listener: Listener) -> dict[str, str]:
    return {one["body"]["job_id"]: one["body"]["event"] for one in list(listener.received)}


def test_a_receiver_that_was_down_while_the_backend_died_is_told_by_the_next(start_backend) -> None:
    with listening() as listener:
        port, url = listener.port, listener.url  # from here on nobody listens there
    first = start_backend(**ENVIRONMENT)
    first.http.post("/v1/ops/queues/shut/pause", json={}).raise_for_status()
    ended = first.submit({"name": "x"}, queue="shut", callback_url=url)
    assert first.act(ended, "cancel").status_code == 200
    overdue = first.submit({"name": "x"}, queue="shut", deadline_seconds=1, callback_url=url)
    owed = wait_until(
        lambda: (seen := notification(first, ended)).get("last_error") and seen, what="an attempt has failed"
    )
    assert "ConnectError" in owed["last_error"]
    os.kill(first.pid, signal.SIGKILL)
    first.wait_until_gone(5)
    deadline = first.record(overdue).accepted_at + 1
    wait_until(lambda: time.time() > deadline, what="the deadline has passed")
    with listening(port=port) as listener:
        second = start_backend(state_dir=first.state_dir, **ENVIRONMENT)
        wait_until(lambda: len(arrived(listener)) == 2, 20, what="both are told")
        assert arrived(listener) == {ended: "cancelled", overdue: "expired"}
        (told,) = [one for one in listener.received if one["body"]["job_id"] == ended]
        assert told["headers"]["X-Jobdeck-Delivery"] == owed["id"]
        wait_until(
            lambda: notification(second, ended)["state"] == "delivered", what="the delivery is on record"
        )
        assert notification(second, ended)["attempts"] > owed["attempts"]
        assert second.job(overdue)["error"] == "expired: deadline passed while queued"


def test_a_backend_killed_while_it_sends_leaves_the_delivery_to_the_next(start_backend) -> None:
    with listening(None, 200) as listener:
        first = start_backend(**ENVIRONMENT | {"JOBDECK_CALLBACK_TIMEOUT_S": "2"})
        job_id = first.submit({"name": "x"}, callback_url=listener.url)
        wait_until(lambda: listener.received, 20, what="it is being sent")
        os.kill(first.pid, signal.SIGKILL)
        first.wait_until_gone(5)
        second = start_backend(state_dir=first.state_dir, **ENVIRONMENT)
        wait_until(lambda: len(listener.received) == 2, 20, what="it is sent again")
        ids = {one["headers"]["X-Jobdeck-Delivery"] for one in listener.received}
        assert len(ids) == 1, "the receiver can tell that it had it before"
        wait_until(
            lambda: notification(second, job_id)["state"] == "delivered", what="the delivery is on record"
        )
        assert notification(second, job_id)["attempts"] == 2


def test_a_backend_that_stops_does_not_wait_for_a_silent_receiver(start_backend) -> None:
    with listening(None) as listener:
        backend = start_backend(**ENVIRONMENT | {"JOBDECK_CALLBACK_TIMEOUT_S": "60"})
        backend.submit({"name": "x"}, callback_url=listener.url)
        wait_until(lambda: listener.received, 20, what="it is being sent")
        began = time.monotonic()
        assert backend.stop() == 0
        assert time.monotonic() - began < 5
