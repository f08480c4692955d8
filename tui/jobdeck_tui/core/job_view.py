"""One job as its screen shows it: the record, the live events, the report, and the state of its stream."""

import json
from collections.abc import Iterator, Sequence

from jobdeck_tui.client.fields import plain
from jobdeck_tui.client.models import Attempt, Effect, Job, JobDetail, Notification, Stage
from jobdeck_tui.core.columns import at_risk, display_state, forecast, left_seconds
from jobdeck_tui.core.effect_rows import uncertain
from jobdeck_tui.core.event_lines import EventLines
from jobdeck_tui.text.format import (
    NONE,
    age,
    clock,
    duration,
    elapsed,
    instant,
    number,
    plural,
    short_id,
    state_label,
    time_left,
)

Piece = tuple[str, str]
Row = list[Piece]
HASH_SHOWN = 12
ID_ROOM = ((110, 36), (76, 20), (0, 12))
CHECKPOINT_SHOWN = 13


class JobView:
    """What is known of one job. ``revision`` rises when the record or the report changed."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self.detail: JobDetail | None = None
        self.lines = EventLines()
        self.report: str | None = None
        self.trouble = ""
        self.stream = "connecting"
        self.revision = 0
        self._verdicts: dict[str, Effect] = {}

    def take_detail(self, detail: JobDetail) -> None:
        """The record was read."""
        self.detail, self.trouble = detail._replace(effects=tuple(map(self._newest, detail.effects))), ""
        self.revision += 1

    def take_verdict(self, effect: Effect) -> None:
        """The server's answer to a verdict: the effect as it is now on record."""
        self._verdicts[effect.key] = effect
        if self.detail is not None:
            self.take_detail(self.detail)

    def _newest(self, effect: Effect) -> Effect:
        """A record that was asked for before a verdict may come after it; one more try is newer than both."""
        judged = self._verdicts.get(effect.key)
        old = judged is not None and (effect.state, effect.intents) == ("uncertain", judged.intents)
        return judged if judged is not None and old else effect

    @property
    def uncertain(self) -> list[Effect]:
        """The effects a verdict can be given on."""
        return uncertain(self.detail.effects) if self.detail else []

    @property
    def callback_pending(self) -> bool:
        """Whether the job's caller has yet to be told: the record changes although the job does not."""
        told = self.detail.notification if self.detail else None
        return told is not None and told.state == "pending"

    def why(self, job: Job) -> str:
        """Why the job is where it is; empty where the record told that of an earlier state (it is not shown)."""
        detail = self.detail
        if detail is None or detail.job.job_id != job.job_id:
            return ""
        same = (detail.job.state, detail.job.stage) == (job.state, job.stage)
        return detail.why_text if same else ""

    def take_report(self, report: str | None) -> None:
        """The report was read; None: there is none."""
        self.report = report
        self.revision += 1

    def say_trouble(self, trouble: str) -> None:
        """Reading the record failed."""
        self.trouble = trouble
        self.revision += 1


def facts(job: Job, now: float, width: int = 80) -> list[Row]:
    """The two lines above the tabs; ``width`` in cells decides how much of the id is shown."""
    id_cells = next(room for least, room in ID_ROOM if width >= least)
    state = display_state(job)
    left = left_seconds(job, now)
    goes = job.finished or job.state == "running"
    took = (job.finished_at or now) - job.started_at if job.started_at and goes else None
    queue = f"  queue {job.queue}" if job.queue != job.workflow else ""
    first: Row = [
        (f" {short_id(job.job_id, id_cells)} ", "strong"),
        (state_label(state), "warn" if state != job.state else job.state),
        (f" {elapsed(took)}" if took is not None else "", ""),
        ("  LEFT ", ""),
        (time_left(left), left_look(left)),
        (f" {told}" if (told := forecast(job, now)) else "", "soon" if at_risk(job) else "faint"),
        (f"  try {job.attempt}  {job.workflow}{queue}", ""),
    ]
    heart = f" (heartbeat {age(job.heartbeat_age)})" if job.heartbeat_age is not None else ""
    second: Row = [(f" worker {job.worker or NONE}{'' if job.finished else heart}", "")]
    if job.finished and job.finished_at is not None:
        second.append(
            (f"  ended {clock(job.finished_at)}, {age(now - job.finished_at)} ago{_margin(job)}", "faint")
        )
    if job.slot_taken and job.state != "running":
        second.append(("  its slot is still taken", "warn"))
    if job.stage is not None:
        total = f"/{job.stages_total}" if job.stages_total is not None else ""
        second.append((f"  stage {job.stage}, {job.stages_done}{total} done", ""))
    if words := job.error or job.reason or job.note:
        second.append((f"  {words}", "failed" if job.error else "notice"))
    return [first, second]


def _margin(job: Job) -> str:
    """How far from its deadline a job ended."""
    if job.deadline is None or job.finished_at is None:
        return ""
    spare = job.deadline - job.finished_at
    return f", {elapsed(abs(spare))} {'before' if spare >= 0 else 'past'} its deadline"


def left_look(left: float | None) -> str:
    """How time to a deadline looks: over, under a minute, or plain."""
    if left is None:
        return "faint"
    if left <= 0:
        return "over"
    return "soon" if left < 60 else ""


