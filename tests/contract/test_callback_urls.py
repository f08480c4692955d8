"""Which callback URLs the jobs API takes, and what it says of the others; what a grant leaves on record."""

import pytest
from running_backend import JOBS, RunningBackend, wait_until

ALLOWED = "http:// or https://"
REFUSED = {
    "http://127.0.0.1:9/x": "JOBDECK_ALLOW_PRIVATE_ADDRESSES",
    "http://localhost/x": "JOBDECK_ALLOW_PRIVATE_ADDRESSES",
    "http://169.254.169.254/latest/meta-data": "JOBDECK_ALLOW_PRIVATE_ADDRESSES",
    "http://[::ffff:192.168.0.1]/": "JOBDECK_ALLOW_PRIVATE_ADDRESSES",
    "https://user:s3cret@example.org/": "must not hold a user name or password",
    "http://s3cret@example.org/": "must not hold a user name or password",
    "http://example.org\0/s3cret": "non-printable",
    "http://example.org:s3cret/": "Invalid port",
    "http://256.0.0.1/s3cret": "Invalid IPv4 address",
    "http://[::s3cret]/": "Invalid IPv6 address",
    "http:// /s3cret": "between its dots",
    "http://example .org/s3cret": "between its dots",
    "http://./s3cret": "nothing before, between or behind its dots",
    "http://example..org/s3cret": "nothing before, between or behind its dots",
    "http://.example.org/s3cret": "nothing before, between or behind its dots",
    f"http://{'a' * 64}.example/s3cret": "63 between two dots",
    f"http://{'a.' * 126}ab/s3cret": "at most 253 characters",
    "http://4294967296/s3cret": "is an IPv4 address, and this is none",
    "http://1.2.3.4.5/s3cret": "is an IPv4 address, and this is none",
    "http://example.999/s3cret": "is an IPv4 address, and this is none",
    "http://xn--/s3cret": "international name",
    "http://": ALLOWED,
    "http:///s3cret": ALLOWED,
    "ftp://example.org/s3cret": ALLOWED,
    "s3cret": ALLOWED,
    "": ALLOWED,
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_callback_url_that_cannot_be_used_is_422_and_nothing_is_stored(
    backend: RunningBackend, url: str
) -> None:
    request = {"agent_type": "probe", "input": "{}", "job_id": "never-stored", "callback_url": url}
    answer = backend.http.post(f"{JOBS}/submit", json=request)
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert detail.startswith("callback_url: ")
    assert REFUSED[url] in detail
    assert "s3cret" not in answer.text
    assert backend.http.get(f"{JOBS}/job/never-stored").status_code == 404
    assert "s3cret" not in backend.log.read_text()


def test_a_callback_url_of_another_type_is_422(backend: RunningBackend) -> None:
    request = {"agent_type": "probe", "input": "{}", "callback_url": ["http://example.org"]}
    assert backend.http.post(f"{JOBS}/submit", json=request).status_code == 422


def test_a_public_callback_url_is_taken_without_looking_its_name_up(backend: RunningBackend) -> None:
    job_id = backend.submit_text(
        "{}", agent_type="probe", queue="shut", callback_url="https://nowhere.invalid/path?token=x"
    )
    shown = backend.http.get(f"/v1/ops/jobs/{job_id}").json()
    assert shown["request"]["callback"] == "https://nowhere.invalid"


def test_r7_a_grant_keeps_the_old_deadline_on_record_and_is_audited(backend: RunningBackend) -> None:
    job_id = backend.submit({"name": "slow", "seconds": 1}, deadline_seconds=0.4)
    assert backend.wait_for(job_id)["outcome"] == "expired"
    old = backend.job(job_id)["deadline"]
    granted = backend.act(job_id, "grant", extend_seconds=60, reason="the customer waits")
    assert granted.status_code == 200
    new = backend.job(job_id)["deadline"]
    acts = backend.http.get("/v1/ops/audit", params={"limit": 1000}).json()["acts"]
    (act,) = [one for one in acts if one["job_id"] == job_id]
    assert (act["act"], act["actor"], act["reason"]) == ("grant", "operator", "the customer waits")
    moved = " to ".join(one[:19].replace("T", " ") + "Z" for one in (old, new))
    assert act["result"] == f"deadline moved from {moved} by operator"
    notices = [frame.data for frame in backend.events(job_id) if frame.data.get("name") == "granted"]
    assert [notice["data"]["output"] for notice in notices] == [act["result"]]
    wait_until(
        lambda: all(
            attempt.ended_at for attempt in backend.attempts(job_id)
        ),  # it may have expired before any
        what="the old attempt has ended",
    )
    assert backend.act(job_id, "resume").status_code == 200
    assert backend.wait_for(job_id, "success")["deadline"] == new
