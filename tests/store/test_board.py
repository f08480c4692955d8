"""What the operations API reads of many jobs: counts, forecast, pages. On a real database, without Dask."""

from typing import Any

import pytest
from jobdeck_backend.api.board import Board
from jobdeck_backend.api.unlogged import UnloggedChanges
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, execution, operators
from jobdeck_backend.commands.admission import NO_TERMS
from jobdeck_backend.commands.submission import NewJob, submit, submit_together
from jobdeck_backend.jobs import orders
from jobdeck_backend.jobs.records import Epoch
from jobdeck_backend.jobs.states import State
from jobdeck_backend.scheduling.snapshot import DaskWorker, Snapshot
from jobdeck_backend.store import epochs, rows
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.searches import Search

WORKER = DaskWorker("w0-e1", "tcp://127.0.0.1:1", 1, 1, 0, 0, 0, 0.0)


def snapshot(**dask_states: str) -> Snapshot:
    """A picture of one worker with one thread."""
    return Snapshot("scheduler-1", now(), {}, (WORKER,), dask_states)


def open_epoch(database: Database, number: int, scheduler_id: str) -> None:
    with database.write() as tx:
        epochs.insert(tx, Epoch(number, f"backend-{number}", "host:1", True, scheduler_id, now(), now()))


def accept(database: Database, *job_ids: str, **fields: Any) -> None:
    with database.write() as tx:
        for job_id in job_ids:
            new = NewJob(
                **{"agent_type": "probe", "input": "{}", "queue": "probe", "job_id": job_id} | fields
            )
            submit(tx, new, now())


def accept_together(database: Database, count: int, **fields: Any) -> None:
    """As a crowd of callers is: a tenth of what each alone costs."""
    crowd = [
        (NewJob("probe", "{}", "probe", job_id=f"job-{number}", **fields), now(), NO_TERMS)
        for number in range(count)
    ]
    with database.write() as tx:
        for first in range(0, count, 1000):
            assert submit_together(tx, crowd[first : first + 1000])


def deliver(database: Database, room: int = 100) -> None:
    with database.write() as tx:
        delivery.deliver(tx, epoch=1, room=room, pending=(), urgent_room=0, now=now())


def run(database: Database, job_id: str, *, seconds: float | None = None) -> None:
    """Claim a delivered job; with ``seconds`` it succeeds, having taken so long."""
    with database.write() as tx:
        begun = now() - (seconds or 0.0)
        claim = execution.claim(tx, job_id, 0, worker="w0-e1", pid=1, epoch=1, now=begun)
        assert claim is not None
        if seconds is not None:
            execution.succeed(tx, claim, {"report": None}, [], now())


def test_every_job_is_counted_once_under_the_state_the_lists_show(database: Database) -> None:
    open_epoch(database, 1, "scheduler-1")
    accept(database, "done", "runs", "queued", "assigned")
    deliver(database)
    run(database, "done", seconds=10)
    run(database, "runs")
    accept(database, "backlog", "cancelled")
    accept(database, "dependent", after=("runs",))
    with database.write() as tx:
        operators.act(tx, "cancel", "cancelled", operators.cancel, operators.By("operator", now()))
    board = Board(database, lambda: snapshot(queued="queued", assigned="processing"))
    expected = {
        "done": State.SUCCEEDED,
        "runs": State.RUNNING,
        "queued": State.QUEUED,
        "assigned": State.ASSIGNED,
        "backlog": State.BACKLOG,
        "cancelled": State.CANCELLED,
        "dependent": State.WAITING,
    }
    assert {view.source.job_id: view.state for view in board.load(list(expected))} == expected
    counts = board.picture().counts()
    assert {state: counts[state] for state in set(expected.values())} == dict.fromkeys(expected.values(), 1)
    assert sum(counts[state] for state in State) == len(expected)
    assert (board.picture().delivered(), board.picture().slots_taken) == (2, 1)


def test_the_slots_that_jobs_of_another_backends_cluster_have_are_not_counted_as_this_ones(
    database: Database,
) -> None:
    open_epoch(database, 1, "scheduler-of-another")
    open_epoch(database, 2, "scheduler-1")
    accept(database, "there")
    deliver(database)
    run(database, "there")
    picture = Board(database, snapshot).picture()
    assert (picture.slots_taken, picture.slots_total, picture.epochs) == (0, 1, {2})


