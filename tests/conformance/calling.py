"""A client that knows nothing but HTTP and the two contracts."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import httpx
from event_frames import Frame, frames_of
from running_backend import JOBS, TERMINAL, wait_until

WORKFLOW = "/v1/workflow/async"
LEGACY = "/generate/async"
LICENCE = """MIT License

Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in the
Software without restriction, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies of the Software."""


def fresh(prefix: str = "case") -> str:
    """An id that no earlier run against the same server used."""
    return f"{prefix}-{uuid4().hex[:12]}"


def probe(*stages: dict[str, Any], output: Any = None) -> str:
    """The input of a probe job."""
    return json.dumps({"stages": list(stages), "output": output})


class Caller:
    """What both contracts' cases ask of a server."""

    def __init__(self, base_url: str) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self.http = httpx.Client(base_url=base_url, timeout=30, limits=limits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def ask(self, **body: Any) -> httpx.Response:
        """POST a submit of the jobs API."""
        return self.http.post(f"{JOBS}/submit", json={"agent_type": "probe", "input": "{}", **body})

    def submit(self, *stages: dict[str, Any], output: Any = None, **body: Any) -> str:
        """A probe job's id."""
        answer = self.ask(input=probe(*stages, output=output), **body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])

    def get(self, job_id: str, what: str = "") -> httpx.Response:
        """GET a job, or something of it, by the jobs API."""
        return self.http.get(f"{JOBS}/job/{quote(job_id, safe='')}{what}")

    def cancel(self, job_id: str) -> httpx.Response:
        """POST its cancel."""
        return self.http.post(f"{JOBS}/job/{quote(job_id, safe='')}/cancel")

    def wait_for(self, job_id: str, *statuses: str, timeout_s: float = 30) -> dict[str, Any]:
        """Its record once it has one of these statuses, a terminal one unless told otherwise."""
        wanted = set(statuses) or TERMINAL

        def reached() -> dict[str, Any] | None:
            record = self.get(job_id).json()
            return record if record["status"] in wanted else None

        return wait_until(reached, timeout_s, what=f"{job_id} is {' or '.join(sorted(wanted))}")

    @contextmanager
    def stream(self, job_id: str, after: int | None = None, **headers: str) -> Iterator[Iterator[Frame]]:
        """Its stream, frame by frame."""
        path = f"{JOBS}/job/{quote(job_id, safe='')}/stream" + ("" if after is None else f"/{after}")
        with self.http.stream("GET", path, headers=headers) as response:
            assert response.status_code == 200, response.read()
            yield frames_of(response)

    def events(self, job_id: str, after: int | None = None, **headers: str) -> list[Frame]:
        """Its stream, read to the end."""
        with self.stream(job_id, after, **headers) as frames:
            return list(frames)

    def generate(self, path: str = WORKFLOW, **body: Any) -> httpx.Response:
        """POST a submit of the workflow API."""
        return self.http.post(path, json={"workflow": "probe", "input_message": "{}", **body})

    def generated(self, job_id: str, path: str = WORKFLOW) -> httpx.Response:
        """GET a job by the workflow API."""
        return self.http.get(f"{path}/job/{quote(job_id, safe='')}")


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.monotonic()
    act()
    return time.monotonic() - begun
