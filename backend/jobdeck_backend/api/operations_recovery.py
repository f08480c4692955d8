"""The operations API's recovery: the plan to read, the plan to apply, and the check of all records."""

import time
from collections import Counter
from typing import Any

from fastapi import APIRouter, Response

from jobdeck_backend.api import caller, shapes
from jobdeck_backend.api import recovery_schemas as schemas
from jobdeck_backend.api.services import Services, Serving
from jobdeck_backend.api.times import zulu_iso
from jobdeck_backend.clock import now
from jobdeck_backend.commands import operators
from jobdeck_backend.errors import Refused
from jobdeck_backend.recovery import fsck
from jobdeck_backend.recovery.plan import Action
from jobdeck_backend.recovery.reaper import Applied

router = APIRouter(prefix="/v1/ops", tags=["operations API: recovery"])

EVERYTHING = schemas.Apply()
APPLY: dict[int | str, dict[str, Any]] = {
    409: {"description": "another process owns the recovery"},
    503: {"description": "the database cannot be written"},
}


@router.get("/recovery/plan", response_model=schemas.RecoveryPlan)
def read_plan(serving: Serving) -> Response:
    """What recovery would do now with each job that is not simply in line, and why. Changes nothing."""
    reading = serving.reaper.read()
    lines = [
        {**_line(one), "automatic": serving.reaper.is_automatic(one.act)}
        for one in sorted(reading.actions, key=lambda one: one.act == "leave")
    ]
    recovery = shapes.recovery(reading.lease, serving.settings.recovery, now())
    return shapes.answer({"recovery": recovery, "actions": lines, "in_line": reading.in_line})


def _line(action: Action) -> dict[str, Any]:
    evidence = dict(action.evidence)
    if "deadline" in evidence:
        evidence["deadline"] = zulu_iso(evidence["deadline"])
    return {
        "job_id": action.job_id,
        "action": action.act,
        "reason": action.reason,
        "evidence": evidence,
    }


@router.post("/recovery/apply", response_model=schemas.AppliedPlan, responses=APPLY)
async def apply_plan(serving: Serving, request: schemas.Apply = EVERYTHING) -> Response:
    """Carry out the plan as it is now, for the jobs named or for all. Twice changes nothing more."""
    wanted = None if request.jobs is None else frozenset(request.jobs)
    try:
        applied = await serving.reaper.apply(wanted)
    except Refused as refusal:
        await _note(serving, request.reason, f"refused: {refusal.code}")
        raise
    results = [_result(one) for one in applied]
    known = {one["job_id"] for one in results}
    results += [
        {"job_id": job_id, "action": None, "result": "skipped", "why": "the plan has nothing for it"}
        for job_id in sorted((wanted or frozenset()) - known)
    ]
    counts = Counter(one["result"] for one in results)
    await _note(serving, request.reason, f"{counts['done']} done, {counts['skipped']} skipped")
    serving.dispatcher.wake()
    return shapes.answer({"results": results, "done": counts["done"], "skipped": counts["skipped"]})


def _result(one: Applied) -> dict[str, Any]:
    return {
        "job_id": one.action.job_id,
        "action": one.action.act,
        "result": "done" if one.skipped is None else "skipped",
        "why": one.action.reason if one.skipped is None else one.skipped,
    }


async def _note(serving: Services, reason: str | None, result: str) -> None:
    by = operators.By(caller.operator(), now(), reason)
    await serving.writer.submit(operators.note, "recovery apply", result, by)
    serving.feed.wake()


@router.get("/fsck", response_model=schemas.Fsck)
def check(serving: Serving) -> Response:
    """Check the invariants on all records as they are now, in one snapshot."""
    began = time.monotonic()
    violations = fsck.check_instance(serving.database, serving.settings)
    return shapes.answer(fsck.report(violations, time.monotonic() - began))
