"""A worker's execution without Dask around it: real graph, checkpoints and records, in a thread of this one."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Status
from jobdeck_backend.scheduling.worker import WorkerProcess
from jobdeck_backend.settings import Settings
from jobdeck_backend.store import jobs


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
