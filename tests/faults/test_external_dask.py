"""A Dask cluster that others run: attached to, lost, found again; its workers fenced and never killed."""

import os
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import jobdeck
from dask_processes import (
    AN_HOUR_AHEAD,
    AN_HOUR_AHEAD_ELSEWHERE,
    OF_ANOTHER_VERSION,
    WITHOUT_THE_PACKAGE,
    DaskProcesses,
    dask_processes,
)
from running_backend import RunningBackend, wait_until

STAGES = [{"name": f"s{number}", "seconds": 0.4} for number in range(5)]
NAMES = [stage["name"] for stage in STAGES]
DRILLS = "/v1/ops/drills"
EXAMPLE = Path(__file__).parents[2] / "examples/ticket_triage/langgraph.json"


@pytest.fixture
def dask(tmp_path) -> Iterator[DaskProcesses]:
    with dask_processes(tmp_path) as processes:
        yield processes


@pytest.fixture
def attach(start_backend, dask):
    def start(*arguments: str, **environment: str) -> RunningBackend:
        return start_backend("--scheduler-address", dask.address, *arguments, **environment)

    return start


def environment(backend: RunningBackend) -> dict[str, str]:
    """What a worker's own environment says; with a slash more than that of the backend's processes."""
    return {"JOBDECK_STATE_DIR": f"{backend.state_dir}/"}


def wait_for_workers(backend: RunningBackend, *names: str) -> None:
    """Wait until these workers were examined."""

    def known() -> bool:
        found = {one["name"] for one in backend.cluster()["workers"] if one["pid"] is not None}
        return found == set(names)

    wait_until(known, 60, what=f"workers {names} are known")


def refused_drill(backend: RunningBackend, fault: str) -> tuple[str, str]:
    """The code and the words by which a drill is refused."""
    detail = backend.http.post(DRILLS, json={"fault": fault, "confirm": fault}).json()["detail"]
    return detail["code"], detail["message"]


def test_r23_an_absent_scheduler_is_waited_for_and_its_return_is_a_new_epoch(attach, dask) -> None:
    backend = attach()
    job_id = backend.submit(*STAGES)
    state = wait_until(lambda: backend.overview()["scheduler"]["problem"] and backend.overview()["scheduler"])
    assert (state["state"], state["address"]) == ("starting", dask.address)
    assert dask.address in state["problem"]
    assert backend.processes().keys() == {backend.pid}, "no process of its own beside the backend"
    scheduler = dask.scheduler()
    dask.worker("one", **environment(backend))
    pid = backend.wait_for_stage(job_id, "s1", 30)
    epoch, first_id = backend.epoch(), backend.overview()["scheduler"]["id"]
    assert backend.overview()["scheduler"]["state"] == "external"
    code, words = refused_drill(backend, "stream-drop")
    assert (code, "its Dask cluster is others'" in words) == ("not_allowed", True)

    scheduler.kill()
    wait_until(lambda: backend.overview()["scheduler"]["state"] == "lost", 5)
    wait_until(lambda: "recovered" in backend.transitions(job_id), 5)
    assert os.kill(pid, 0) is None, "its worker is fenced, and nobody killed it"
    late = backend.submit({"name": "only"})
    dask.scheduler()
    dask.worker("two", **environment(backend))
    assert backend.wait_for(late, timeout_s=60)["outcome"] == "succeeded"
    assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
    backend.assert_no_stage_repeated(job_id, NAMES)
    assert backend.epoch() == epoch + 1
    assert backend.overview()["scheduler"]["id"] != first_id


