"""One seeded run: work under faults, then quiet, then the account."""

import random
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from jobdeck_backend.store import events

from tests.running_backend import RunningBackend, wait_until
from tests.storm.callers import Caller
from tests.storm.schedule import Strike, schedule
from tests.storm.stand import Stand
from tests.storm.verdict import broken_promises
from tests.storm.workload import Workload

QUIET_S = 30.0
SETTLE_S_MAX = 180.0
CALLERS = 4
LOOK_S = 0.05


@dataclass
class Account:
    """What a run did and what it found; ``broken`` is empty where every promise was kept."""

    seed: int
    strikes: list[Strike]
    outcomes: dict[str, int] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For a line of the report."""
        faults = Counter(f"{strike.fault} {strike.target}".strip() for strike in self.strikes)
        return {
            "seed": self.seed,
            "faults": dict(sorted(faults.items())),
            "outcomes": self.outcomes,
            **self.figures,
            "broken": self.broken,
        }


def run(seed: int, directory: Path, length_s: float) -> Account:
    """``length_s`` seconds of faults from the seed's schedule, quiet until all has ended, then every promise."""
    account = Account(seed, schedule(seed, length_s))
    stand = Stand(directory, random.Random(seed))
    try:
        workload = Workload(random.Random(seed))
        callers = [Caller(stand, workload, random.Random(seed * 100 + number)) for number in range(CALLERS)]
        for caller in callers:
            caller.start()
        _storm(stand, account.strikes, length_s)
        stand.calm()
        for caller in callers:
            caller.stopping.set()
        for caller in callers:
            caller.join()
        began = time.monotonic()
        backend = wait_until(stand.answering, 2 * QUIET_S, what="both backends answer after the storm")
        moving = _settle(backend, workload.stages)
        account.figures["seconds until all had ended"] = round(time.monotonic() - began, 1)
        account.broken = moving or _account(account, stand, backend, workload)
    finally:
        stand.end()
    return account


def _storm(stand: Stand, strikes: Iterable[Strike], length_s: float) -> None:
    began = time.monotonic()
    for strike in strikes:
        stand.over.wait(max(0.0, began + strike.at - time.monotonic()))
        stand.strike(strike)
    stand.over.wait(max(0.0, began + length_s - time.monotonic()))


def _settle(backend: RunningBackend, job_ids: Iterable[str]) -> list[str]:
    """Give every held job its verdict and cancel it; wait until all have ended, or nothing moves any more.

    A crowded machine is slow, which breaks no promise: only what stands still does. Answers what is left.
    """

    def unsettled() -> list[str]:
        left = []
        for job_id in job_ids:
            record = backend.record(job_id)
            if record.held_reason and not record.status.terminal:
                with suppress(httpx.HTTPError):
                    backend.act(job_id, "cancel", reason="the storm is over")
            if not record.status.terminal or any(one.ended_at is None for one in backend.attempts(job_id)):
                left.append(f"I18 {job_id} is still {record.status}, attempts {backend.attempts(job_id)}")
        return left

    began = moved_at = time.monotonic()
    seen = 0
    while left := unsettled():
        with backend.database.read() as tx:
            position = events.last_position(tx)
        if position > seen:
            seen, moved_at = position, time.monotonic()
        if time.monotonic() > min(moved_at + QUIET_S, began + SETTLE_S_MAX):
            break
        time.sleep(LOOK_S)
    return left


def _account(account: Account, stand: Stand, backend: RunningBackend, workload: Workload) -> list[str]:
    with suppress(AssertionError):
        wait_until(lambda: all(reader.ended for reader in stand.readers), QUIET_S)
    job_ids = list(workload.stages)
    account.outcomes = dict(Counter(str(backend.job(job_id)["outcome"]) for job_id in job_ids))
    account.figures |= {
        "jobs": len(job_ids),
        "attempts": sum(len(backend.attempts(job_id)) for job_id in job_ids),
        "stages": sum(len(backend.stages(job_id)) for job_id in job_ids),
        "effects": sum(len(backend.effects(job_id)) for job_id in job_ids),
        "readers": len(stand.readers),
        "connections of readers": sum(reader.connections for reader in stand.readers),
        "events read": sum(len(reader.frames) for reader in stand.readers),
        "scheduler epoch": backend.epoch(),
        "recovery epoch": backend.lease_epoch("recovery"),
        "starts of backends": sum(keeper.starts for keeper in stand.keepers),
    }
    last = backend.wait_for(backend.submit({"name": "last"}), timeout_s=10)
    after = [] if last["outcome"] == "succeeded" else ["I18 a job submitted after the storm did not succeed"]
    return after + broken_promises(backend, workload, stand.readers)
