"""``jobdeck drill`` against real backends: what is printed, what the exit code says, what is healed."""

import json
import os
import signal
import subprocess
from pathlib import Path

from command_line import PROGRAM, environment, ran
from jobdeck_tui.client.instance import running_instance
from jobdeck_tui.text.sanitise import is_safe
from running_backend import RunningBackend, wait_until

STAGES = ({"name": "first"}, {"name": "long", "seconds": 1}, {"name": "last"})
MET = {"passed": 0, "failed": 1, "not_shown": 5}


def drill(backend: RunningBackend, *arguments: str) -> tuple[int, str, str]:
    code, said, complained = ran("drill", *arguments, JOBDECK_STATE_DIR=str(backend.state_dir))
    assert is_safe(said, lines=True), said
    return code, said, complained


def recorded(backend: RunningBackend) -> list[dict]:
    return list(backend.http.get("/v1/ops/drills").json()["drills"])


def test_a_drill_prints_each_step_and_its_exit_code_says_whether_all_was_met(backend: RunningBackend) -> None:
    job_id = backend.submit(*STAGES)
    backend.wait_for_stage(job_id, "long")
    code, said, complained = drill(backend, "worker-loss", "--yes")
    assert "  injected: SIGKILL to w" in said, complained
    assert "  noticed: the loss of w" in said
    assert ", expected < 500ms" in said
    assert "  effects: 0 of 0 effects" in said
    last = said.splitlines()[-1]
    state = recorded(backend)[0]["state"]
    assert last.startswith(f"drill {recorded(backend)[0]['id']} {state}: ")
    assert last.endswith("0 failed, stages run again: 0")
    assert code == MET[state]


def test_a_drill_with_nothing_to_hit_is_warned_of_and_has_an_exit_code_of_its_own(
    backend: RunningBackend,
) -> None:
    wait_until(lambda: not backend.overview()["counts"]["running"], 20, what="nothing runs")
    code, said, complained = drill(backend, "worker-loss", "--yes")
    assert "the drill would show nothing" in complained
    assert "nothing to judge  running again: no job has to come back" in said
    state = recorded(backend)[0]["state"]
    assert f" {state.replace('_', ' ')}: " in said.splitlines()[-1]
    assert "with nothing to judge" in said.splitlines()[-1]
    assert code == MET[state]
    assert state != "passed"


def test_a_drill_as_json_is_the_record_and_nothing_else(backend: RunningBackend) -> None:
    code, said, complained = drill(backend, "scheduler-loss", "--yes", "--json")
    record = json.loads(said)
    assert record == recorded(backend)[0]
    assert "running again" in complained
    assert code == MET[record["state"]]


def test_what_is_not_confirmed_or_not_possible_injects_nothing(
    backend: RunningBackend, start_backend
) -> None:
    before = recorded(backend)
    code, _, complained = drill(backend, "scheduler-loss")
    assert code == 2
    assert "confirm it with --yes. Nothing was done." in complained
    code, _, complained = drill(backend, "worker-loss", "--target", "w99", "--yes")
    assert code == 4
    assert "there is no worker w99" in complained
    assert recorded(backend) == before
    # Variables of the interpreter's are heeded by one that starts: what is started again is such a process.
    without = start_backend("--no-drills", "--max-running-async-jobs", "1", PYTHONUNBUFFERED="1")
    for fault in ("stream-drop", "api-loss"):
        code, _, complained = drill(without, fault, "--yes")
        assert code == 4, complained
        assert "does not allow drills" in complained
    assert without.process.poll() is None


def test_a_drill_of_before_is_told_whole_after_a_restart(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit(*STAGES)
    backend.wait_for_stage(job_id, "long")
    assert drill(backend, "worker-loss", "--yes")[0] in MET.values()
    record = recorded(backend)[0]
    backend.finish()
    again = start_backend(state_dir=backend.state_dir)

    def told(*arguments: str) -> tuple[int, str, str]:
        return ran("drills", *arguments, JOBDECK_STATE_DIR=str(again.state_dir))

    code, listed, _ = told()
    assert (code, len(listed.splitlines())) == (0, 1)
    assert f"worker-loss {record['target']}  drill {record['id']} " in listed
    code, whole, _ = told(record["id"])
    assert code == 0
    assert whole.startswith(listed)
    for step in record["timeline"]:
        assert f"  {step['name']}: {step['text']}" in whole
    assert f"{job_id} " in whole.splitlines()[-1]
    assert whole.splitlines()[-1].endswith("try 2 ✔ none again  before: first")
    assert json.loads(told(record["id"], "--json")[1]) == record
    code, said, complained = told("no-such-drill")
    assert (code, said) == (4, "")
    assert f"on record: {record['id']} (worker-loss)." in complained
    assert json.loads(told("worker-loss", "--json")[1]) == record, "the newest of that fault"
    assert told("scheduler-loss")[0] == 4


def test_an_interrupted_drill_is_healed_first(backend: RunningBackend) -> None:
    backend.wait_for_dask()
    epoch = backend.epoch()
    with subprocess.Popen(
        [*PROGRAM, "drill", "scheduler-hang", "--yes"],
        env=environment(JOBDECK_STATE_DIR=str(backend.state_dir)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any("suspect: " in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert "was healed" in process.stderr.read()
    wait_until(lambda: recorded(backend)[0]["state"] != "running", 20, what="the drill ends")
    assert recorded(backend)[0]["state"] == "healed"
    assert backend.epoch() == epoch


def test_r3_a_killed_backend_is_started_again_and_every_job_goes_on(start_backend) -> None:
    backend = start_backend(
        "--max-running-async-jobs", "2", JOBDECK_HEARTBEAT_EVENT_S="17", PYTHONUNBUFFERED="1"
    )
    backend.wait_for_dask()
    running = [backend.submit(*STAGES) for _ in range(2)]
    queued = [backend.submit(*STAGES) for _ in range(3)]
    for job_id in running:
        backend.wait_for_stage(job_id, "long")
    killed = backend.pid
    code, said, complained = drill(backend, "api-loss", "--yes")
    found = running_instance(backend.state_dir)
    assert found is not None, complained
    try:
        record = recorded(backend)[0]
        steps = {step["name"]: step for step in record["timeline"]}
        assert "failed" not in {step["verdict"] for step in steps.values()}, record
        assert code == MET[record["state"]]
        assert f"SIGKILL to the backend (pid {killed})" in said
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
