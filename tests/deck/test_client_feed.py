"""The feed over all jobs stays up, misses nothing and says what it lost."""

import asyncio
import json

import httpx
import pytest
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import NotUnderstood
from jobdeck_tui.client.feed import (
    ActSeen,
    Connected,
    EventsSeen,
    Feed,
    FrameUnreadable,
    JobsChanged,
    Lost,
    OverviewSeen,
)
from jobdeck_tui.client.sse import RETRY_MAX_SECONDS, Backoff, sse_events
from jobdeck_tui.core.event_feed import EVENTS_KEPT_MAX, WAITING_BYTES_MAX, EventFeed

from .wayward import EVENT_STREAM, answer, frame, take, wayward

AT = "2027-01-15T08:00:00Z"
OVERVIEW = {
    "at": AT,
    "scheduler": {
        "state": "up",
        "address": None,
        "epoch": 1,
        "id": "S",
        "seen_age": 0.1,
        "dashboard_url": None,
    },
    "workers": 2,
    "slots": {"total": 2, "taken": 1},
    "counts": {"running": 1},
    "delivered": 0,
    "service_times": {},
    "recovery": None,
    "streams": {},
    "drain_seconds": None,
    "paused": [],
    "drills_allowed": True,
    "read_only": False,
}
ACT = {
    "id": 1,
    "at": AT,
    "actor": "op",
    "act": "cancel",
    "job_id": "a",
    "version": 1,
    "reason": None,
    "result": "done",
}
EVENT = {"job_id": "a", "seq": 3, "type": "tool.end", "at": AT, "name": "search", "payload": {"data": {}}}


def read(count, *scripts, **options):
    async def run():
        async with wayward(*scripts) as server, Api(server.url) as api:
            feed = Feed(api, **options)
            return await take(feed.items(), count), server, feed

    return asyncio.run(run())


def kinds(items):
    return [type(item) for item in items]


def test_the_cursor_is_kept_over_a_reconnect_and_the_server_is_told_it():
    first = [EVENT_STREAM, frame("overview", OVERVIEW), frame("jobs", {"jobs": []}, "cursor-1")]
    second = [EVENT_STREAM, frame("jobs", {"jobs": []}, "cursor-2"), None]
    items, server, _ = read(6, first, second)
    assert kinds(items) == [Connected, OverviewSeen, JobsChanged, Lost, Connected, JobsChanged]
    assert not items[0].resumed
    assert items[4].resumed
    assert "last-event-id" not in server.requests[0]
    assert "last-event-id: cursor-1" in server.requests[1]


def test_every_kind_of_frame_becomes_its_item_and_unknown_ones_are_passed_over():
    script = [
        EVENT_STREAM,
        b": keepalive\n\n",
        frame("overview", OVERVIEW),
        frame("something.new", {"a": 1}),
        frame("events", EVENT),
        frame("act", ACT),
        None,
    ]
    items, server, _ = read(4, script, events=True)
    assert kinds(items) == [Connected, OverviewSeen, EventsSeen, ActSeen]
    assert [json.loads(text) for text in items[2].texts] == [EVENT]
    assert "events=true" in server.requests[0]


def test_an_event_without_data_is_no_event():
    script = [EVENT_STREAM, b"id: 5\n\n", b"event: jobs\ndata:\n\n", frame("overview", OVERVIEW), None]
    items, _, feed = read(2, script)
    assert kinds(items) == [Connected, OverviewSeen]
    assert feed.cursor is None


def test_a_broken_frame_is_counted_and_the_feed_goes_on():
    broken = [
        frame("overview", "{"),
        frame("overview", []),
        frame("act", {"seq": "x"}),
        frame("overview", OVERVIEW),
    ]
    items, _, _ = read(5, [EVENT_STREAM, *broken, None])
    assert kinds(items) == [Connected, FrameUnreadable, FrameUnreadable, FrameUnreadable, OverviewSeen]


def test_events_wait_unread_and_a_broken_one_is_counted_when_somebody_looks():
    feed = EventFeed()
    for text in (json.dumps(EVENT), '{"seq": "x"}', "{", json.dumps({**EVENT, "seq": 8})):
        feed.add(text, 0.0)
    assert (feed.seen, len(feed.lines.lines), feed.unreadable) == (4, 0, 0)
    feed.read(0.0)
    assert ([line.seq for line in feed.lines.lines], feed.unreadable) == ([EVENT["seq"], 8], 2)


def test_events_that_wait_are_bounded_in_number_and_in_size():
    feed = EventFeed()
    for seq in range(EVENTS_KEPT_MAX + 500):
        feed.add(json.dumps({**EVENT, "seq": seq}), 0.0)
    large = json.dumps({**EVENT, "payload": {"data": "x" * WAITING_BYTES_MAX}})
    feed.add(large, 0.0)
    assert len(feed.lines.lines) == EVENTS_KEPT_MAX  # the large one was read, and all before it
    assert len(feed.lines.lines[-1].text) < 1_000