def test_r23_an_external_worker_that_was_killed_is_missed_at_once_and_no_drill_kills_one(
    attach, dask
) -> None:
    dask.scheduler()
    backend = attach(JOBDECK_ALLOW_DRILLS="true")
    dask.worker("one", **environment(backend))
    job_id = backend.submit(*STAGES)
    victim = backend.wait_for_stage(job_id, "s0", 30)
    code, words = refused_drill(backend, "worker-loss")
    assert (code, "are others' to end" in words) == ("not_eligible", True)
    answer = backend.http.post(DRILLS, json={"fault": "stream-drop", "confirm": "stream-drop"})
    assert answer.status_code == 202, answer.text
    drill = f"{DRILLS}/{answer.json()['id']}"
    backend.wait_for_stage(job_id, "s2", 30)
    os.kill(victim, signal.SIGKILL)
    dask.worker("two", **environment(backend))
    assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
    first, second = backend.attempts(job_id)
    assert (first.worker, first.end_reason, second.worker) == ("one", "worker lost", "two")
    backend.assert_no_stage_repeated(job_id, NAMES)
    wait_until(lambda: backend.http.get(drill).json()["state"] != "running", 40, what="the drill ends")
    verdicts = {step["name"]: step["verdict"] for step in backend.http.get(drill).json()["timeline"]}
    assert "failed" not in verdicts.values(), verdicts


def test_workers_that_cannot_run_jobs_are_named_with_the_reason_and_get_none(attach, dask) -> None:
    dask.scheduler()
    backend = attach("--workflows", str(EXAMPLE))
    fit = environment(backend) | {"JOBDECK_WORKFLOWS": str(EXAMPLE)}
    dask.worker("good", **fit)
    dask.worker("plain", **environment(backend))
    dask.worker("set wrong", **fit | {"JOBDECK_HEARTBEAT_S": "soon"})
    dask.worker("mistyped", **fit | {"JOBDECK_DB_URL": "mysql://u:s3cret@host/db"})
    dask.worker("bare", WITHOUT_THE_PACKAGE, **environment(backend))
    dask.worker("old", OF_ANOTHER_VERSION, **environment(backend))
    dask.worker("lost")
    dask.worker("elsewhere", JOBDECK_STATE_DIR=str(dask.directory))
    wrong = {"plain", "set wrong", "mistyped", "bare", "old", "lost", "elsewhere"}
    ticket = backend.submit_text("The shop is down!", agent_type="ticket_triage")
    jobs = [ticket, *(backend.submit({"name": "only", "seconds": 0.05}) for _ in range(30))]
    wait_for_workers(backend, *wrong, "good")
    told = jobdeck("cluster", "--server", backend.url)[0]
    assert "unfit      lost gets no jobs: neither JOBDECK_DB_URL" in told
    overview = backend.overview()
    unfit = overview["scheduler"]["unfit"]
    assert unfit.keys() == wrong
    assert "lacks workflows of this server (ticket_triage)" in unfit["plain"]
    assert "JOBDECK_HEARTBEAT_S: Input should be a valid number" in unfit["set wrong"]
    assert "its database cannot be used (the database's URL is not one of PostgreSQL" in unfit["mistyped"]
    assert "jobdeck is not installed" in unfit["bare"]
    assert "0.0.9" in unfit["old"]
    assert "JOBDECK_DB_URL" in unfit["lost"]
    assert "database" in unfit["elsewhere"]
    assert overview["slots"]["total"] == 1, "nothing is promised on their slots"
    for job_id in jobs:
        assert backend.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        assert [one.worker for one in backend.attempts(job_id)] == ["good"]
    assert not (dask.directory / "jobdeck.db").exists(), "asking makes no database"


@pytest.mark.parametrize("wrong", [AN_HOUR_AHEAD, AN_HOUR_AHEAD_ELSEWHERE], ids=["same machine", "another"])
def test_r11_a_worker_whose_clock_is_an_hour_off_expires_nothing_and_extends_nothing(
    attach, dask, wrong
) -> None:
    dask.scheduler()
    backend = attach()
    dask.worker("one", wrong, **environment(backend))
    ends = backend.submit({"name": "only", "seconds": 0.2}, deadline_seconds=120)
    assert backend.wait_for(ends, timeout_s=60)["outcome"] == "succeeded"
    expires = backend.submit({"name": "only", "seconds": 60}, deadline_seconds=3)
    assert backend.wait_for(expires)["outcome"] == "expired"
    (attempt,) = backend.attempts(expires)
    assert abs(attempt.started_at - backend.record(expires).accepted_at) < 4


