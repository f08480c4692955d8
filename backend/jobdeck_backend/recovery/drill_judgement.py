"""The judgement at a drill's end: nothing completed ran again, and whoever the fault did not hit never noticed."""

from collections import defaultdict
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection

from jobdeck_backend.jobs.records import Attempt
from jobdeck_backend.jobs.view import JobView
from jobdeck_backend.plural import plural
from jobdeck_backend.recovery.drill_before import Before, StageKey
from jobdeck_backend.recovery.drill_record import Evidence, Step
from jobdeck_backend.scheduling.snapshot import Snapshot
from jobdeck_backend.scheduling.views import views
from jobdeck_backend.store import drills, events, jobs, rows

EVIDENCE_ROWS_MAX = 200
LOSSES = frozenset({"worker lost", "scheduler lost"})


def views_of(tx: Connection, snapshot: Snapshot | None, ids: Sequence[str]) -> dict[str, JobView]:
    """These jobs as an operator sees them."""
    return {view.source.job_id: view for view in views(tx, rows.load(tx, ids), snapshot)}


def stage_starts(tx: Connection, ids: Sequence[str], position: int) -> list[tuple[str, StageKey]]:
    """``(job, (node, step))`` of each stage of these jobs that began after a position of the log."""
    found = []
    for event in events.stage_starts_after(tx, ids, position):
        stage = (orjson.loads(event.payload).get("metadata") or {}).get("stage")
        if stage is not None:
            found.append((event.job_id, (stage["node"], stage["step"])))
    return found


def evidence(
    tx: Connection, snapshot: Snapshot | None, before: Before, hit: Sequence[Attempt]
) -> list[Evidence]:
    """For each job unfinished at the fault, those that it hit first: its completed stages then and now."""
    first = [one.job_id for one in hit]
    ids = list(dict.fromkeys([*first, *before.stages, *before.unfinished]))[:EVIDENCE_ROWS_MAX]
    began_again: dict[str, int] = defaultdict(int)
    for job_id, stage in stage_starts(tx, ids, before.position):
        began_again[job_id] += stage in before.stages.get(job_id, {})
    shown = views_of(tx, snapshot, ids)
    return [_evidence_of(tx, shown[one], before, began_again[one]) for one in ids if one in shown]


def _evidence_of(tx: Connection, view: JobView, before: Before, began_again: int) -> Evidence:
    job_id = view.source.job_id
    completed = before.stages.get(job_id, {})
    after = {(run.node, run.step): run.output_hash for run in jobs.load_stages(tx, job_id)}
    changed = sum(after.get(stage) != output_hash for stage, output_hash in completed.items())
    return Evidence(
        job_id=job_id,
        stages_before=tuple(node for node, _step in completed),
        stages_after=tuple(node for node, _step in after),
        repeated=max(began_again, changed),
        state=view.state,
        attempt=view.source.attempt,
    )


def repeated_stages(found: Sequence[Evidence]) -> Step:
    """A completed stage is never run again (R20)."""
    repeated = sum(one.repeated for one in found)
    completed = sum(len(one.stages_before) for one in found)
    text = f"{repeated} of {completed} stages completed before ran again"
    return Step("repeated", text, None, failed=repeated > 0, judged=completed > 0)


def repeated_effects(tx: Connection, before: Before) -> Step:
    """What was done to the world, or may have been, is not done again unasked (R25)."""
    after = drills.intents(tx, list(before.intents))
    again = [key for key, intents in before.intents.items() if after.get(key, intents) > intents]
    text = f"{len(again)} of {len(before.intents)} effects done or uncertain before were called again"
    return Step("effects", text, None, failed=bool(again), judged=bool(before.intents))


def kept_jobs(tx: Connection, before: Before) -> Step:
    """Every accepted job is on record (R3)."""
    lost = set(before.unfinished) - jobs.existing_job_ids(tx, before.unfinished)
    kept = min(drills.accepted(tx), before.accepted) - len(lost)
    text = f"{kept} of {before.accepted} accepted jobs are on record"
    return Step("kept", text, None, failed=kept < before.accepted, judged=before.accepted > 0)


def taken_back(tx: Connection, hit: Sequence[Attempt]) -> int:
    """How many of these executions recovery ended; the others came to an end of their own."""
    return sum(_was_lost(tx, one) for one in hit)


def _was_lost(tx: Connection, attempt: Attempt) -> bool:
    return any(
        one.attempt == attempt.attempt and one.end_reason in LOSSES
        for one in jobs.load_attempts(tx, attempt.job_id)
    )


def untouched_others(tx: Connection, before: Before, hit: Sequence[Attempt]) -> Step:
    """A worker's loss is nobody else's."""
    hit_ids = {one.job_id for one in hit}
    others = [one for one in before.attempts if one.job_id not in hit_ids]
    touched = [one for one in others if _was_lost(tx, one)]
    text = f"{len(others) - len(touched)} of {len(others)} other running jobs untouched"
    return Step("others", text, None, failed=bool(touched), judged=bool(others))


def overtaken_writes(tx: Connection, hit: Sequence[Attempt]) -> Step:
    """An execution that lost its job writes nothing more, whenever it goes on (R20, R24)."""
    written = sum(drills.overtaken_writes(tx, one.job_id, one.attempt) for one in hit)
    text = f"{plural(written, 'stage')} put on record by executions that had lost their job"
    return Step("fenced", text, None, failed=written > 0, judged=bool(hit))
