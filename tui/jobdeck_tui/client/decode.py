"""JSON from the wire → immutable models. The client's boundary: every string is sanitised here, once.

Unknown fields are ignored. A field that is missing or of the wrong kind makes its item ``Unreadable``; lists
leave such items out and count them, so that one broken row never hides the others.
"""

import sys
from collections.abc import Iterator

from jobdeck_tui.text.sanitise import one_line

from . import models
from .artifacts import artifact
from .fields import ID_LIMIT, NAME_LIMIT, NOTE_LIMIT, Fields, Unreadable, json_line, many, moment, safe_json
from .recovery import recovery
from .storage import StorageState
from .storage import state as storage_state
from .workers import TRACEBACK_LIMIT

REPORT_LIMIT = 2_000_000
KEY_LIMIT = 1_000
LATE_RESULT_LIMIT = 4_000
ROWS_AT_A_TIME = 100
"""Many more would keep whoever reads them from everything else for too long."""


def job(data: object) -> models.Job:
    """Read one row of the job list."""
    row = Fields(data)
    # One text for all rows of a job, and for what they are found by.
    job_id, thread_id = sys.intern(row.job_id()), row.text("thread_id", ID_LIMIT)
    return models.Job(
        job_id=job_id,
        queue=row.name("queue"),
        workflow=row.name("workflow"),
        state=row.name("state"),
        status=row.name("status"),
        outcome=row.maybe_name("outcome"),
        reason=row.maybe_text("reason", NOTE_LIMIT),
        deadline=row.maybe_time("deadline"),
        predicted_finish=row.maybe_time("predicted_finish"),
        slack=row.maybe_number("slack"),
        priority=row.integer("priority"),
        attempt=row.integer("attempt"),
        epoch=row.maybe_integer("epoch"),
        worker=row.maybe_name("worker"),
        stage=row.maybe_name("stage"),
        stages_done=row.integer("stages_done"),
        stages_total=row.maybe_integer("stages_total"),
        heartbeat_age=row.maybe_number("heartbeat_age"),
        version=row.integer("version"),
        accepted_at=row.time("accepted_at"),
        started_at=row.maybe_time("started_at"),
        finished_at=row.maybe_time("finished_at"),
        cancel_requested_at=row.maybe_time("cancel_requested_at"),
        cancel_acknowledged_at=row.maybe_time("cancel_acknowledged_at"),
        slot_taken=row.flag("slot_taken"),
        after=row.texts("after", ID_LIMIT),
        thread_id=job_id if thread_id == job_id else thread_id,  # mostly the same: then kept once
        note=row.maybe_text("note", NOTE_LIMIT),
        error=row.maybe_text("error", NOTE_LIMIT),
        owner=row.maybe_text("owner", NOTE_LIMIT),
    )


def jobs(data: object) -> Iterator[tuple[tuple[models.Job, ...], int]]:
    """Read the rows of a feed's ``jobs`` frame, some at a time, and how many of those could not be read."""
    rows = Fields(data).listed("jobs")
    for first in range(0, max(len(rows), 1), ROWS_AT_A_TIME):
        yield many(rows[first : first + ROWS_AT_A_TIME], job)


def job_page(data: object) -> models.JobPage:
    """Read a page of the job list."""
    page = Fields(data)
    rows, unreadable = many(page.raw("jobs"), job)
    return models.JobPage(
        jobs=rows,
        total=page.integer("total"),
        matching=page.integer("matching"),
        next=page.maybe_text("next", NOTE_LIMIT),
        unreadable=unreadable,
    )


def scheduler(data: object) -> models.Scheduler:
    """Read the supervisor's view of the scheduler."""
    row = Fields(data)
    return models.Scheduler(
        state=row.text("state"),
        address=row.maybe_text("address"),
        epoch=row.integer("epoch"),
        id=row.maybe_text("id"),
        seen_age=row.maybe_number("seen_age"),
        dashboard_url=row.maybe_text("dashboard_url"),
        problem=row.maybe_text("problem", NOTE_LIMIT),
        unfit=tuple((name, one_line(str(why), NOTE_LIMIT)) for name, why in row.free("unfit").items()),
    )