def stage_rows(detail: JobDetail, now: float) -> list[Row]:
    """Stages with their evidence: each line is one completed run of a graph node."""
    rows: list[Row] = []
    last_attempt = max((stage.attempt for stage in detail.stages), default=0)
    for stage in detail.stages:
        rows += list(_stage(stage, kept=stage.attempt < max(last_attempt, detail.job.attempt)))
    job = detail.job
    if not job.finished and job.stage is not None:
        since = f", attempt began {age(now - job.started_at)} ago" if job.started_at else ""
        rows.append([(f" ▸ {job.stage}", "running"), (f"  running{since}", "faint")])
    if not rows:
        rows.append([(" No stage has completed yet.", "faint")])
    rows.append([])
    rows.append(_repeated(detail.stages))
    return rows


def _stage(stage: Stage, *, kept: bool) -> Iterator[Row]:
    took = duration(stage.completed_at - stage.started_at)
    yield [
        (f" ✔ {stage.node:<18}", "succeeded"),
        (f" step {stage.step:<2} try {stage.attempt} ", ""),
        (f" {clock(stage.started_at)} took {took}", ""),
        ("  kept, not run again" if kept else "", "good"),
    ]
    yield [
        (f"   checkpoint {stage.checkpoint_id[:CHECKPOINT_SHOWN]}", "faint"),
        (f"  output {stage.output_hash[:HASH_SHOWN]}  pid {stage.pid}", "faint"),
    ]


def repeated_stages(stages: Sequence[Stage]) -> list[str]:
    """Stages recorded as completed more than once: there must be none."""
    seen: set[tuple[str, int]] = set()
    again: list[str] = []
    for stage in stages:
        key = (stage.node, stage.step)
        if key in seen:
            again.append(f"{stage.node} (step {stage.step})")
        seen.add(key)
    return again


def _repeated(stages: Sequence[Stage]) -> Row:
    if again := repeated_stages(stages):
        return [(f" ✖ completed more than once: {', '.join(again)}", "bad")]
    if not stages:
        return []
    attempts = len({stage.attempt for stage in stages})
    where = f" over {plural(attempts, 'attempt')}" if attempts > 1 else ""
    return [(f" {plural(len(stages), 'stage')} completed once each{where}; none ran again.", "faint")]


def record_rows(detail: JobDetail) -> list[Row]:
    """The record: why it is where it is, its times, attempts, transitions and request."""
    job = detail.job
    rows: list[Row] = [[(" WHY  ", "strong"), (detail.why_text, "notice")], []]
    facts_of = (
        ("id", job.job_id),
        ("thread", job.thread_id),
        ("queue", f"{job.queue}, priority {job.priority}"),
        ("accepted", instant(job.accepted_at)),
        ("deadline", instant(job.deadline)),
        ("predicted end", instant(job.predicted_finish)),
        ("started", instant(job.started_at)),
        ("finished", instant(job.finished_at)),
        ("error", job.error or NONE),
        ("reason", job.reason or NONE),
        ("after", ", ".join(job.after) or NONE),
        ("version", str(job.version)),
        ("callback", callback_words(detail.notification)),
    )
    rows += [_fact(name, value) for name, value in facts_of]
    rows += [
        [],
        [(" ATTEMPTS", "strong")],
        *[row for attempt in detail.attempts for row in _attempt(attempt)],
    ]
    rows += [[], [(" TRANSITIONS", "strong")]]
    for change in detail.transitions:
        rows.append(
            [
                (f" {clock(change.at)} ", "faint"),
                (f"{change.from_status or NONE} → {change.to_status}", ""),
                (f"  {change.name}", "strong"),
                (f"  by {change.actor}, fence {change.fence}", "faint"),
                (f"  {change.reason}" if change.reason else "", ""),
            ]
        )
    rows += [[], [(" REQUEST", "strong")]]
    rows += [_request(name, value) for name, value in detail.request.items()]
    return rows


def raw_text(detail: JobDetail) -> str:
    """All that was read of a job, as JSON; the client has sanitised and bounded it."""
    return json.dumps(plain(detail), ensure_ascii=False, indent=2, default=str)


def callback_words(told: Notification | None) -> str:
    """What became of telling the job's caller."""
    if told is None:
        return NONE
    words = f"{told.event} to {told.target}: {told.state}"
    if told.delivered_at is not None:
        words += f" {clock(told.delivered_at)}"
    words += f", {plural(told.attempts, 'attempt')}"
    if told.last_error:
        words += f"; {told.last_error}"
    if told.attempts and told.next_at is not None:
        words += f"; again by {clock(told.next_at)}"
    return words


def _attempt(attempt: Attempt) -> Iterator[Row]:
    ended = (
        f"ended {clock(attempt.ended_at)}: {attempt.end_reason or NONE}" if attempt.ended_at else "going on"
    )
    yield [
        (f" {attempt.attempt}", "strong"),
        (f"  fence {attempt.fence}  worker {attempt.worker}  pid {attempt.pid}  epoch {attempt.epoch}", ""),
        (f"  {clock(attempt.started_at)}, heartbeat {clock(attempt.heartbeat_at)}, {ended}", "faint"),
    ]

    if attempt.late_result is not None:
        chars = attempt.late_result_chars or len(attempt.late_result)
        cut = f", its beginning of {number(chars)} characters" if chars > len(attempt.late_result) else ""
        yield [(f"   ⚠ late result kept aside: it came after the job was taken away{cut}", "warn")]
        yield from _text_rows(attempt.late_result)
    if attempt.traceback is not None:
        yield [("   ✖ failed here:", "failed")]
        yield from _text_rows(attempt.traceback)


def _text_rows(text: str) -> Iterator[Row]:
    return ([(f"     {line}", "faint")] for line in text.split("\n"))


def _fact(name: str, value: str) -> Row:
    return [(f" {name:<14} ", "faint"), (value, "")]


def _request(name: str, value: object) -> Row:
    if value is None:
        return _fact(name, NONE)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _fact(name, text[:2000])
