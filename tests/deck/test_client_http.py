"""Each way a call can fail is a different error with a sentence of its own."""

import asyncio
import socket

import pytest
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import Denied, NotReachable, NotUnderstood, Refused, TimedOut
from jobdeck_tui.client.http import is_loopback

from .wayward import answer, wayward


def call(script, act):
    async def run():
        async with wayward(script) as server, Api(server.url) as api:
            return await act(api)

    return asyncio.run(run())


def cancel(api):
    return api.act("cancel", "a/b", version=3)


def test_nobody_listening_means_that_nothing_was_done():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        async def run():
            async with Api(url) as api:
                await cancel(api)

        with pytest.raises(NotReachable, match="connection refused"):
            asyncio.run(run())


def test_r36_an_act_without_an_answer_has_an_unknown_outcome():
    with pytest.raises(TimedOut, match="may or may not have been done"):
        call([], cancel)


def test_a_read_without_an_answer_changed_nothing():
    with pytest.raises(NotReachable):
        call([], lambda api: api.overview())


def test_a_refusal_carries_its_code_and_the_row_as_it_is():
    row = {"code": "changed", "message": "the row\x1b[31m changed", "current": {"job_id": "broken"}}
    with pytest.raises(Refused) as caught:
        call([answer(409, {"detail": row})], cancel)
    assert (caught.value.status, caught.value.code, caught.value.message) == (
        409,
        "changed",
        "the row changed",
    )
    assert caught.value.current is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, {"detail": "token missing"}, Denied, "token missing"),
        (403, {"detail": {"code": "not_allowed", "message": "no drills"}}, Denied, "no drills"),
        (404, {"detail": "Job not found: a"}, Refused, "Job not found: a"),
        (422, {"detail": [{"loc": ["body", "input"], "msg": "too short"}]}, Refused, "input: too short"),
        (500, b"oops", TimedOut, "answered 500: it may or may not have been done"),
        (502, {"detail": "x"}, TimedOut, "may or may not have been done"),
        (503, {"detail": {}}, Refused, "The server answered 503"),
        (200, b"<html>", NotUnderstood, "does not answer as a jobdeck server"),
        (200, {"job_id": 7}, NotUnderstood, "cannot be read: job_id"),
        (307, b"", Refused, "The server answered 307"),
    ],
)
def test_answers_become_typed_errors(status, body, kind, said):
    with pytest.raises(kind, match=said):
        call([answer(status, body)], cancel)


def test_an_id_cannot_change_the_path_of_a_call():
    async def run():
        async with wayward([answer(404, {"detail": "no"})]) as server, Api(server.url) as api:
            with pytest.raises(Refused):
                await cancel(api)
            return server.requests[0]

    assert asyncio.run(run()).startswith("post /v1/ops/jobs/a%2fb/cancel ")


def test_a_proxy_of_the_environment_is_not_used_on_this_machine():
    assert is_loopback("http://127.0.0.1:8787")
    assert is_loopback("http://[::1]:1")
    assert is_loopback("http://localhost")
    assert not is_loopback("http://10.0.0.1")
    assert not is_loopback("http://localhost.example.org")