def overview(data: object) -> models.Overview:
    """Read the snapshot of the whole."""
    row = Fields(data)
    slots = row.counts("slots")
    return models.Overview(
        at=row.time("at"),
        scheduler=scheduler(row.raw("scheduler")),
        workers=row.integer("workers"),
        slots_total=slots.get("total", 0),
        slots_taken=slots.get("taken", 0),
        counts=row.counts("counts"),
        delivered=row.integer("delivered"),
        drain_seconds=row.maybe_number("drain_seconds"),
        paused=row.texts("paused"),
        drills_allowed=row.flag("drills_allowed"),
        read_only=row.flag("read_only"),
        storage=storage_state(row.raw("storage")) if row.raw("storage") else StorageState("ok", None),
        recovery=None if row.raw("recovery") is None else recovery(row.raw("recovery")),
        streams=row.counts("streams").get("subscribers", 0),
    )


def event(data: object) -> models.Event:
    """Read one stored event of the feed over all jobs."""
    row = Fields(data)
    return models.Event(
        job_id=row.job_id(),
        seq=row.integer("seq"),
        type=row.text("type"),
        at=row.maybe_time("at"),
        name=row.maybe_text("name"),
        payload=row.free("payload"),
    )


def stream_event(job_id: str, seq: int, kind: str, data: object) -> models.Event:
    """Read one stored event of a single job's stream, whose payload is the whole envelope."""
    payload = safe_json(data)
    if not isinstance(payload, dict):
        raise Unreadable("not an object")
    at = payload.get("timestamp")
    name = payload.get("name")
    return models.Event(
        job_id=job_id,
        seq=seq,
        type=one_line(kind, NAME_LIMIT),
        at=moment(at) if isinstance(at, str) else None,
        name=one_line(name, NAME_LIMIT) if isinstance(name, str) else None,
        payload=payload,
    )


def transition(data: object) -> models.Transition:
    """Read one change of a job's status."""
    row = Fields(data)
    return models.Transition(
        at=row.time("at"),
        from_status=row.maybe_text("from_status"),
        to_status=row.text("to_status"),
        fence=row.integer("fence"),
        name=row.text("name"),
        actor=row.text("actor"),
        reason=row.maybe_text("reason", NOTE_LIMIT),
    )


def attempt(data: object) -> models.Attempt:
    """Read one execution of a job."""
    row = Fields(data)
    return models.Attempt(
        attempt=row.integer("attempt"),
        fence=row.integer("fence"),
        worker=row.text("worker"),
        pid=row.integer("pid"),
        epoch=row.integer("epoch"),
        started_at=row.time("started_at"),
        heartbeat_at=row.time("heartbeat_at"),
        ended_at=row.maybe_time("ended_at"),
        end_reason=row.maybe_text("end_reason", NOTE_LIMIT),
        late_result=row.body("late_result", LATE_RESULT_LIMIT),
        late_result_chars=row.maybe_integer("late_result_chars"),
        traceback=row.body("traceback", TRACEBACK_LIMIT),
    )


def stage(data: object) -> models.Stage:
    """Read the evidence of one completed stage."""
    row = Fields(data)
    return models.Stage(
        node=row.text("node"),
        step=row.integer("step"),
        attempt=row.integer("attempt"),
        pid=row.integer("pid"),
        started_at=row.time("started_at"),
        completed_at=row.time("completed_at"),
        checkpoint_id=row.text("checkpoint_id"),
        output_hash=row.text("output_hash"),
    )


def notification(data: object) -> models.Notification | None:
    """Read what became of telling the job's caller, if there is anything to tell."""
    if data is None:
        return None
    row = Fields(data)
    return models.Notification(
        id=row.text("id"),
        event=row.text("event"),
        target=row.text("target"),
        state=row.text("state"),
        attempts=row.integer("attempts"),
        next_at=row.maybe_time("next_at"),
        last_error=row.maybe_text("last_error", NOTE_LIMIT),
        delivered_at=row.maybe_time("delivered_at"),
    )


def effect(data: object) -> models.Effect:
    """Read one effect of the ledger."""
    row = Fields(data)
    return models.Effect(
        key=row.text("key", KEY_LIMIT),
        name=row.text("name"),
        node=row.text("node"),
        step=row.integer("step"),
        policy=row.text("policy"),
        state=row.text("state"),
        request=json_line(row.raw("request")),
        attempt=row.integer("attempt"),
        intents=row.integer("intents"),
        intent_at=row.time("intent_at"),
        settled_at=row.maybe_time("settled_at"),
        settled_by=row.maybe_text("settled_by"),
        outcome=None if row.raw("outcome") is None else json_line(row.raw("outcome")),
        proof=row.maybe_text("proof", NOTE_LIMIT),
    )


