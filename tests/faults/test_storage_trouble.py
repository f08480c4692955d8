"""A full disk, a database that cannot be written or read: said, refused whole, nothing lost, on again alone."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from running_backend import RunningBackend, StartError, wait_until
from starting_backends import StartBackend, one_backend

SUBMIT = "/v1/jobs/async/submit"
DISK_BYTES = 8 << 20


def mounted(directory: Path) -> bool:
    """Whether a small disk of its own could be put there: a real one, which takes the rights to mount."""
    directory.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(directory)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def unmount(directory: Path) -> None:
    subprocess.run(["umount", "-l", str(directory)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "disk"
    if not mounted(directory):
        pytest.skip("a disk of its own cannot be mounted here")
    yield directory
    unmount(directory)


@pytest.fixture
def backend_on(small_disk: Path, tmp_path: Path) -> Iterator[RunningBackend]:
    # An outage longer than heartbeats may be silent: nobody is taken for lost who could not write one.
    with one_backend(
        tmp_path,
        state_dir=small_disk,
        JOBDECK_HEARTBEAT_S="0.2",
        JOBDECK_HEARTBEAT_STALE_S="1",
        JOBDECK_CANCEL_LOOK_S="0.1",
    ) as running:
        yield running


@contextmanager
def filled(directory: Path) -> Iterator[None]:
    """The disk full to its last byte."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    yield
    filler.unlink()


@contextmanager
def immutable(state_dir: Path) -> Iterator[None]:
    """What even root cannot write: as a disk that was mounted read-only after an error."""
    files = [str(path) for path in state_dir.glob("jobdeck.db*")]
    if subprocess.run(["chattr", "+i", *files], capture_output=True).returncode:
        pytest.skip("files cannot be made immutable here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", *files], check=True)


def refused(backend: RunningBackend, job_id: str) -> tuple[int, str]:
    """A submit that must be refused whole; its status and words."""
    request = {"agent_type": "probe", "input": "{}", "job_id": job_id}
    answer = backend.http.post(SUBMIT, json=request)
    assert answer.status_code in {503, 507}, answer.text
    assert int(answer.headers["retry-after"]) >= 1
    assert backend.http.get(f"/v1/jobs/async/job/{job_id}").status_code == 404, "half of it was stored"
    return answer.status_code, answer.json()["detail"]


def health(backend: RunningBackend) -> tuple[int, dict[str, Any]]:
    answer = backend.http.get("/health")
    return answer.status_code, answer.json()


def wait_for_health(backend: RunningBackend) -> None:
    wait_until(lambda: health(backend)[0] == 200, what="the database is usable again")


def wait_for_end_of_stage(backend: RunningBackend, job_id: str) -> None:
    """Until a stage of a second must be over, so that its worker has a checkpoint to save and cannot."""

    def old_enough() -> bool:
        row = backend.http.get(f"/v1/ops/jobs/{job_id}").json()["job"]
        return bool(row["progress_age"] > 2)

    wait_until(old_enough, what="nothing was written for longer than the stage takes")


def test_a_full_disk_refuses_with_507_keeps_what_runs_and_goes_on_when_there_is_room(
    backend_on: RunningBackend, small_disk: Path
) -> None:
    backend = backend_on
    running = backend.submit({"name": "a", "seconds": 1, "tokens": 40}, {"name": "b", "tokens": 5})
    backend.wait_for_stage(running, "a")
    with filled(small_disk):
        status, words = refused(backend, "refused")
        assert (status, "no room left on the disk" in words) == (507, True)
        assert (health(backend)[0], health(backend)[1]["db"]) == (503, "storage_full")
        overview = backend.overview()
        assert overview["storage"]["state"] == "storage_full"
        assert "no room left" in overview["storage"]["reason"]
        wait_for_end_of_stage(backend, running)
        assert backend.job(running)["status"] == "running"
    wait_for_health(backend)
    assert backend.overview()["storage"] == {"state": "ok", "reason": None}
    done = backend.wait_for(running, "success")
    assert done["attempt"] == 1, "no stage ran again"
    backend.assert_no_stage_repeated(running, ["a", "b"])
    tokens = [frame for frame in backend.events(running) if frame.event == "llm.chunk"]
    assert len(tokens) == 45, "every token said while the disk was full is in the log"
    backend.wait_for(backend.submit({"name": "again"}), "success")


