"""Whoever submits jobs and acts on them while the storm goes on, and asks again where no answer came."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import httpx

from tests.running_backend import JOBS
from tests.storm.stand import Stand
from tests.storm.workload import Workload

SUBMIT_EVERY_S = 2.5
RETRY_S = 0.2
ACTS = ("cancel", "cancel", "expire", "resume")
READERS = 20


class Caller(threading.Thread):
    """Submits jobs one after the other, has the first ones followed, and now and then acts on one."""

    def __init__(self, stand: Stand, workload: Workload, choice: random.Random) -> None:
        super().__init__(name="caller", daemon=True)
        self.stopping = threading.Event()
        self._stand, self._workload, self._choice = stand, workload, choice

    def run(self) -> None:
        """Go on until told to stop; what was begun is submitted to its end."""
        while not self.stopping.wait(SUBMIT_EVERY_S):
            request = self._workload.next()
            job_id = request["job_id"]
            self._until_answered(lambda url, request=request: _accepted(url, request))
            self._workload.accepted[job_id] = time.time()
            if len(self._stand.readers) < READERS:
                self._stand.follow(job_id)
            if self._choice.random() < 0.25:
                self._act(self._choice.choice(list(self._workload.accepted)))

    def _act(self, job_id: str) -> None:
        with suppress(httpx.HTTPError):
            act = self._choice.choice(ACTS)
            httpx.post(f"{self._stand.url()}/v1/ops/jobs/{job_id}/{act}", json={}, timeout=5)

    def _until_answered(self, ask: Callable[[str], bool]) -> None:
        while True:
            with suppress(httpx.HTTPError):
                if ask(self._stand.url()):
                    return
            if self.stopping.wait(RETRY_S):
                # The storm is over: whoever is up answers now.
                self.stopping.clear()
                self._until_answered(ask)
                self.stopping.set()
                return


def _accepted(url: str, request: dict[str, object]) -> bool:
    """Whether the job is stored now, by this request or by an earlier one that nobody was told of (R2)."""
    answer = httpx.post(f"{url}{JOBS}/submit", json=request, timeout=5)
    if answer.status_code == 409:
        assert answer.json()["request_matches"], answer.text
        return True
    assert answer.status_code in {202, 429, 503, 507}, answer.text
    return answer.status_code == 202
