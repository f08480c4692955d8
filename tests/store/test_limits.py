"""The limits on admissions, at the records: exact, per owner, and lifted by time or an end."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
from jobdeck_backend.commands.admission import Terms
from jobdeck_backend.commands.operators import By, act, cancel
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import ServerFull, TooManyJobs
from jobdeck_backend.store.engine import Database

NOW = 1_000_000.0
CROWD = 4


def admit(database: Database, terms: Terms, *, owner: str | None = None, at: float = NOW) -> str:
    new = NewJob(agent_type="probe", input="{}", queue="probe", owner=owner)
    with database.write() as tx:
        return submit(tx, new, at, terms).job_id


def test_the_limit_of_one_owner_is_not_anothers(database: Database) -> None:
    terms = Terms(unfinished_jobs_per_principal_max=1)
    first = admit(database, terms, owner="alice")
    with pytest.raises(TooManyJobs):
        admit(database, terms, owner="alice")
    admit(database, terms, owner="bob")
    admit(database, terms)
    with database.write() as tx:
        act(tx, "cancel", first, cancel, By("operator", NOW))
    admit(database, terms, owner="alice")


def test_the_limit_of_the_server_counts_everybody(database: Database) -> None:
    terms = Terms(unfinished_jobs_max=2)
    admit(database, terms, owner="alice")
    admit(database, terms, owner="bob")
    with pytest.raises(ServerFull) as full:
        admit(database, terms)
    assert (full.value.http_status, full.value.retry_after_s) == (503, 5)


def test_a_minute_later_the_next_may_be_submitted(database: Database) -> None:
    terms = Terms(submissions_per_minute_max=2)
    admit(database, terms, at=NOW)
    admit(database, terms, at=NOW + 20)
    with pytest.raises(TooManyJobs) as refused:
        admit(database, terms, at=NOW + 50)
    assert refused.value.retry_after_s == 10
    admit(database, terms, at=NOW + 60)


@pytest.mark.parametrize(
    "terms",
    [
        Terms(unfinished_jobs_max=1),
        Terms(unfinished_jobs_per_principal_max=1),
        Terms(submissions_per_minute_max=1),
    ],
)
def test_i14_processes_that_admit_at_once_count_one_after_the_other(
    new_postgres_database: Callable[[], str], terms: Terms
) -> None:
    """SQLite lets only one of them write; PostgreSQL would let each count without the others."""
    database = Database(new_postgres_database(), synchronous="NORMAL")
    all_have_begun, all_have_counted = Barrier(CROWD), Barrier(CROWD)

    def admitted(_process: int) -> bool:
        with suppress(ServerFull, TooManyJobs), database.write() as tx:
            all_have_begun.wait(20)
            submit(tx, NewJob(agent_type="probe", input="{}", queue="probe"), NOW, terms)
            with suppress(BrokenBarrierError):
                all_have_counted.wait(0.3)
            return True
        return False

    with ThreadPoolExecutor(CROWD) as processes:
        assert sum(processes.map(admitted, range(CROWD))) == 1
    database.close()
