"""A worker's execution without Dask around it: real graph, checkpoints and records, in a thread of this one."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.scheduling.worker import WorkerProcess
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs
from running_backend import wait_until


@pytest.fixture
def worker(tmp_path: Path, empty_database: Path) -> Iterator[WorkerProcess]:
    """What a worker process keeps, on a database of its own."""
    (tmp_path / "jobdeck.db").write_bytes(empty_database.read_bytes())
    process = WorkerProcess(Settings(state_dir=tmp_path))
    yield process
    process.database.close()


def execute(worker: WorkerProcess, job_id: str) -> Status:
    """Claim and run the job as it is now, in a slot's thread; answers what it became."""
    with worker.database.read() as tx:
        fence = jobs.load_job(tx, job_id).fence
    slot = threading.Thread(target=worker.run, args=(job_id, fence, 1, "w0-e1"))
    slot.start()
    slot.join()
    with worker.database.read() as tx:
        return jobs.load_job(tx, job_id).status


def test_r20_once_a_checkpoint_exists_the_original_input_is_never_passed_again(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    stages = [{"name": "one"}, {"name": "two"}, {"name": "bad", "fail": True}]
    with worker.database.write() as tx:
        submit(tx, NewJob("probe", json.dumps({"stages": stages}), "probe", "again"), now())
    assert execute(worker, "again") is Status.FAILURE
    with worker.database.write() as tx:
        operators.act(tx, "resume", "again", operators.resume, operators.By("operator", now()))
    assert execute(worker, "again") is Status.FAILURE
    with worker.database.read() as tx:
        assert [run.node for run in jobs.load_stages(tx, "again")] == ["one", "two"]
        assert [one.attempt for one in jobs.load_attempts(tx, "again")] == [1, 2]
    journal = [json.loads(line) for line in (tmp_path / "probe-journal.jsonl").read_text().splitlines()]
    started = [line["stage"] for line in journal if line["event"] == "stage_started"]
    assert started == ["one", "two", "bad", "bad"]


@pytest.fixture(params=["sqlite", "postgres"])
def any_worker(
    request: pytest.FixtureRequest, tmp_path: Path, empty_database: Path
) -> Iterator[WorkerProcess]:
    """So too, on either database."""
    url = None
    if request.param == "postgres":
        new_database: Callable[[], str] = request.getfixturevalue("new_postgres_database")
        url = new_database()
    else:
        (tmp_path / "jobdeck.db").write_bytes(empty_database.read_bytes())
    process = WorkerProcess(Settings(state_dir=tmp_path, db_url=url, cancel_look_s=0.05))
    yield process
    process.database.close()


@pytest.mark.parametrize("stage", [{"seconds": 60}, {"seconds": 0.5, "sync": True, "ignore_cancel": True}])
def test_r15_r20_a_cancelled_graph_leaves_no_transaction_of_the_saver_open(
    any_worker: WorkerProcess, stage: dict[str, object]
) -> None:
    """Whether the graph is cut off in a stage, or runs to an end whose checkpoint is refused."""
    worker, open_after = any_worker, []
    with worker.database.write() as tx:
        stages = [{"name": "first"}, {"name": "long", **stage}, {"name": "never"}]
        submit(tx, NewJob("probe", json.dumps({"stages": stages}), "probe", "cut"), now())

    def run() -> None:
        worker.run("cut", 0, 1, "w0-e1")
        open_after.append(Slot.current(worker.settings, worker.database).connection.in_transaction())

    def in_long() -> bool:
        with worker.database.read() as tx:
            return jobs.load_job(tx, "cut").stage == "long"

    slot = threading.Thread(target=run)
    slot.start()
    wait_until(in_long, what="the long stage began")
    with worker.database.write() as tx:
        operators.act(tx, "cancel", "cut", operators.cancel, operators.By("operator", now()))
    slot.join(20)
    assert open_after == [False]
    with worker.database.read() as tx:
        assert [run.node for run in jobs.load_stages(tx, "cut")] == ["first"]
        assert [one.end_reason for one in jobs.load_attempts(tx, "cut")] == ["cancelled"]
    if worker.database.path is not None:
        with closing(sqlite3.connect(worker.database.path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
