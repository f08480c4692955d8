"""Whole backends on PostgreSQL: the same promises, and those that only a server's database needs."""

import io
import json
import os
import signal
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from conformance.calling import Caller
from event_frames import Frame
from jobdeck_backend.store.engine import Database
from jobdeck_backend.store.migrate import migrate
from postgres_server import PASSWORD, PostgresServer
from running_backend import JOBS, RunningBackend, wait_until

STAGES = [{"name": f"s{number}", "seconds": 0.4, "events": 4} for number in range(5)]
NAMES = [stage["name"] for stage in STAGES]
STREAMS_EACH = 60
READERS = 60
"""More than there are connections for."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of these tests' own, which they restart; it syncs as a real one."""
    server = PostgresServer(fsync=True)
    database = Database(server.create(), synchronous="NORMAL")
    migrate(database)
    database.close()
    yield server
    server.remove()


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.create("test1")


@pytest.fixture
def start(start_backend, url: str) -> Callable[..., RunningBackend]:
    """Starts backends on one new, empty PostgreSQL database."""
    return lambda *arguments, **environment: start_backend(*arguments, JOBDECK_DB_URL=url, **environment)


def everything_said(backend: RunningBackend) -> str:
    """All that can be read of a backend without its environment: logs, arguments, answers."""
    arguments = [(Path("/proc") / str(pid) / "cmdline").read_bytes() for pid in backend.processes()]
    logs = [path.read_bytes() for path in [backend.log, *(backend.state_dir / "logs").iterdir()]]
    answers = [backend.http.get(path).content for path in ("/health", "/v1/ops/overview", "/v1/ops/cluster")]
    return b"\n".join([*arguments, *logs, *answers]).decode("utf-8", "replace")


def test_a_job_runs_and_streams_as_on_sqlite_and_the_password_is_told_to_nobody(start) -> None:
    backend = start()
    backend.wait_for_dask()
    job_id = backend.submit(*STAGES[:2], {"name": "says", "tokens": 30}, output="done\0all")
    frames = backend.events(job_id)
    assert backend.job(job_id)["outcome"] == "succeeded"
    assert [frame.id for frame in frames if frame.id is not None] == list(
        range(1, backend.record(job_id).event_seq + 1)
    )
    modes = [frame.data for frame in frames if frame.event == "stream.mode"]
    assert [mode["mode"] for mode in modes] == ["polling", "pubsub"]
    assert modes[-1]["channel"] == "jobdeck_events"
    assert backend.overview()["streams"]["mode"] == "pubsub"
    assert [run.node for run in backend.stages(job_id)] == [*NAMES[:2], "says"]
    bundle = backend.http.get(f"/v1/ops/jobs/{job_id}/bundle")
    with tarfile.open(fileobj=io.BytesIO(bundle.content)) as archive:
        saved = json.load(archive.extractfile(f"jobdeck-{job_id}/checkpoints.json"))
    assert {one["step"]: one["job_id"] for one in saved} == dict.fromkeys(range(-1, 4), job_id)
    assert all(one["bytes"] > 0 for one in saved)
    said = everything_said(backend)
    assert PASSWORD not in said
    assert PASSWORD.replace("/", "%2F").replace(":", "%3A") not in said


def test_faults_02_03_08_ids_share_no_channel_and_streams_no_connection_on_postgresql(
    start, server: PostgresServer
) -> None:
    backend = start()
    backend.wait_for_dask()
    pair = [f"{'l' * 62}-1", f"{'l' * 62}_1"]
    for job_id in pair:
        backend.submit({"name": "talk", "seconds": 4, "events": 20}, job_id=job_id, output=job_id)
    with Caller(backend.url) as caller, ExitStack() as stack:
        streams = [(job_id, stack.enter_context(caller.stream(job_id))) for job_id in pair * STREAMS_EACH]
        for _job_id, frames in streams:
            next(frame for frame in frames if frame.event == "job.status")
        sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        assert server.execute(sessions)[0][0] < STREAMS_EACH
        for job_id, frames in streams:
            stored = [frame for frame in frames if frame.id is not None]
            assert stored[-1].id == backend.record(job_id).event_seq
            assert stored[-1].data["data"]["output"] == job_id


