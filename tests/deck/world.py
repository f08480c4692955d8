"""A whole server's answers as JSON, always the same: what every screen of the deck has to show.

``text`` makes each string that a job, a worker or a caller may write; ``count`` is how many of each thing.
"""

from jobdeck_tui.client.models import STATES

from .world_at_large import forecast, storage
from .world_of_a_job import STAGES, Json, Text, artifact, at, attempt, effect, stage

FINISHED = ("succeeded", "failed", "cancelled", "expired")


class World:
    """Each attribute is an answer, made once, so that every reader is told the same."""

    def __init__(self, text: Text = str, count: int = 0, jobs: int = 10) -> None:
        self._text = text
        self._count = count
        self.jobs = [self._job(number) for number in range(jobs)]
        self.overview = self._overview()
        self.events = self._events()
        self.detail = self._detail()
        self.queues = self._queues()
        self.failures = self._failures()
        self.audit = self._audit()
        self.cluster = self._cluster()
        self.plan = self._plan()
        self.drills = self._drills()
        self.log = self._log()
        self.report = self._report()
        self.storage = storage(text)
        self.forecast = forecast(text, count, at(40))

    def _many(self, least: int) -> range:
        return range(max(least, self._count))

    def _job(self, number: int) -> Json:
        state, text = STATES[number % len(STATES)], self._text
        running, finished = state == "running", state in FINISHED
        return {
            "job_id": f"job{number:05d}-{text(state)[:60]}",
            "queue": text("contract_review" if number % 3 else "research"),
            "workflow": text("contract_review"),
            "owner": None,
            "state": state,
            "status": "running" if running else "submitted",
            "outcome": state if finished else None,
            "reason": text("cancelled by ops: wrong input") if state == "cancelled" else None,
            "deadline": at(100 + 37 * number),
            "predicted_finish": at(90 + 20 * number),
            "slack": 10.0 + 17 * number,
            "priority": 0,
            "attempt": 1 + number % 2,
            "epoch": 1,
            "worker": text("w0-e1") if running else None,
            "stage": text(STAGES[number % 4]) if running else None,
            "stages_done": number % 4,
            "stages_total": 4,
            "heartbeat_age": 1.0 if running else None,
            "progress_age": None,
            "version": 3,
            "accepted_at": at(-100 - number),
            "started_at": at(-50) if running or finished else None,
            "finished_at": at(-2000 + number) if finished else None,
            "cancel_requested_at": None,
            "cancel_acknowledged_at": None,
            "slot_taken": running,
            "after": [],
            "thread_id": text("thread"),
            "note": text("an effect is uncertain: notify") if state == "held" else None,
            "error": text("ValueError: page 7 has no text") if state == "failed" else None,
        }

    def _overview(self) -> Json:
        """The feed's first frame."""
        counts = {state: sum(job["state"] == state for job in self.jobs) for state in STATES}
        recovery = {
            "mode": "auto",
            "owner": self._text("host:12"),
            "epoch": 3,
            "expires_in": 8.4,
            "acquired_at": at(-90),
            "taken_from": self._text("host:7"),
        }
        scheduler = {"state": "up", "address": "tcp://127.0.0.1:8786", "epoch": 1, "id": "Scheduler-a"}
        return {
            "at": at(0),
            "scheduler": {**scheduler, "seen_age": 0.1, "dashboard_url": None},
            "workers": 2,
            "slots": {"total": 4, "taken": counts["running"]},
            "counts": {**counts, "overdue": 0, "at_risk": 1},
            "delivered": counts["waiting"] + counts["queued"] + counts["assigned"],
            "recovery": recovery,
            "drain_seconds": 95.0,
            "paused": [self._text("night")],
            "drills_allowed": True,
            "read_only": False,
            "storage": {"state": "ok", "reason": None},
        }

    def _events(self) -> list[Json]:
        """Of many jobs, as the feed tells them."""
        kinds = ("tool.start", "tool.end", "llm.chunk", "workflow.start", "job.update", "artifact.update")
        return [
            {
                "job_id": self.jobs[number % len(self.jobs)]["job_id"],
                "seq": number + 1,
                "type": kinds[number % len(kinds)],
                "at": at(number - 60),
                "name": self._text("read_page"),
                "payload": {"data": {"input": self._text("page 7"), "chunk": self._text("so it is")}},
            }
            for number in self._many(12)
        ]

    def stream(self) -> list[tuple[str, Json]]:
        """One job's events."""
        return [
            (event["type"], {"name": event["name"], "timestamp": event["at"], **event["payload"]})
            for event in self.events
        ]

    def _detail(self) -> Json:
        """Everything on record about one job."""
        text = self._text
        held = next(job for job in self.jobs if job["state"] == "held")
        return {
            "job": held,
            "request": {"agent_type": text("contract_review"), "input": text("MIT License …")},
            "transitions": [
                {
                    "at": at(-100 + number),
                    "from_status": None if number == 0 else "submitted",
                    "to_status": "submitted" if number == 0 else "running",
                    "fence": number,
                    "name": text("accepted" if number == 0 else "started"),
                    "actor": text("ops@desk"),
                    "reason": text("") or None,
                }
                for number in self._many(2)
            ],
            "attempts": [attempt(text, number + 1) for number in self._many(2)],
            "stages": [stage(text, number) for number in self._many(3)],
            "effects": [effect(text, number) for number in self._many(2)],
            "notification": {
                "id": "n1",
                "event": text("held"),
                "target": text("https://hooks.example"),
                "state": "failed",
                "attempts": 5,
                "next_at": None,
                "last_error": text("answered 500"),
                "delivered_at": None,
            },
            "why": {"code": "held", "text": text("Effect notify is uncertain: say whether it happened.")},
            "artifacts": [artifact(text, number) for number in self._many(2)],
        }

    def _queues(self) -> Json:
        """Every queue."""
        return {
            "queues": [
                {
                    "name": f"{self._text('contract_review' if number == 0 else 'night')}-{number}",
                    "paused": number == 1,
                    "paused_by": self._text("ops") if number == 1 else None,
                    "depth": {
                        "backlog": 3,
                        "waiting": 1,
                        "queued": 2,
                        "assigned": 0,
                        "running": 2,
                        "held": 1,
                    },
                    "oldest_age": 310.0,
                    "p50": 12.5,
                    "p95": 44.0,
                    "done_per_minute": 3.5,
                    "at_risk": 1,
                }
                for number in self._many(2)
            ]
        }

    def _failures(self) -> Json:
        """What failed, by kind."""
        text = self._text
        return {
            "failures": [
                {
                    "error_type": text("ValueError" if number == 0 else "TimeoutError"),
                    "stage": text(STAGES[number % 4]),
                    "count": 7 + number,
                    "last_seen": at(-30),
                    "example": {
                        "job_id": self.jobs[0]["job_id"],
                        "workflow": text("contract_review"),
                        "message": text("page 7 has no text"),
                        "attempt": 1,
                        "worker": text("w0-e1"),
                        "traceback": text(
                            'Traceback\n  File "review.py", line 7\nValueError: page 7 has no text'
                        ),
                    },
                }
                for number in self._many(2)
            ]
        }

    def _audit(self) -> Json:
        """Everybody's acts."""
        return {
            "acts": [
                {
                    "id": number,
                    "at": at(-number * 60),
                    "actor": self._text("ops@desk"),
                    "act": self._text("cancel"),
                    "job_id": self.jobs[number % len(self.jobs)]["job_id"],
                    "version": 3,
                    "reason": self._text("wrong input"),
                    "result": self._text("done" if number % 2 else "refused: it had succeeded"),
                }
                for number in self._many(4)
            ],
            "next": None,
        }

    def _cluster(self) -> Json:
        """The backend's own view."""
        return {
            "scheduler": {"state": "up"},
            "workers": [
                {
                    "name": f"{self._text('worker')}-{number}",
                    "address": self._text("tcp://127.0.0.1:9"),
                    "pid": 4000 + number,
                    "threads": 2,
                    "executing": 2,
                    "ready": 3,
                    "memory": 120 << 20,
                    "last_seen": 0.4,
                    "state": "running" if number else "draining",
                }
                for number in self._many(2)
            ],
            "tasks": {"waiting": 1, "queued": 1, "processing": 2},
            "disagreements": [
                {
                    "kind": self._text("not_in_dask"),
                    "job_id": self.jobs[0]["job_id"],
                    "text": self._text("the records say assigned, Dask does not know it"),
                    "seconds": 4.0,
                }
                for _ in self._many(1)
            ],
        }

    def _plan(self) -> Json:
        """The recovery plan."""
        return {
            "recovery": self.overview["recovery"],
            "actions": [
                {
                    "job_id": job["job_id"],
                    "action": "leave" if number % 2 else self._text("resume from checkpoint"),
                    "reason": self._text("worker lost; resumes after stage compare"),
                    "evidence": {self._text("pid"): self._text("9")},
                    "automatic": False,
                }
                for number, job in zip(self._many(2), self.jobs, strict=False)
            ],
            "in_line": 4,
        }

    def _drills(self) -> Json:
        """Drills of before."""
        steps = (("injected", None, 0.0, None), ("noticed", 0.5, 0.2, "ok"), ("running", 5.0, 9.0, "late"))
        return {
            "drills": [
                {
                    "id": "d1",
                    "fault": "scheduler-loss",
                    "target": None,
                    "state": "passed",
                    "started_at": at(-300),
                    "ended_at": at(-291),
                    "timeline": [
                        {
                            "at": at(-300 + (seen or 0)),
                            "name": name,
                            "text": self._text(name),
                            "expected": expected,
                            "seen": seen,
                            "verdict": verdict,
                        }
                        for name, expected, seen, verdict in steps
                    ],
                    "evidence": [
                        {
                            "job_id": job["job_id"],
                            "stages_before": [self._text("extract_clauses")],
                            "stages_after": [self._text("extract_clauses"), self._text("report")],
                            "repeated": 0,
                            "state": job["state"],
                            "attempt": 2,
                        }
                        for _, job in zip(self._many(1), self.jobs, strict=False)
                    ],
                    "awaited": [],
                }
            ]
        }

    def _log(self) -> Json:
        """A worker's log."""
        lines = [self._text(f"12:00:0{number % 10} job claimed") for number in self._many(30)]
        return {"worker": self._text("w0-e1"), "lines": lines, "more": True}

    def _report(self) -> Json:
        """A report."""
        words = "\n".join(self._text(f"{number + 1}. The clause stands.") for number in self._many(3))
        return {"job_id": self.jobs[0]["job_id"], "has_report": True, "report": words}