def test_a_frame_in_pieces_is_put_together():
    whole = frame("overview", OVERVIEW)
    items, _, _ = read(2, [EVENT_STREAM, whole[:10], whole[10:-1], whole[-1:], None])
    assert kinds(items) == [Connected, OverviewSeen]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_frames_may_be_cut_anywhere_and_their_lines_end_in_any_way(end):
    told = [
        frame("act", ACT, 7),
        b": keepalive\n\n",
        b"event:overview\ndata:{\ndata: }\n\n",
        frame("end", {}),
    ]
    sent = b"".join(told).replace(b"\n", end.encode()) + b": the last one\n"

    async def texts(size):
        for start in range(0, len(sent), size):
            yield sent[start : start + size].decode()

    async def run(size):
        response = httpx.Response(200, headers={"content-type": "text/event-stream; charset=utf-8"})
        response.aiter_text = lambda: texts(size)
        return [event async for event in sse_events(response)]

    wanted = [("act", json.dumps(ACT)), ("overview", "{\n}"), ("end", "{}")]
    for size in (1, 2, 3, 7, len(sent)):
        assert [(one.event, one.data) for one in asyncio.run(run(size))] == wanted


def test_a_shutdown_is_said_and_the_feed_comes_back():
    first = [EVENT_STREAM, frame("job.shutdown", {"message": "bye"}), None]
    items, _, _ = read(3, first, [EVENT_STREAM, None])
    assert kinds(items) == [Connected, Lost, Connected]
    assert items[1].reason == "The server is shutting down."


def test_a_silent_server_is_noticed():
    items, _, _ = read(2, [EVENT_STREAM, None], silence_seconds=0.1)
    assert kinds(items) == [Connected, Lost]
    assert "timed out" in items[1].reason


def test_a_denied_feed_says_so_and_asks_again_only_slowly():
    items, _, _ = read(1, [answer(401, {"detail": "no token"})])
    assert (items[0].denied.status, items[0].reason, items[0].retry_in) == (401, "no token", 10.0)


def test_a_cursor_the_server_no_longer_knows_is_dropped():
    first = [EVENT_STREAM, frame("jobs", {"jobs": []}, "old")]
    items, server, _ = read(4, first, [answer(410, {"detail": "gone"})], [EVENT_STREAM, None])
    assert kinds(items) == [Connected, JobsChanged, Lost, Connected], "asked again without it at once"
    assert items[3] == Connected(resumed=False, replaced=True)
    assert "last-event-id" not in server.requests[2]


def test_a_server_that_is_not_there_or_is_something_else_is_told_apart():
    nobody, _, _ = read(1, [b""])
    assert "No answer" in nobody[0].reason
    page, _, _ = read(2, [answer(200, b"<html>", "text/html")])
    assert page[1].reason == "The server's answer is not an event stream."


def test_an_event_without_end_is_refused_not_stored():
    async def run():
        endless = [EVENT_STREAM, frame("overview", OVERVIEW), b"data: " + b"x" * 5000, b"x" * 5000, None]
        async with (
            wayward(endless) as server,
            Api(server.url) as api,
            api.http.stream("/", headers={}, read_seconds=5) as response,
        ):
            return [event.event async for event in sse_events(response, limit=8000)]

    with pytest.raises(NotUnderstood, match="larger than 8000"):
        asyncio.run(run())


def test_the_wait_between_attempts_doubles_to_a_bound_and_an_event_resets_it():
    backoff = Backoff()
    waits = [backoff.wait_seconds() for _ in range(10)]
    assert waits[0] <= 0.32
    assert all(wait <= RETRY_MAX_SECONDS * 1.25 for wait in waits)
    assert waits[-1] >= RETRY_MAX_SECONDS * 0.75
    backoff.reset()
    assert backoff.wait_seconds() <= 0.32


def test_many_rows_at_once_come_in_steps_none_twice_and_the_cursor_only_after_the_last():
    words = dict.fromkeys(("queue", "workflow", "state", "status"), "word")
    numbers = dict.fromkeys(("priority", "attempt", "stages_done", "version"), 1)
    row = {**words, **numbers, "accepted_at": AT, "thread_id": "one"}
    rows = [{**row, "job_id": f"job-{number}"} for number in range(250)]
    items, _, feed = read(4, [EVENT_STREAM, frame("jobs", {"jobs": [*rows, {}]}, "cursor-1"), None])
    steps = items[1:]
    assert kinds(steps) == [JobsChanged] * 3
    assert max(len(step.jobs) for step in steps) < 250
    assert [job.job_id for step in steps for job in step.jobs] == [row["job_id"] for row in rows]
    assert sum(step.unreadable for step in steps) == 1
    assert feed.cursor is None