def test_r23_r20_a_killed_scheduler_and_a_killed_worker_cost_each_job_at_most_its_open_stage(start) -> None:
    backend = start()
    backend.wait_for_dask()
    jobs = [backend.submit(*STAGES) for _ in range(2)]
    for job_id in jobs:
        backend.wait_for_stage(job_id, "s1")
    os.kill(backend.pid_of("scheduler"), signal.SIGKILL)
    wait_until(lambda: all(len(backend.attempts(job_id)) == 2 for job_id in jobs), 15, what="both run again")
    os.kill(backend.attempts(jobs[0])[-1].pid, signal.SIGKILL)
    for job_id in jobs:
        assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        backend.assert_no_stage_repeated(job_id, NAMES)
    assert len(backend.attempts(jobs[0])) == 3


def test_r24_i7_a_worker_stopped_past_its_lease_is_overtaken_and_changes_nothing(start) -> None:
    backend = start(JOBDECK_HEARTBEAT_S="0.5", JOBDECK_HEARTBEAT_STALE_S="2")
    backend.wait_for_dask()
    job_id = backend.submit({"name": "first"}, {"name": "second", "seconds": 1.5}, {"name": "third"})
    stopped = backend.wait_for_stage(job_id, "second")
    os.kill(stopped, signal.SIGSTOP)
    wait_until(lambda: backend.attempts(job_id)[0].end_reason, 10, what="its heartbeat is stale")
    os.kill(stopped, signal.SIGCONT)
    assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    runs = [(run.node, run.attempt) for run in backend.stages(job_id)]
    assert runs == [("first", 1), ("second", 2), ("third", 2)]
    assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["worker lost", "succeeded"]


class Load:
    """Jobs submitted one after another, each asked for until it is accepted."""

    def __init__(self, backend: RunningBackend) -> None:
        self._backend = backend
        self.accepted: list[str] = []
        self.refusals: list[httpx.Response] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        with httpx.Client(base_url=self._backend.url, timeout=20) as http:
            while not self._stop.wait(0.05):
                body = {"agent_type": "probe", "input": '{"stages": []}', "job_id": f"load-{number}"}
                answer = http.post(f"{JOBS}/submit", json=body)
                if answer.status_code == 503:
                    self.refusals.append(answer)
                else:  # 409: an acceptance whose answer the restart swallowed
                    assert answer.status_code in (202, 409), answer.text
                    self.accepted.append(f"load-{number}")
                    number += 1

    def end(self) -> None:
        self._stop.set()
        self._thread.join(30)


def assert_outages_are_told_once(backend: RunningBackend) -> None:
    """One line when the database goes, with the cause, and one when it is back, whoever missed it meanwhile."""
    log = backend.log.read_text()
    _in_turn(log, "the database cannot be used (", "the database can be used again")
    assert "background duty" not in log
    assert "Traceback" not in log
    for worker_log in (backend.state_dir / "logs").glob("w*.log"):
        _in_turn(worker_log.read_text(), "heartbeats are not written", "heartbeats are written again")


def _in_turn(log: str, gone: str, back: str) -> None:
    told = [gone if gone in line else back for line in log.splitlines() if gone in line or back in line]
    assert told in ([gone, back], [gone, back] * 2), log


def test_r24_a_database_that_crashes_for_five_seconds_and_is_restarted_under_load_loses_nothing(
    start, server: PostgresServer
) -> None:
    backend = start(JOBDECK_HEARTBEAT_S="1")
    backend.wait_for_dask()
    running = [backend.submit(*STAGES) for _ in range(2)]
    for job_id in running:
        backend.wait_for_stage(job_id, "s1")
    epoch = backend.epoch()
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(backend.events, running[0])
        load = Load(backend)
        wait_until(lambda: len(load.accepted) > 5, 20, what="the load goes")
        for how, seconds in ((signal.SIGQUIT, 5), (signal.SIGINT, 0)):
            server.stop(how)
            assert backend.http.get("/health").status_code == 503
            threading.Event().wait(seconds)
            server.start()
            before = len(load.accepted)
            wait_until(lambda: len(load.accepted) > before + 5, 20, what="submits go on")  # noqa: B023
        load.end()
        for job_id in [*running, *load.accepted]:
            assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        frames: list[Frame] = stream.result(20)
    assert load.refusals
    assert all("retry-after" in answer.headers for answer in load.refusals)
    assert PASSWORD not in everything_said(backend)
    assert_outages_are_told_once(backend)
    assert backend.epoch() == epoch, "the cluster did not notice"
    for job_id in running:
        assert [attempt.end_reason for attempt in backend.attempts(job_id)] == ["succeeded"]
        backend.assert_no_stage_repeated(job_id, NAMES)
    assert sum(frame.data.get("name") == "log" for frame in frames) == 4 * len(STAGES), "nothing is dropped"
    stored = [frame.id for frame in frames if frame.id is not None]
    assert stored == list(range(1, backend.record(running[0]).event_seq + 1))
    wait_until(lambda: backend.overview()["streams"]["mode"] == "pubsub", 10, what="it listens again")


