"""The limits on admissions, at the records: exact, per owner, and lifted by time or an end."""

from pathlib import Path

import pytest
from jobdeck_backend.commands.admission import Terms
from jobdeck_backend.commands.operators import By, act, cancel
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.errors import ServerFull, TooManyJobs
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate

NOW = 1_000_000.0


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = Database(tmp_path / "jobdeck.db", synchronous="NORMAL")
    migrate(opened)
    return opened


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
