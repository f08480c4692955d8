"""The ledger's own promises, on a real database: synced writes, and what fsck says of untrue rows (R25, I11)."""

import json
from pathlib import Path

import pytest
from jobdeck_backend.clock import now
from jobdeck_backend.commands import delivery, effects, execution
from jobdeck_backend.commands.submission import NewJob, submit
from jobdeck_backend.jobs.records import Claim, Effect, EffectState, Policy
from jobdeck_backend.recovery import fsck
from jobdeck_backend.store.engine import Database, synced
from sqlalchemy import text

KEY = "job-1/pay/1/charge/0"


@pytest.fixture
def claim(database: Database) -> Claim:
    """A running job with one intent on record."""
    with database.write() as tx:
        submit(tx, NewJob(agent_type="probe", input="{}", queue="probe", job_id="job-1"), now())
        delivery.deliver(tx, epoch=1, room=1, pending=(), urgent_room=0, now=now())
        claim = execution.claim(tx, "job-1", 0, worker="w0-e1", pid=1, epoch=1, now=now())
        assert claim is not None
        wanted = Effect(
            KEY, "job-1", "charge", "pay", 1, Policy.MANUAL, EffectState.INTENT, "{}", 1, 1, now()
        )
        assert effects.intend(tx, claim, wanted) == wanted
    return claim


def violations(database: Database, journal: Path | None = None) -> list[str]:
    with database.read() as tx:
        return [one.text for one in fsck.check(tx, journal)]


def test_r25_a_ledger_write_is_synced_to_disk_and_the_connections_others_are_not(database: Database) -> None:
    connection = database.open_writer()

    ask = "PRAGMA synchronous" if database.path else "SHOW synchronous_commit"
    full, normal = (2, 1) if database.path else ("on", "local")

    def synchronous() -> int | str:
        return connection.connection.driver_connection.execute(ask).fetchone()[0]

    with synced(connection):
        assert synchronous() == full
    assert synchronous() == normal
    connection.connection.driver_connection.rollback()
    with pytest.raises(ZeroDivisionError), synced(connection):
        raise ZeroDivisionError
    assert synchronous() == normal
    connection.close()


def test_i11_a_true_ledger_has_no_violation(database: Database, claim: Claim, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text(json.dumps({"job_id": "job-1", "event": "effect_called", "key": KEY}) + "\n")
    assert violations(database, journal) == []
    with database.write() as tx:
        effects.settle(tx, claim, KEY, EffectState.CONFIRMED, {"n": 1}, now())
        assert execution.succeed(tx, claim, {"report": None}, [], now())
    assert violations(database, journal) == []


@pytest.mark.parametrize(("keys", "called"), [([KEY, KEY], "2 times"), (["job-1/pay/1/other/0"], "1 time")])
def test_i11_a_call_without_an_intent_of_its_own_is_found(
    database: Database, claim: Claim, tmp_path: Path, keys: list[str], called: str
) -> None:
    lines = [{"job_id": "job-1", "event": "effect_called", "key": key} for key in keys]
    journal = tmp_path / "journal"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (found,) = violations(database, journal)
    assert f"effect {keys[0]} was called {called} on" in found


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE jobs SET status = 'success'",
        "UPDATE effects SET state = 'confirmed'",
        "UPDATE effects SET settled_at = 1.0",
        "UPDATE effects SET state = 'happened', settled_at = 1.0, settled_by = 'operator'",
        "UPDATE jobs SET status = 'failure'",
    ],
)
def test_i11_a_ledger_that_was_tampered_with_is_found(database: Database, claim: Claim, damage: str) -> None:
    with database.write() as tx:
        tx.execute(text(damage))
    assert any(KEY in found for found in violations(database))
