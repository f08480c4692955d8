"""Several backends on one database: each one's deliveries are good while it is there, and no longer."""

from collections.abc import Iterator

import pytest
from jobdeck_backend.commands import delivery, epochs
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.store import dispatch
from jobdeck_backend.store import epochs as epoch_rows
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.timekeeping import Follower
from sqlalchemy import Connection

T = 1_000.0


@pytest.fixture
def tx(file) -> Iterator[Connection]:
    database = Database(file, synchronous="NORMAL")
    with database.write() as connection:
        yield connection
        connection.rollback()
    database.close()


def begin(tx: Connection, backend: str, *, embedded: bool = True, at: float = T) -> int:
    """A backend whose scheduler holds one job."""
    epoch = epochs.begin(tx, backend, f"host:{backend}", at, embedded=embedded)
    epochs.attach(tx, epoch, f"Scheduler-of-{backend}")
    submit(tx, NewJob(agent_type="probe", input="{}", queue="q", job_id=backend + str(epoch)), at)
    delivery.deliver(tx, epoch=epoch, room=1, pending=(), urgent_room=0, now=at)
    return epoch


def held(tx: Connection, *numbers: int) -> int:
    return len(dispatch.delivered(tx, numbers))


def renew(tx: Connection, epoch: int, at: float, *gone: str) -> int:
    return epochs.renew(tx, epoch, at, keeper=Follower(), is_gone=lambda owner: owner in gone)


def test_another_backends_start_and_loss_leave_what_it_was_given_alone(tx) -> None:
    first = begin(tx, "a")
    second = begin(tx, "b")
    assert (held(tx, first), held(tx, second)) == (1, 1)
    assert epochs.end(tx, second, "its process ended", T + 1) == 1
    assert (held(tx, first), held(tx, second)) == (1, 0)
    assert epoch_rows.load(tx, second).workers_gone


def test_what_a_backend_held_that_ended_is_taken_back_and_its_embedded_workers_are_gone(tx) -> None:
    first, embedded, external = begin(tx, "a"), begin(tx, "b"), begin(tx, "c", embedded=False)
    assert renew(tx, first, T + 1) == 0
    assert renew(tx, first, T + 1, "host:b", "host:c") == 2
    assert held(tx, first, embedded, external) == 1
    assert epoch_rows.load(tx, embedded).workers_gone
    assert not epoch_rows.load(tx, external).workers_gone, "external workers go on without it"


def test_a_silent_backend_may_come_back_so_its_workers_are_not_taken_for_gone(tx) -> None:
    first, silent = begin(tx, "a"), begin(tx, "b")
    later = T + epochs.SILENT_S + 1
    assert renew(tx, first, later) == 1
    assert not epoch_rows.load(tx, silent).workers_gone
    renew(tx, silent, later + 1)
    assert epoch_rows.load(tx, silent).ended_at is None


def test_a_backend_that_starts_again_ends_its_former_self(tx) -> None:
    former = begin(tx, "a")
    epochs.enter(tx, "a", T + 1)
    assert epoch_rows.load(tx, former).workers_gone
    again = begin(tx, "a", at=T + 2)
    assert again > former
    assert held(tx, former) == 0
