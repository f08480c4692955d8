"""R11: every process of a database goes by its clock row, whatever its own system's clock says."""

from collections.abc import Iterator

import pytest
from jobdeck_backend import clock
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.store import epochs, timekeeping
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.timekeeping import Follower

HOUR_S = 3600.0


@pytest.fixture
def database(file) -> Iterator[Database]:
    database, anchor = Database(file, synchronous="NORMAL"), clock.anchor()
    with database.write() as tx:
        timekeeping.agree(tx, "first")
    yield database
    clock.adopt(anchor)
    database.close()


def elsewhere(monkeypatch) -> None:
    monkeypatch.setattr(clock, "machine", lambda: "another machine")


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_r11_a_process_started_after_the_systems_clock_was_set_agrees_exactly(database, step_s) -> None:
    right = clock.anchor()
    clock.adopt(right + step_s)
    with database.read() as tx:
        assert Follower().follow(tx)
    assert clock.anchor() == right


def test_r11_a_backend_goes_on_in_the_time_of_its_unfinished_jobs_and_else_begins_anew(database) -> None:
    right = clock.anchor()
    with database.write() as tx:
        submit(tx, NewJob(agent_type="probe", input="{}", queue="q", deadline_seconds=60), clock.now())
        clock.adopt(right + HOUR_S)
        timekeeping.agree(tx, "first")
        assert clock.anchor() == right
        tx.rollback()
    clock.adopt(right + HOUR_S)
    with database.write() as tx:
        timekeeping.agree(tx, "first")
        row = timekeeping.load(tx)
    assert row is not None
    assert row.anchor == clock.anchor() == right + HOUR_S


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_r11_on_another_machine_the_time_is_right_within_seconds_once_the_row_was_kept(
    database, monkeypatch, step_s
) -> None:
    right, keeper, follower = clock.anchor(), Follower(), Follower()
    with database.write() as tx:
        assert keeper.follow(tx)
        with monkeypatch.context() as patch:
            elsewhere(patch)
            clock.adopt(right + step_s)
            assert not follower.follow(tx), "the row may be of any age: it tells nothing yet"
        clock.adopt(right)
        keeper.keep(tx)
        elsewhere(monkeypatch)
        clock.adopt(right + step_s)
        assert follower.follow(tx)
    assert abs(clock.anchor() - right) < timekeeping.KEEP_S


def test_r11_after_the_loss_of_a_machine_its_stale_row_rewinds_nobody(database, monkeypatch) -> None:
    elsewhere(monkeypatch)
    clock.adopt(clock.anchor() + 600)  # so long it was away
    right, keeper = clock.anchor(), Follower()
    with database.write() as tx:
        epochs.insert(tx, epochs.Epoch(1, "second", "host:1", False, None, 0.0, 0.0))
        timekeeping.agree(tx, "first")
        keeper.keep(tx)
        assert clock.anchor() == right
        monkeypatch.setattr(timekeeping, "KEPT_WITHIN_S", -1.0)
        keeper.keep(tx)
        row = timekeeping.load(tx)
    assert row is not None
    assert (row.machine, row.anchor) == ("another machine", right)