def test_two_backends_share_a_database_and_the_cluster_of_one(start_backend) -> None:
    first = start_backend()
    first.wait_for_dask()
    url = f"sqlite:///{first.state_dir / 'jobdeck.db'}"
    address = first.overview()["scheduler"]["address"]
    second = start_backend("--scheduler-address", address, JOBDECK_DB_URL=url)
    second.wait_for_dask()
    assert second.overview()["recovery"]["owner"] == first.overview()["recovery"]["owner"]
    jobs = [one.submit(*STAGES[:2]) for one in (first, second) * 4]
    wait_until(lambda: any(first.record(job_id).status == "running" for job_id in jobs))
    epoch = first.epoch()
    os.kill(first.pid_of("scheduler"), signal.SIGKILL)
    wait_until(lambda: first.epoch() >= epoch + 2, 20, what="both have new epochs, at the same address")
    second.wait_for_dask()
    assert second.overview()["scheduler"]["address"] == address
    jobs.append(second.submit(*STAGES[:2]))
    for job_id in jobs:
        assert second.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        assert first.job(job_id)["outcome"] == "succeeded"
    for one in (first, second):
        assert wait_until(lambda one=one: one.cluster()["disagreements"] == [])


def test_a_scheduler_that_speaks_tls_is_used_with_its_certificates(start_backend, tmp_path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=jobdeck"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    flags = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    with dask_processes(tmp_path, *flags, protocol="tls") as dask:
        dask.scheduler()
        backend = start_backend("--scheduler-address", dask.address, *flags)
        dask.worker("one", **environment(backend))
        assert backend.wait_for(backend.submit({"name": "only"}), timeout_s=30)["outcome"] == "succeeded"


class Stranger(socketserver.ThreadingTCPServer):
    """What listens at an address where a scheduler should."""

    daemon_threads = True

    def __init__(self, answer: bytes, *, stays: bool) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.address = f"tcp://127.0.0.1:{self.server_address[1]}"
        self.calls = 0
        self._answer, self._stays = answer, stays
        self.ended = threading.Event()

    def finish_request(self, request: Any, _address: Any) -> None:
        self.calls += 1
        request.sendall(self._answer)
        if self._stays:
            self.ended.wait(60)


@pytest.mark.parametrize(
    ("answer", "stays", "says"),
    [
        (b"", True, "it does not answer"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello there", True, "what answers is no Dask scheduler"),
        (b"", False, "("),
    ],
    ids=["silent", "another protocol", "closes at once"],
)
def test_what_is_no_scheduler_is_said_once_and_tried_again(start_backend, answer, stays, says) -> None:
    with Stranger(answer, stays=stays) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        backend = start_backend("--scheduler-address", stranger.address)
        problem = wait_until(lambda: backend.overview()["scheduler"]["problem"], 20)
        assert f"no scheduler can be used at {stranger.address}" in problem
        assert says in problem
        calls = stranger.calls
        wait_until(lambda: stranger.calls >= calls + 3, 30, what="it is tried again")
        assert backend.log.read_text().count("trying again") <= 2
        assert backend.submit({"name": "only"})
        stranger.ended.set()
        stranger.shutdown()


def test_flags_of_the_embedded_cluster_are_refused_beside_an_address(tmp_path) -> None:
    for flags, says in (
        (["--max-concurrent-jobs", "3"], "--max-running-async-jobs would have no effect"),
        (["--dask-threads-per-worker", "2"], "--dask-threads-per-worker would have no effect"),
        (["--tls-cert", "nothing.pem"], "go with a tls://"),
    ):
        command = [
            sys.executable,
            "-m",
            "jobdeck_backend",
            "--scheduler-address",
            "tcp://127.0.0.1:1",
            *flags,
        ]
        done = subprocess.run(
            [*command, "--state-dir", str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert says in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir()), "nothing was started or made"