def test_the_line_is_forecast_in_dispatch_order_and_misses_are_at_risk(database: Database) -> None:
    accept(database, "done")
    deliver(database)
    run(database, "done", seconds=100)
    accept(database, "later", deadline_seconds=150)
    accept(database, "sooner", deadline_seconds=140)
    accept(database, "paused", queue="paused")
    with database.write() as tx:
        operators.set_paused(tx, "paused", paused=True, actor="operator", reason=None, now=now())
    board = Board(database, snapshot)
    sooner, later, paused = board.load(["sooner", "later", "paused"])[:3]
    by_id = {view.source.job_id: view for view in (sooner, later, paused)}
    assert by_id["sooner"].slack == pytest.approx(40, abs=5)
    assert by_id["later"].slack == pytest.approx(-50, abs=5)
    assert by_id["paused"].predicted_finish is None
    assert board.picture().counts()["at_risk"] == 1
    assert board.picture().forecast.drain_seconds == pytest.approx(200, abs=5)


def test_rows_are_made_over_the_one_connection_their_reader_has(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(database, "one")
    board = Board(database, snapshot)
    with database.read() as tx:
        sources = rows.load(tx, ["one"])
        # With all others taken, who waits for a second one waits for those who wait for it.
        monkeypatch.setattr(database, "read", None)
        assert [view.state for view in board.views(tx, sources)] == [State.BACKLOG]


def test_without_a_picture_of_dask_nothing_is_predicted_and_nothing_becomes_backlog(
    database: Database,
) -> None:
    accept(database, "done", "delivered")
    deliver(database)
    run(database, "done", seconds=1)
    board = Board(database, lambda: None)
    assert board.load(["delivered"])[0].state is State.QUEUED
    assert board.load(["delivered"])[0].predicted_finish is None
    assert board.picture().slots_total == 0


def test_a_job_that_dask_knew_before_the_picture_did_is_told_with_the_next_picture(
    database: Database,
) -> None:
    board, changes = Board(database, lambda: snapshot(one="queued")), UnloggedChanges()
    before = board.picture(max_age_s=0.0)
    assert changes.since_last_look(before, {}, now()) == set()
    accept(database, "one")
    deliver(database)
    assert changes.since_last_look(before, {"one": "queued"}, now()) == set()
    assert "one" in changes.since_last_look(board.picture(max_age_s=0.0), {"one": "queued"}, now())


def test_a_row_that_told_of_a_moment_no_picture_saw_is_corrected_by_the_next_one(database: Database) -> None:
    board, changes = Board(database, lambda: snapshot(one="queued")), UnloggedChanges()
    accept(database, "one")
    deliver(database)
    assert changes.since_last_look(board.picture(max_age_s=0.0), {}, now()) == set()
    changes.sent(
        {"one": State.BACKLOG}
    )  # taken back from Dask to be given anew, and there again by the next look
    assert changes.since_last_look(board.picture(max_age_s=0.0), {}, now()) == {"one"}
    changes.sent({"one": State.QUEUED})
    assert changes.since_last_look(board.picture(max_age_s=0.0), {}, now()) == set()


def test_a_job_that_came_before_anything_could_be_predicted_is_told_when_it_can(database: Database) -> None:
    seen: list[Snapshot | None] = [snapshot()]
    board, changes = Board(database, lambda: seen[-1]), UnloggedChanges()
    accept(database, "done")
    deliver(database)
    run(database, "done", seconds=600)
    changes.since_last_look(board.picture(max_age_s=0.0), {}, now())
    seen.append(None)
    accept(database, "late", deadline_seconds=60)
    changes.since_last_look(board.picture(max_age_s=0.0), {}, now())
    assert changes.since_last_look(board.picture(max_age_s=0.0), {}, now()) == set()
    seen.append(snapshot())
    picture = board.picture(max_age_s=0.0)
    assert picture.counts()["at_risk"] == 1
    assert "late" in changes.since_last_look(picture, {}, now())


def test_ten_thousand_jobs_are_listed_in_pages_of_a_thousand_each_once(database: Database) -> None:
    accept_together(database, 10_000, deadline_seconds=3600)
    board = Board(database, snapshot)
    board.picture(max_age_s=0)
    seen: list[str] = []
    place = None
    with database.read() as tx:
        while True:
            _, sources = Search((), ()).page(tx, orders.DEFAULT, now=now(), after=place, limit=1000)
            page = board.views(tx, sources)
            if not page:
                break
            seen += [view.source.job_id for view in page]
            place = page[-1].source.accepted_at, page[-1].source.job_id
    assert len(seen) == len(set(seen)) == 10_000
