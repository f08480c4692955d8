"""``jobdeck drill`` against real backends: what is printed, what the exit code says, what is healed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobdeck_tui.client.instance import running_instance
from jobdeck_tui.text.sanitise import is_safe
from running_backend import RunningBackend, wait_until

PROGRAM = "from jobdeck_tui.cli import main; main()"
STAGES = ({"name": "first"}, {"name": "long", "seconds": 1}, {"name": "last"})
MET = {"passed": 0, "failed": 1}


def command(backend: RunningBackend, *arguments: str) -> tuple[list[str], dict[str, str]]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JOBDECK_")}
    words = [sys.executable, "-c", PROGRAM, "drill", *arguments, "--state-dir", str(backend.state_dir)]
    return words, variables | {"PYTHONIOENCODING": "utf-8"}


def drill(backend: RunningBackend, *arguments: str) -> subprocess.CompletedProcess[str]:
    words, variables = command(backend, *arguments)
    done = subprocess.run(words, env=variables, input="", capture_output=True, text=True, timeout=90)
    assert is_safe(done.stdout, lines=True), done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    return done


@contextmanager
def drilling(backend: RunningBackend, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    words, variables = command(backend, *arguments)
    process = subprocess.Popen(
        words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def recorded(backend: RunningBackend) -> list[dict]:
    return list(backend.http.get("/v1/ops/drills").json()["drills"])


def test_a_drill_prints_each_step_and_its_exit_code_says_whether_all_was_met(backend: RunningBackend) -> None:
    job_id = backend.submit(*STAGES)
    backend.wait_for_stage(job_id, "long")
    done = drill(backend, "worker-loss", "--yes")
    assert "  injected: SIGKILL to w" in done.stdout, done.stderr
    assert "  noticed: the loss of w" in done.stdout
    assert ", expected < 500ms" in done.stdout
    assert "  effects: 0 of 0 effects" in done.stdout
    last = done.stdout.splitlines()[-1]
    state = recorded(backend)[0]["state"]
    assert last.startswith(f"drill {recorded(backend)[0]['id']} {state}: ")
    assert last.endswith("0 failed, stages run again: 0")
    assert done.returncode == MET[state]


def test_a_drill_as_json_is_the_record_and_nothing_else(backend: RunningBackend) -> None:
    done = drill(backend, "scheduler-loss", "--yes", "--json")
    record = json.loads(done.stdout)
    assert record == recorded(backend)[0]
    assert "running again" in done.stderr
    assert done.returncode == MET[record["state"]]


def test_what_is_not_confirmed_or_not_possible_injects_nothing(
    backend: RunningBackend, start_backend
) -> None:
    before = recorded(backend)
    unconfirmed = drill(backend, "scheduler-loss")
    assert unconfirmed.returncode == 2
    assert "confirm it with --yes. Nothing was done." in unconfirmed.stderr
    unknown = drill(backend, "worker-loss", "--target", "w99", "--yes")
    assert unknown.returncode == 4
    assert "there is no worker w99" in unknown.stderr
    assert recorded(backend) == before
    without = start_backend("--no-drills", "--max-running-async-jobs", "1")
    for fault in ("stream-drop", "api-loss"):
        refused = drill(without, fault, "--yes")
        assert refused.returncode == 4, refused.stderr
        assert "does not allow drills" in refused.stderr
    assert without.process.poll() is None


def test_an_interrupted_drill_is_healed_first(backend: RunningBackend) -> None:
    backend.wait_for_dask()
    epoch = backend.epoch()
    with drilling(backend, "scheduler-hang", "--yes") as process:
        assert process.stdout is not None
        while "suspect: " not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert "was healed" in process.stderr.read()
    wait_until(lambda: recorded(backend)[0]["state"] != "running", 20, what="the drill ends")
    assert recorded(backend)[0]["state"] == "healed"
    assert backend.epoch() == epoch


def test_r3_a_killed_backend_is_started_again_and_every_job_goes_on(start_backend) -> None:
    backend = start_backend("--max-running-async-jobs", "2", JOBDECK_HEARTBEAT_EVENT_S="17")
    backend.wait_for_dask()
    running = [backend.submit(*STAGES) for _ in range(2)]
    queued = [backend.submit(*STAGES) for _ in range(3)]
    for job_id in running:
        backend.wait_for_stage(job_id, "long")
    killed = backend.pid
    done = drill(backend, "api-loss", "--yes")
    found = running_instance(backend.state_dir)
    assert found is not None, done.stderr
    try:
        record = recorded(backend)[0]
        steps = {step["name"]: step for step in record["timeline"]}
        assert "failed" not in {step["verdict"] for step in steps.values()}, record
        assert done.returncode == MET[record["state"]]
        assert f"SIGKILL to the backend (pid {killed})" in done.stdout
        assert (found.url, found.pid == killed) == (backend.url, False), "the same address"
        assert steps["kept"]["text"] == "5 of 5 accepted jobs are on record"
        assert steps["repeated"]["text"] == "0 of 2 stages completed before ran again"
        assert list(steps)[:3] == ["ready", "answering", "requeued"]
        started = Path(f"/proc/{found.pid}/environ").read_bytes().split(b"\0")
        assert b"JOBDECK_HEARTBEAT_EVENT_S=17" in started, "started as it was"
        for job_id in [*running, *queued]:
            assert backend.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
        for job_id in running:
            backend.assert_no_stage_repeated(job_id, ["first", "long", "last"])
            assert [one.end_reason for one in backend.attempts(job_id)] == ["scheduler lost", "succeeded"]
    finally:
        os.kill(found.pid, signal.SIGTERM)
    backend.wait_until_gone()
