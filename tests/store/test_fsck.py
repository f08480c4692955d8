"""``fsck`` finds what a hand can do to a database, and nothing where nothing was done."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_backend.commands import execution, operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Claim, StageRun
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store import leases
from jobdeck_backend.store.engine import Database, is_postgres
from sqlalchemy import Connection

# Each with what a hand did, and what is said of it.
DAMAGES = {
    "a second unfinished job on a thread": (
        "DROP INDEX admissions_live_thread; UPDATE admissions SET thread_id = 'running' WHERE job_id = 'queued'",
        "I2",
        "unfinished jobs",
    ),
    "a job that was never admitted": (
        "DELETE FROM admissions WHERE job_id = 'queued'",
        "I2",
        "never admitted",
    ),
    "a status changed": (
        "UPDATE jobs SET status = 'failure' WHERE job_id = 'done'",
        "I3",
        "its last transition ended at success",
    ),
    "a terminal transition with one after it": (
        (
            "INSERT INTO transitions (job_id, at, from_status, to_status, name, fence, actor) "
            "VALUES ('done', 1, 'success', 'running', 'started', 9, 'nobody')"
        ),
        "I3",
        "started led from success to running",
    ),
    "an event deleted": (
        "DELETE FROM events WHERE job_id = 'done' AND seq = 2",
        "I4",
        "2 events from 1 to 3",
    ),
    "a stage of an attempt that never was": (
        "UPDATE stages SET attempt = 7 WHERE job_id = 'done'",
        "I6",
        "names attempt 7",
    ),
    "a fence set back": ("UPDATE jobs SET fence = 0 WHERE job_id = 'done'", "I7", "fence 1 was given out"),
    "a fence used twice": (
        (
            "INSERT INTO attempts SELECT job_id, 2, fence, worker, pid, epoch, started_at, heartbeat_at, "
            "ended_at, end_reason, late_output, traceback FROM attempts WHERE job_id = 'done'"
        ),
        "I7",
        "attempt 2 has fence 1",
    ),
    "a running job's attempt closed": (
        "UPDATE attempts SET ended_at = 1 WHERE job_id = 'running'",
        "I8",
        "has 0 live attempts",
    ),
    "an attempt deleted": ("DELETE FROM attempts WHERE job_id = 'done'", "I8", "counts 1 attempt; 0 are"),
    "an attempt of the future": (
        "UPDATE attempts SET epoch = 99 WHERE job_id = 'done'",
        "I8",
        "scheduler epoch 99, which never began",
    ),
    "a start past the deadline": (
        "UPDATE admissions SET deadline = 101 WHERE job_id = 'done'",
        "I9",
        "attempt 1 began 9.000 s past the deadline",
    ),
    "a late success that does not say so": (
        "UPDATE admissions SET deadline = 111 WHERE job_id = 'done'",
        "I10",
        "succeeded 9.000 s past the deadline",
    ),
    "an outcome changed": (
        "UPDATE admissions SET outcome = 'expired' WHERE job_id = 'cancelled'",
        "I12",
        "a cancel was accepted, the outcome is expired",
    ),
    "an act without its audit row": ("DELETE FROM audit WHERE act = 'cancel'", "I20", "with 0 audit rows"),
    "an audit row twice": (
        "INSERT INTO audit (at, actor, act, job_id, result) SELECT at, actor, act, job_id, result FROM audit",
        "I20",
        "with 2 audit rows",
    ),
}


def claim(tx: Connection, job_id: str, now: float) -> Claim:
    found = execution.claim(tx, job_id, 0, worker="w0", pid=1, epoch=1, now=now)
    assert found is not None
    return found


def write_history(tx: Connection) -> None:
    """One job of each kind."""
    leases.next_epoch(tx, "scheduler", "a", 100)
    for name in ("done", "running", "queued", "cancelled", "resumed"):
        submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id=name, deadline=200), 100)
    done = claim(tx, "done", 110)
    execution.save_stages(tx, [StageRun("done", "only", 1, 1, 1, 111, 119, "checkpoint", "hash")])
    assert execution.succeed(tx, done, {"report": None}, (), 120)
    claim(tx, "running", 110)
    for name in ("cancelled", "resumed"):
        operators.act(tx, "cancel", name, operators.cancel, operators.By("operator", 130))
    operators.act(tx, "cancel", "done", operators.cancel, operators.By("operator", 131))
    operators.act(tx, "resume", "resumed", operators.resume, operators.By("operator", 132))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_database: Path
) -> Iterator[Database]:
    """A database with a sound history."""
    if request.param == "sqlite":
        place: Path | str = Path(shutil.copy(empty_database, tmp_path_factory.mktemp("fsck")))
    else:
        place = request.getfixturevalue("postgres").create("template")
    database = Database(place, synchronous="NORMAL")
    with database.write() as tx:
        write_history(tx)
    yield database
    database.close()


def by_hand(tx: Connection, script: str) -> None:
    """Do to a database what somebody with a shell and too many rights can."""
    unchecked = "SET LOCAL session_replication_role = replica"
    tx.exec_driver_sql(unchecked if is_postgres(tx) else "PRAGMA defer_foreign_keys = ON")
    for statement in script.split("; "):
        tx.exec_driver_sql(statement)


def test_a_sound_history_breaks_nothing(database: Database) -> None:
    with database.read() as tx:
        assert fsck.check(tx) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_i2_to_i20_fsck_finds_what_a_hand_did(database: Database, damage: str) -> None:
    script, invariant, words = DAMAGES[damage]
    with database.write() as tx:
        by_hand(tx, script)
        found = fsck.check(tx)
        tx.rollback()
    assert [one for one in found if one.invariant.startswith(f"{invariant} ") and words in one.text], found