def test_i21_health_answers_while_the_database_hangs_and_everybody_waits_for_it(
    start, server: PostgresServer
) -> None:
    backend = start()

    def health() -> tuple[float, httpx.Response]:
        began = time.monotonic()
        answer = httpx.get(f"{backend.url}/health", timeout=20)
        return time.monotonic() - began, answer

    with ThreadPoolExecutor(READERS) as callers:
        with server.hung():
            lists = [
                callers.submit(httpx.get, f"{backend.url}/v1/ops/jobs", timeout=60) for _ in range(READERS)
            ]
            asked = [health() for _ in range(3)]
        assert {answer.status_code for _took, answer in asked} == {503}
        assert "does not answer" in asked[0][1].json()["reason"]
        assert min(took for took, _answer in asked) < 1
        wait_until(lambda: health()[1].status_code == 200, 20, what="it is well again by itself")
        assert {one.result().status_code for one in lists} == {200}


def test_i18_all_who_read_while_the_database_hangs_are_answered_once_it_goes_on(
    start, server: PostgresServer
) -> None:
    backend = start()
    job_id = backend.submit(STAGES[0], queue="shut")
    job, ops = f"{JOBS}/job/{job_id}", f"/v1/ops/jobs/{job_id}"
    lists = ("jobs", "jobs?sort=slack", "overview", "queues", "forecast?agent_type=probe")
    with ThreadPoolExecutor(READERS) as readers:
        for path in (job, ops, f"{ops}/why", f"{ops}/bundle", *(f"/v1/ops/{name}" for name in lists)):
            with server.hung():
                asked = [readers.submit(backend.http.get, path) for _ in range(READERS)]
                assert backend.http.get("/health").status_code == 503
            assert {one.result().status_code for one in asked} == {200}, path


def test_two_backends_serve_one_database_and_the_second_takes_over_from_the_first(start) -> None:
    first, second = start(), start()
    for backend in (first, second):
        backend.wait_for_dask()
    assert second.overview()["recovery"]["owner"].endswith(f":{first.pid}")
    job_ids = [backend.submit(*STAGES) for backend in (first, second, first, second)]
    assert first.job(job_ids[1])["status"] in {"submitted", "running"}
    wait_until(lambda: first.journal() or second.journal(), 20, what="the jobs begin somewhere")
    first.kill()
    for job_id in job_ids:
        assert second.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        assert [run.node for run in second.stages(job_id)] == NAMES
    assert second.overview()["recovery"]["owner"].endswith(f":{second.pid}")
    assert second.violations() == []


def test_r17_an_owner_backend_that_is_stopped_and_goes_on_finds_another_owner_and_changes_nothing(
    start,
) -> None:
    """Its workers, which nobody stopped, work on; what they run is left to them by both owners."""
    first, second = start(), start()
    for backend in (first, second):
        backend.wait_for_dask()
    stages = [{"name": f"s{number}", "seconds": 1.5} for number in range(8)]
    job_ids = [first.submit(*stages) for _ in range(4)]
    for job_id in job_ids:
        wait_until(lambda: second.attempts(job_id), 20, what="all run")  # noqa: B023
    epoch = second.lease_epoch("recovery")
    assert second.overview()["recovery"]["owner"].endswith(f":{first.pid}")
    os.kill(first.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: second.lease_epoch("recovery") == epoch + 1, 20, what="the lease is taken over")
    finally:
        os.kill(first.pid, signal.SIGCONT)
    wait_until(
        lambda: first.overview()["recovery"]["owner"].endswith(f":{second.pid}"), 20, what="it follows"
    )
    for job_id in job_ids:
        assert second.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        assert second.transitions(job_id) == ["submitted", "started", "succeeded"]
        assert [run.node for run in second.stages(job_id)] == [stage["name"] for stage in stages]
    assert second.lease_epoch("recovery") == epoch + 1
    assert second.violations() == []
