"""Whatever happens, in whatever order: every job ends, and the records stay whole (I1, I3, I4, I6, I8, I11, I18)."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from running_backend import JOBS, Frame, RunningBackend, wait_until

JOB_COUNT = 24
FOLLOWED = 8
ACTS = [
    "cancel",
    "cancel",
    "expire",
    "resume",
    "resume",
    "kill worker",
    "kill worker",
    "kill scheduler",
    "submit",
]


class Chaos:
    """Random jobs and random acts, the same for the same seed as far as the machine's timing allows."""

    def __init__(self, backend: RunningBackend, seed: int) -> None:
        self.backend = backend
        self.random = random.Random(seed)
        self.job_ids: list[str] = []
        self.stages: dict[str, list[str]] = {}

    def submit(self) -> None:
        choice = self.random
        names = [f"s{number}" for number in range(choice.randint(0, 4))]
        stages = [self._stage(name) for name in names]
        extra = {}
        if choice.random() < 0.2:
            extra["deadline_seconds"] = choice.uniform(0.5, 8)
        if self.job_ids and choice.random() < 0.25:
            extra["after"] = choice.sample(self.job_ids, min(2, len(self.job_ids)))
            extra["after_policy"] = choice.choice(["succeeded", "finished"])
        job_id = self.backend.submit(*stages, **extra)
        self.job_ids.append(job_id)
        self.stages[job_id] = names

    def _stage(self, name: str) -> dict:
        kind = self.random.choice(
            ["plain", "plain", "sync", "events", "tokens", "deaf", "blocking", "effect"]
        )
        flags = {
            "sync": {"sync": True},
            "events": {"events": 5},
            "tokens": {"tokens": 20},
            "deaf": {"ignore_cancel": True},
            "blocking": {"block_loop": True},
            "effect": {"effect": {"key": "pay", "policy": self.random.choice(["repeatable", "probe"])}},
        }
        return {"name": name, "seconds": self.random.uniform(0, 0.5), **flags.get(kind, {})}

    def act(self) -> None:
        act = self.random.choice(ACTS)
        if act == "submit":
            self.submit()
        elif act == "kill worker":
            workers = [pid for pid, role in self.backend.processes().items() if role == "worker"]
            _kill(workers and self.random.choice(workers))
        elif act == "kill scheduler":
            schedulers = [pid for pid, role in self.backend.processes().items() if role == "scheduler"]
            _kill(schedulers and schedulers[0])
        else:
            answer = self.backend.act(self.random.choice(self.job_ids), act)
            assert answer.status_code in {200, 409}, answer.text

    def let_some_work_be_done(self) -> None:
        lines = len(self.backend.journal()) + self.random.randint(0, 8)
        wait_until(
            lambda: len(self.backend.journal()) >= lines or not unsettled(self.backend, self.job_ids),
            30,
            what="the work goes on",
        )


def _kill(pid: int | list) -> None:
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def unsettled(backend: RunningBackend, job_ids: list[str]) -> list[str]:
    jobs = [backend.record(job_id) for job_id in job_ids]
    return [f"{job.job_id}: {job.status}" for job in jobs if not job.status.terminal and not job.held_reason]


@pytest.mark.parametrize("seed", [int(os.environ.get("JOBDECK_TEST_SEED", "1"))])
def test_i1_i18_every_job_ends_and_the_records_stay_whole(start_backend, seed: int) -> None:
    backend = start_backend(JOBDECK_LOST_ATTEMPTS_MAX="3", JOBDECK_CANCEL_GRACE_S="1")
    backend.wait_for_dask()
    chaos = Chaos(backend, seed)
    for _ in range(JOB_COUNT):
        chaos.submit()
    followed = chaos.job_ids[:FOLLOWED]
    with ThreadPoolExecutor(FOLLOWED) as pool:
        live = {job_id: pool.submit(backend.events, job_id) for job_id in followed}
        _disturb(backend, chaos)
    assert backend.violations() == []
    for job_id in chaos.job_ids:
        _check(backend, chaos, job_id, live[job_id].result() if job_id in live else [])
    assert backend.wait_for(backend.submit())["outcome"] == "succeeded"


def test_i1_i18_every_job_outlives_the_deaths_of_the_backend(start_backend) -> None:
    backend = start_backend()
    chaos = Chaos(backend, 2)
    for _ in range(JOB_COUNT // 2):
        chaos.submit()
    for _ in range(3):
        for _ in range(3):
            chaos.act()
            chaos.let_some_work_be_done()
        backend.signal(signal.SIGKILL)
        backend.wait_until_gone()
        backend = chaos.backend = start_backend(state_dir=backend.state_dir)
    _settle(backend, chaos)
    assert backend.violations() == []
    for job_id in chaos.job_ids:
        _check(backend, chaos, job_id, [])


def _disturb(backend: RunningBackend, chaos: Chaos) -> None:
    for _ in range(20):
        chaos.act()
        chaos.let_some_work_be_done()
    _settle(backend, chaos)


def _settle(backend: RunningBackend, chaos: Chaos) -> None:
    # Jobs whose predecessor is held wait with it.
    for job_id in chaos.job_ids:
        if backend.record(job_id).held_reason:
            backend.http.post(f"{JOBS}/job/{job_id}/cancel")
    wait_until(lambda: not unsettled(backend, chaos.job_ids), 60, what="every job has ended")
    wait_until(lambda: not any(a.ended_at is None for j in chaos.job_ids for a in backend.attempts(j)), 10)


def _check(backend: RunningBackend, chaos: Chaos, job_id: str, live: list[Frame]) -> None:
    record = backend.record(job_id)
    frames = backend.events(job_id)
    log = [frame for frame in frames if frame.id is not None]
    assert [frame.id for frame in log] == list(range(1, record.event_seq + 1))
    assert frames[-1].data["status"] == record.status
    seen = [frame for frame in live if frame.id is not None]
    assert seen == log[: len(seen)], "a live stream is the log, up to the end it was told"
    done = {run.node: run.attempt for run in backend.stages(job_id)}
    for line in backend.journal(job_id):
        assert line["attempt"] <= done.get(line["stage"], line["attempt"]), "a stage on record ran again"
    if record.status == "success":
        assert [node for node in done if node in chaos.stages[job_id]] == chaos.stages[job_id]
