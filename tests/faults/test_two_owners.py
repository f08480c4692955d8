"""Two recovery owners on one database file: never both act (R17)."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import execution
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.reaper import ROLE
from jobdeck_backend.store import jobs, leases
from jobdeck_backend.store.engine import Database
from running_backend import wait_until

SCRIPT = Path(__file__).with_name("reaper_process.py")


class Owner:
    """A reaper process and what it told."""

    def __init__(self, directory: Path, name: str, *arguments: str) -> None:
        self._told = directory / f"{name}.jsonl"
        with self._told.open("wb") as out, (directory / f"{name}.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), str(directory), *arguments], stdout=out, stderr=log
            )

    def told(self) -> list[dict[str, Any]]:
        """Its complete lines; what is not JSON is its log."""
        lines = self._told.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, **line: Any) -> None:
        wait_until(lambda: line in self.told(), 10, what=f"a reaper tells {line}")

    def is_stopped(self) -> bool:
        state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "T"


class Shared:
    """The database both work on."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path, synchronous="NORMAL")

    def lose_job(self, job_id: str) -> None:
        """A running job whose worker was never heard of again."""
        at = now() - 60
        new = NewJob(agent_type="probe", input="{}", queue="probe", job_id=job_id)
        with self.database.write() as tx:
            submit(tx, new, at)
            assert execution.claim(tx, job_id, 0, worker="w0", pid=1, epoch=1, now=at) is not None

    def transitions(self, job_id: str) -> list[str]:
        with self.database.read() as tx:
            return [row["name"] for row in jobs.load_transitions(tx, job_id)]


@pytest.fixture
def owners(tmp_path: Path, empty_database: Path) -> Iterator[tuple[Path, Shared]]:
    """A directory with a database; every reaper process started in it is ended."""
    shutil.copy(empty_database, tmp_path / "jobdeck.db")
    shared = Shared(tmp_path / "jobdeck.db")
    yield tmp_path, shared
    with shared.database.read() as tx:
        assert fsck.check(tx) == []
    shared.database.close()


def test_r17_an_owner_stopped_between_plan_and_write_changes_nothing_when_it_goes_on(owners) -> None:
    directory, shared = owners
    former = Owner(directory, "former", "stop")
    second: Owner | None = None
    try:
        former.wait_for(epoch=1)
        shared.lose_job("one")
        wait_until(former.is_stopped, 10, what="the owner sleeps over its plan")
        assert former.told()[-1] == {"planned": 1}
        second = Owner(directory, "second")
        second.wait_for(epoch=2)
        second.wait_for(job_id="one", skipped=None)
        os.kill(former.process.pid, signal.SIGCONT)
        wait_until(lambda: [line for line in former.told() if line.get("job_id") == "one"], 10)
        assert [line["skipped"] for line in former.told() if "skipped" in line] == [
            f"the recovery lease of epoch 1 is over; it is held by {holder(shared)} (epoch 2)"
        ]
        former.wait_for(epoch=None)
        shared.lose_job("two")
        second.wait_for(job_id="two", skipped=None)
        for job_id in ("one", "two"):
            assert shared.transitions(job_id) == ["submitted", "started", "recovered"]
        assert [line for line in former.told() if line.get("skipped", "") is None] == []
    finally:
        for owner in (former, second):
            if owner is not None:
                owner.process.kill()
                owner.process.wait()


def holder(shared: Shared) -> str:
    with shared.database.read() as tx:
        lease = leases.load(tx, ROLE)
    assert lease is not None
    return lease.owner


def test_r17_i8_of_two_living_owners_one_acts_and_the_other_follows_when_it_is_killed(owners) -> None:
    directory, shared = owners
    first = Owner(directory, "first")
    first.wait_for(epoch=1)
    second = Owner(directory, "second")
    try:
        for number in range(20):
            shared.lose_job(f"job-{number}")
        wait_until(lambda: all(shared.transitions(f"job-{n}")[-1] == "recovered" for n in range(20)), 10)
        assert not [line for line in second.told() if "job_id" in line]
        former = holder(shared)
        first.process.kill()
        first.process.wait()
        second.wait_for(epoch=2)
        shared.lose_job("last")
        second.wait_for(job_id="last", skipped=None)
        with shared.database.read() as tx:
            lease = leases.load(tx, ROLE)
        assert lease is not None
        assert (lease.epoch, lease.taken_from) == (2, former)
        assert shared.transitions("last") == ["submitted", "started", "recovered"]
    finally:
        for owner in (first, second):
            owner.process.kill()
            owner.process.wait()
