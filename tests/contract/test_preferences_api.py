"""Preferences over HTTP: a write names the revision it read (R34)."""

import pytest
from redis_server import RedisServer
from running_backend import RunningBackend, StartError

PREFERENCES = "/v1/ops/preferences"


def write(backend: RunningBackend, revision: str | None, value: object):
    headers = {} if revision is None else {"if-match": revision}
    return backend.http.put(PREFERENCES, json=value, headers=headers)


def walk_revisions(backend: RunningBackend) -> None:
    """From nothing to a second revision, and whoever comes late."""
    first = backend.http.get(PREFERENCES)
    assert (first.json(), first.headers["etag"]) == ({"revision": 0, "value": {}}, '"0"')
    written = write(backend, first.headers["etag"], {"theme": "night"})
    assert (written.status_code, written.headers["etag"]) == (200, '"1"')
    late = write(backend, first.headers["etag"], {"theme": "day"})
    assert (late.status_code, late.json()["detail"]["code"]) == (412, "stale_revision")
    assert write(backend, "1", {"theme": "dusk"}).json() == {"revision": 2, "value": {"theme": "dusk"}}
    assert backend.http.get(PREFERENCES).json() == {"revision": 2, "value": {"theme": "dusk"}}


def test_r34_a_write_names_the_revision_it_read_and_a_late_one_is_412(backend: RunningBackend) -> None:
    walk_revisions(backend)


@pytest.mark.parametrize(
    ("revision", "value", "status", "code"),
    [
        (None, {}, 428, "revision_needed"),
        ("*", {}, 422, "invalid_input"),
        ('W/"1"', {}, 422, "invalid_input"),
        ("9" * 30, {}, 422, "invalid_input"),
        ("2147483647", {}, 422, "invalid_input"),
        ("7000", {}, 412, "stale_revision"),
        ("0", [], 422, "invalid_input"),
        ("0", {"large": "x" * 70_000}, 413, "too_large"),
        ("0", {"large": 2**70}, 422, "invalid_input"),
    ],
)
def test_what_cannot_be_written_changes_nothing(
    backend: RunningBackend, revision, value, status, code
) -> None:
    before = backend.http.get(PREFERENCES).json()
    answer = write(backend, revision, value)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (status, code)
    assert backend.http.get(PREFERENCES).json() == before


def test_preferences_in_redis_outlive_the_server_and_are_503_without_it(start_backend) -> None:
    server = RedisServer()
    try:
        walk_revisions(start_backend(JOBDECK_REDIS_URL=server.url))
        second = start_backend(JOBDECK_REDIS_URL=server.url)
        assert second.http.get(PREFERENCES).json()["revision"] == 2
    finally:
        server.remove()
    answer = second.http.get(PREFERENCES)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (503, "unavailable")
    assert "read them again once it can" in answer.json()["detail"]["message"]


def test_a_url_that_is_not_one_of_redis_is_refused_without_repeating_it(start_backend) -> None:
    with pytest.raises(StartError) as refused:
        start_backend(JOBDECK_REDIS_URL="http://me:s3cret@localhost")
    assert refused.value.exit_code == 14
    assert "JOBDECK_REDIS_URL is not one of Redis" in refused.value.stderr
    assert "s3cret" not in refused.value.stderr