def job_detail(data: object) -> models.JobDetail:
    """Read everything known about one job."""
    row = Fields(data)
    why_code, why_text = why(row.raw("why"))
    return models.JobDetail(
        job=job(row.raw("job")),
        request=row.free("request"),
        transitions=row.items("transitions", transition),
        attempts=row.items("attempts", attempt),
        stages=row.items("stages", stage),
        effects=row.items("effects", effect),
        notification=notification(row.raw("notification")),
        why_code=why_code,
        why_text=why_text,
        artifacts=row.items("artifacts", artifact),
    )


def why(data: object) -> tuple[str, str]:
    """Read why a job is where it is: a code and a sentence."""
    row = Fields(data)
    return row.text("code"), row.text("text", NOTE_LIMIT)


def worker(data: object) -> models.DaskWorker:
    """Read one worker as the backend reports it."""
    row = Fields(data)
    return models.DaskWorker(
        name=row.text("name"),
        address=row.maybe_text("address"),
        pid=row.maybe_integer("pid"),
        threads=row.integer("threads"),
        executing=row.integer("executing"),
        ready=row.integer("ready"),
        memory_bytes=row.integer("memory"),
        last_seen_age=row.maybe_number("last_seen"),
        state=row.maybe_text("state") or "running",
    )


def disagreement(data: object) -> models.Disagreement:
    """Read one difference between Dask's picture and the records."""
    row = Fields(data)
    return models.Disagreement(
        kind=row.text("kind"),
        job_id=row.job_id(),
        text=row.text("text", NOTE_LIMIT),
        seconds=row.number("seconds"),
    )


def cluster(data: object) -> models.Cluster:
    """Read the backend's own view of the cluster."""
    row = Fields(data)
    return models.Cluster(
        scheduler=row.free("scheduler"),
        workers=many(row.listed("workers"), worker)[0],
        tasks=row.counts("tasks"),
        disagreements=row.items("disagreements", disagreement),
    )


def queue(data: object) -> models.Queue:
    """Read one queue."""
    row = Fields(data)
    return models.Queue(
        name=row.text("name"),
        paused=row.flag("paused"),
        paused_by=row.maybe_text("paused_by"),
        depth=row.counts("depth"),
        oldest_age=row.maybe_number("oldest_age"),
        p50=row.maybe_number("p50"),
        p95=row.maybe_number("p95"),
        done_per_minute=row.number("done_per_minute"),
        at_risk=row.integer("at_risk"),
        jobs=row.maybe_integer("jobs"),
    )


def audit_row(data: object) -> models.AuditRow:
    """Read one recorded act."""
    row = Fields(data)
    return models.AuditRow(
        id=row.integer("id"),
        at=row.time("at"),
        actor=row.text("actor"),
        act=row.text("act"),
        job_id=row.maybe_text("job_id", ID_LIMIT),
        version=row.maybe_integer("version"),
        reason=row.maybe_text("reason", NOTE_LIMIT),
        result=row.text("result", NOTE_LIMIT),
    )


def workflow(data: object) -> models.Workflow:
    """Read one workflow."""
    row = Fields(data)
    return models.Workflow(
        name=row.text("name"), description=row.text("description", NOTE_LIMIT), stages=row.texts("stages")
    )


def outcome(data: object) -> tuple[str | None, str | None]:
    """Read how a job ended, and its error."""
    row = Fields(data)
    return row.maybe_text("outcome"), row.maybe_text("error", NOTE_LIMIT)


def report(data: object) -> models.Report:
    """Read a job's report."""
    row = Fields(data)
    return models.Report(
        job_id=row.job_id(), has_report=row.flag("has_report"), text=row.body("report", REPORT_LIMIT)
    )


def submitted(data: object) -> models.Submitted:
    """Read the answer to an accepted job."""
    row = Fields(data)
    return models.Submitted(
        job_id=row.job_id(),
        workflow=row.text("agent_type"),
        created_at=row.time("created_at"),
        deadline=row.maybe_time("deadline"),
    )
