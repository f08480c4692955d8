"""The backend is told to stop, or dies; nothing is left behind and the next start goes on (R3, R30)."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from event_frames import Frame
from running_backend import RunningBackend, wait_until

STAGES = [{"name": f"s{number}", "seconds": 0.3} for number in range(5)]
NAMES = [stage["name"] for stage in STAGES]


def test_a_killed_backend_leaves_no_process_and_its_jobs_to_the_next(start_backend) -> None:
    first = start_backend()
    first.wait_for_dask()
    running = [first.submit(*STAGES) for _ in range(2)]
    queued = [first.submit({"name": "only"}) for _ in range(3)]
    overdue = first.submit({"name": "never"}, deadline_seconds=0.8)
    for job_id in running:
        first.wait_for_stage(job_id, "s1")
    assert len(first.processes()) == 5
    recovery_epoch = first.lease_epoch("recovery")
    os.kill(first.pid, signal.SIGKILL)
    first.wait_until_gone(5)
    deadline = first.record(overdue).accepted_at + 0.8
    wait_until(lambda: time.time() > deadline, what="the deadline has passed")
    second = start_backend(state_dir=first.state_dir)
    assert second.lease_epoch("recovery") == recovery_epoch + 1, "R17: recovery has a new owner"
    for job_id in [*running, *queued]:
        assert second.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    for job_id in running:
        second.assert_no_stage_repeated(job_id, NAMES)
        assert [attempt.end_reason for attempt in second.attempts(job_id)] == ["scheduler lost", "succeeded"]
        ids = [frame.id for frame in second.events(job_id) if frame.id is not None]
        assert ids == list(range(1, len(ids) + 1))
    assert second.job(overdue)["outcome"] == "expired"
    assert second.journal(overdue) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_backend_ended_before_its_cluster_was_up_leaves_no_process(
    start_backend, number: signal.Signals
) -> None:
    first = start_backend()
    job_id = first.submit(*STAGES)
    first.signal(number)
    first.wait_until_gone(5)
    second = start_backend(state_dir=first.state_dir)
    assert second.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"


def test_r3_no_accepted_job_is_lost_whenever_the_backend_dies(start_backend) -> None:
    first = start_backend()
    accepted: list[str] = []
    failed = threading.Event()

    def submit_until_refused() -> None:
        try:
            while True:
                accepted.append(first.submit({"name": "only"}))
        except Exception:
            failed.set()

    sender = threading.Thread(target=submit_until_refused)
    sender.start()
    wait_until(lambda: len(accepted) > 50)
    os.kill(first.pid, signal.SIGKILL)
    sender.join()
    assert failed.is_set()
    first.wait_until_gone(5)
    second = start_backend(state_dir=first.state_dir)
    for job_id in accepted:
        assert second.wait_for(job_id, timeout_s=60)["outcome"] == "succeeded"
        second.assert_no_stage_repeated(job_id, ["only"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_r30_a_stopping_backend_says_farewell_and_takes_everything_with_it(
    start_backend, number: signal.Signals
) -> None:
    backend: RunningBackend = start_backend()
    backend.wait_for_dask()
    job_id = backend.submit({"name": "long", "seconds": 60})
    waiting = backend.submit({"name": "later"}, after=[job_id])
    backend.wait_for_stage(job_id, "long")
    told: dict[str, list[Frame]] = {job_id: [], waiting: []}
    ended: dict[str, float] = {}

    def read(one: str) -> None:
        with backend.stream(one) as frames:
            for frame in frames:
                told[one].append(frame)
        ended[one] = time.monotonic()

    readers = [threading.Thread(target=read, args=(one,)) for one in (job_id, waiting)]
    for reader in readers:
        reader.start()
    wait_until(lambda: all("job.status" in {frame.event for frame in told[one]} for one in told), what="live")
    backend.signal(number)
    signalled = time.monotonic()
    for reader in readers:
        reader.join(10)
    assert all(frames[-1].event == "job.shutdown" for frames in told.values())
    assert all(end - signalled < 1.5 for end in ended.values())
    backend.wait_until_gone(5)
    assert backend.process.returncode == 0
    assert backend.record(job_id).status == "running", "a shutdown marks no job"
    assert backend.record(waiting).status == "submitted"


def test_r30_a_stopped_backend_is_resumed_by_the_next_start(start_backend) -> None:
    first = start_backend()
    first.wait_for_dask()
    job_id = first.submit(*STAGES)
    first.wait_for_stage(job_id, "s1")
    assert first.stop() == 0
    second = start_backend(state_dir=first.state_dir)
    assert second.wait_for(job_id, timeout_s=40)["outcome"] == "succeeded"
    second.assert_no_stage_repeated(job_id, NAMES)


def test_a_backend_with_a_hanging_fork_server_ends_all_the_same(start_backend) -> None:
    backend = start_backend()
    backend.wait_for_dask()
    os.kill(backend.pid_of("fork server"), signal.SIGSTOP)
    backend.signal(signal.SIGTERM)
    backend.wait_until_gone(8)
    assert backend.process.returncode == 0


def test_a_second_signal_does_not_wait_and_leaves_no_process_and_no_traceback(start_backend) -> None:
    backend: RunningBackend = start_backend()
    backend.wait_for_dask()
    os.kill(backend.pid_of("fork server"), signal.SIGSTOP)  # so that a clean end takes a while
    backend.signal(signal.SIGINT)
    wait_until(lambda: not answers(backend.url), what="it serves no more")
    backend.signal(signal.SIGINT)
    backend.wait_until_gone(1)
    assert backend.process.returncode == -signal.SIGINT
    assert "Traceback" not in backend.log.read_text()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/live", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


def test_an_interrupt_during_the_imports_ends_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jobdeck_backend", "--port", "0", "--state-dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    maps = Path(f"/proc/{process.pid}/maps")
    wait_until(lambda: "pydantic_core" in maps.read_text(), what="the imports are on their way")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10) == (b"", b"")
    assert process.returncode == -signal.SIGINT