def test_a_read_only_database_refuses_with_503_answers_reads_and_goes_on(start_backend: StartBackend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    running = backend.submit({"name": "a", "seconds": 1}, {"name": "b"})
    backend.wait_for_stage(running, "a")
    with immutable(backend.state_dir):
        status, words = refused(backend, "refused")
        assert (status, "is read-only" in words) == (503, True)
        assert health(backend)[1]["db"] == "database_read_only"
        assert backend.http.get("/v1/ops/jobs").status_code == 200
        wait_for_end_of_stage(backend, running)
    wait_for_health(backend)
    assert backend.wait_for(running, "success")["attempt"] == 1


def test_a_locked_database_is_told_before_the_caller_gives_up(start_backend: StartBackend) -> None:
    backend = start_backend()
    with closing(sqlite3.connect(backend.state_dir / "jobdeck.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, words = refused(backend, "refused")
        assert (status, "locked" in words) == (503, True)
    wait_for_health(backend)
    assert backend.http.post(SUBMIT, json={"agent_type": "probe", "input": "{}"}).status_code == 202


def checkpointed(backend: RunningBackend) -> int:
    """Move the log into the file; answers the file's size."""
    backend.wait_for_dask()
    for job_id in [backend.submit({"name": "a", "tokens": 100}) for _ in range(5)]:
        backend.wait_for(job_id, "success")
    path = backend.state_dir / "jobdeck.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    return path.stat().st_size


def damage(path: Path, first: int) -> None:
    """Random bytes from a page on to the end."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(first * 4096)
        file.write(os.urandom(size - first * 4096))


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[RunningBackend]:
    """A backend whose records are not checked at the end: its test damages them."""
    backend = RunningBackend(tmp_path / "state")
    yield backend
    backend.process.kill()
    backend.wait_until_gone()
    backend.kill()


@pytest.mark.parametrize("how", ["truncated", "overwritten"])
def test_a_damaged_database_is_said_everywhere_and_promises_nothing(doomed: RunningBackend, how: str) -> None:
    checkpointed(doomed)
    path = doomed.state_dir / "jobdeck.db"
    if how == "truncated":
        os.truncate(path, 0)
    else:
        damage(path, 12)
    doomed.http.timeout = 5
    listing = wait_until(
        lambda: (answer := doomed.http.get("/v1/ops/jobs")).status_code == 503 and answer,
        what="a read notices",
    )
    assert listing.json()["detail"]["code"] == "database_damaged"
    assert "restore a backup" in listing.json()["detail"]["message"]
    answer = doomed.http.post(SUBMIT, json={"agent_type": "probe", "input": "{}"})
    assert (answer.status_code, "damaged" in answer.json()["detail"]) == (503, True)
    assert (health(doomed)[0], health(doomed)[1]["db"]) == (503, "database_damaged")
    doomed.stop()
    assert "shutdown failed" not in doomed.log.read_text()


def test_a_start_on_a_damaged_database_is_refused_and_fsck_tells_the_damage(doomed: RunningBackend) -> None:
    size = checkpointed(doomed)
    doomed.process.kill()
    doomed.wait_until_gone()
    path = doomed.state_dir / "jobdeck.db"
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    damage(path, size // 4096 * 4 // 5)
    before = path.read_bytes()
    with pytest.raises(StartError) as refusal:
        RunningBackend(doomed.state_dir)
    assert refusal.value.exit_code == 13
    assert "is damaged" in refusal.value.stderr
    assert path.read_bytes() == before
    command = [sys.executable, "-m", "jobdeck_tui.cli", "fsck", "--state-dir", str(doomed.state_dir)]
    command[1:3] = ["-c", "from jobdeck_tui.cli import main; main()"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert told.returncode == 1, told.stderr
    assert "the database file is whole: all jobs: " in told.stdout
    assert "Traceback" not in told.stderr
