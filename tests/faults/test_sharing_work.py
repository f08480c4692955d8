"""Several backends on one database: no job waits for one backend's slots while another's are free."""

from collections.abc import Callable
from typing import Any

import pytest
from postgres_server import PostgresServer
from running_backend import RunningBackend, wait_until

SLOTS = 2
LONG = {"name": "long", "seconds": 6}


@pytest.fixture
def start(start_backend, postgres: PostgresServer) -> Callable[..., RunningBackend]:
    """Starts backends of two slots each on one new PostgreSQL database."""
    url = postgres.create("template")

    def start(*arguments: str) -> RunningBackend:
        if "--scheduler-address" not in arguments:
            arguments = ("--max-running-async-jobs", str(SLOTS), *arguments)
        backend: RunningBackend = start_backend(*arguments, JOBDECK_DB_URL=url)
        backend.wait_for_dask()
        return backend

    return start


def begun(backend: RunningBackend, job_ids: list[str]) -> list[str]:
    """Those that a worker has started."""
    return [one for one in job_ids if backend.attempts(one)]


def waits(backend: RunningBackend, job_ids: list[str]) -> list[float]:
    """How long each job waited for its start, once all have ended."""
    for job_id in job_ids:
        assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
    return [
        round(backend.attempts(one)[0].started_at - backend.record(one).accepted_at, 2) for one in job_ids
    ]


def test_jobs_that_fit_into_the_slots_of_all_clusters_start_at_once(start) -> None:
    """Round by round: who hears of a job first is a matter of chance."""
    first, second = start(), start()
    found = []
    for _ in range(6):
        job_ids = [first.submit({"name": "short", "seconds": 2}) for _ in range(2 * SLOTS)]
        found.append(max(waits(second, job_ids)))
    # Within the first round they hear of each other.
    assert max(found[1:]) < 1.5, "a slot was free all the time"


def test_what_was_handed_over_before_another_backend_came_is_shared_with_it(start) -> None:
    first = start()
    job_ids = [first.submit(LONG) for _ in range(2 * SLOTS)]
    wait_until(lambda: first.overview()["counts"]["queued"] == SLOTS, what="the others wait in Dask")
    second = start()
    assert len(begun(first, job_ids)) == SLOTS, "it came in time to help"
    waits(second, job_ids)
    assert len({first.attempts(one)[0].epoch for one in job_ids}) == 2


def test_what_several_backends_hand_to_one_scheduler_waits_there_in_the_order_of_deadlines(start) -> None:
    first = start()
    second = start("--scheduler-address", first.overview()["scheduler"]["address"])
    running = [first.submit({"name": "short", "seconds": 3}) for _ in range(SLOTS)]
    wait_until(lambda: len(begun(first, running)) == SLOTS, what="all slots are taken")
    late = [one.submit({"name": "only"}, deadline_seconds=90) for one in (first, second)]
    soon = [one.submit({"name": "only"}, deadline_seconds=60) for one in (second, first)]
    wait_until(lambda: first.overview()["counts"]["queued"] == 4, what="Dask keeps a window of jobs")
    waits(second, [*running, *late, *soon])
    assert max(first.attempts(one)[0].started_at for one in soon) <= min(
        first.attempts(one)[0].started_at for one in late
    )


def test_what_is_given_back_to_others_is_nothing_that_a_worker_is_about_to_begin(start) -> None:
    """Its key given up, Dask would take the busy slot for free and let another job wait behind it."""
    for _ in range(3):
        first, second = start(), start()
        job_ids = [first.submit(LONG) for _ in range(2 * SLOTS)]
        assert max(waits(second, job_ids)) < LONG["seconds"] - 1
        for backend in (first, second):
            backend.stop()


def test_why_counts_the_slots_of_the_cluster_that_the_job_is_with(start) -> None:
    first, second = start(), start()
    job_ids = [first.submit(LONG) for _ in range(2 * SLOTS + 1)]
    wait_until(lambda: len(begun(first, job_ids)) == 2 * SLOTS, 20, what="all slots are taken")
    (waiting,) = set(job_ids) - set(begun(first, job_ids))
    for backend in (first, second):

        def why() -> dict[str, Any]:
            return dict(backend.http.get(f"/v1/ops/jobs/{waiting}/why").json())  # noqa: B023

        told = wait_until(lambda: why()["code"] == "backlog" and why(), what="nobody keeps it")
        assert (told["data"]["slots_taken"], told["data"]["slots_total"]) == (SLOTS, SLOTS)
        assert len(told["data"]["taken_by"]) == SLOTS
        assert backend.overview()["slots"] == {"total": SLOTS, "taken": SLOTS}
    waits(first, job_ids)
