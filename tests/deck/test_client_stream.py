"""One job's stream arrives whole and in order, whatever the connection does."""

import asyncio

import pytest
from jobdeck_tui.client.api import Api
from jobdeck_tui.client.errors import Refused
from jobdeck_tui.client.feed import FrameUnreadable, Lost
from jobdeck_tui.client.stream import CaughtUp, EventArrived, Gap, JobStream, StatusSeen

from .wayward import EVENT_STREAM, answer, frame, wayward

ENVELOPE = {
    "id": "x",
    "name": "search",
    "timestamp": "2027-01-15T08:00:00+00:00",
    "data": {"output": "12 hits"},
}
LIVE = frame("stream.mode", {"mode": "live"})


def stored(seq, kind="tool.end", data=ENVELOPE):
    return frame(kind, data, seq)


def status(word, **more):
    return frame("job.status", {"status": word} | more)


def read(*scripts, after=0):
    async def run():
        async with wayward(*scripts) as server, Api(server.url) as api:
            stream = JobStream(api, "job-1", after=after)
            return [item async for item in stream.items()], server, stream

    return asyncio.run(run())


def seqs(items):
    return [item.event.seq for item in items if isinstance(item, EventArrived)]


def test_a_finished_job_is_replayed_and_the_stream_ends_with_its_status():
    polling = frame("stream.mode", {"mode": "polling", "interval_ms": 500})
    items, server, _ = read([EVENT_STREAM, polling, stored(1), stored(2), LIVE, status("success"), None])
    assert seqs(items) == [1, 2]
    assert items[-2] == CaughtUp(2, 2, reconnected=False)
    assert items[-1] == StatusSeen("success", None, terminal=True)
    assert items[0].event.at == 1_800_000_000.0
    assert "/v1/jobs/async/job/job-1/stream" in server.requests[0]


def test_r27_a_reconnect_goes_on_after_the_last_event_and_repeats_none():
    first = [EVENT_STREAM, stored(1), LIVE, status("running"), stored(2)]
    second = [EVENT_STREAM, stored(2), stored(3), stored(4), LIVE, status("failure", error="boom"), None]
    items, server, stream = read(first, second)
    assert seqs(items) == [1, 2, 3, 4]
    assert stream.duplicates == 1
    assert "last-event-id: 2" in server.requests[1]
    assert CaughtUp(4, 2, reconnected=True) in items
    assert sum(isinstance(item, Lost) for item in items) == 1
    assert items[-1].error == "boom"


def test_missing_events_are_asked_for_again_and_come():
    first = [EVENT_STREAM, stored(1), stored(5), LIVE, None]
    second = [EVENT_STREAM, stored(2), stored(3), stored(4), stored(5), LIVE, status("success"), None]
    items, server, _ = read(first, second)
    assert Gap(2, 4, for_good=False) in items
    assert seqs(items) == [1, 2, 3, 4, 5]
    assert "last-event-id: 1" in server.requests[1]
    assert CaughtUp(5, 4, reconnected=True) in items


def test_events_that_never_come_are_told_and_passed():
    items, server, _ = read([EVENT_STREAM, stored(1), stored(5), status("success"), None])
    assert [item for item in items if isinstance(item, Gap)] == [Gap(2, 4, for_good=False), Gap(2, 4)]
    assert seqs(items) == [1, 5]
    assert len(server.requests) == 2


def test_following_can_begin_in_the_middle():
    items, server, _ = read([EVENT_STREAM, stored(8), status("success"), None], after=7)
    assert seqs(items) == [8]
    assert "last-event-id: 7" in server.requests[0]


def test_a_stored_error_is_an_event_and_the_servers_own_error_a_lost_stream():
    first = [
        EVENT_STREAM,
        stored(1, "job.error", {"data": {"error": "boom"}}),
        frame("job.error", {"error": "oops"}),
    ]
    items, _, _ = read(first, [EVENT_STREAM, status("failure"), None])
    assert seqs(items) == [1]
    assert any(isinstance(item, Lost) for item in items)


def test_an_event_that_cannot_be_read_is_told_and_passed():
    items, _, _ = read([EVENT_STREAM, stored(1, data=[]), stored(2), status("success"), None])
    assert isinstance(items[0], FrameUnreadable)
    assert seqs(items) == [2]


def test_a_job_nobody_knows_is_refused_at_once():
    with pytest.raises(Refused, match="Job not found"):
        read([answer(404, {"detail": "Job not found: job-1"})])
